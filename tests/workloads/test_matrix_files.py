"""Matrices are read from CSV and numpy files as they stand there, and others are refused.

Guards arrays_and_frames.py.
"""

from pathlib import Path

import numpy as np
import pytest

from mmopt import OptionError
from mmopt.workloads.arrays_and_frames import read_array


def test_read(tmp_path: Path) -> None:
    a = np.arange(6.0).reshape(2, 3)
    np.save(tmp_path / "a.npy", a)
    np.savetxt(tmp_path / "a.csv", a, delimiter=",")
    for name in ("a.npy", "a.csv"):
        assert np.array_equal(read_array(tmp_path / name, "a test"), a)


def test_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text(" \n")
    (tmp_path / "words.csv").write_text("a,b\n")
    (tmp_path / "text.npy").write_text("not numpy")
    np.savez(tmp_path / "archive.npz", a=np.eye(2))
    (tmp_path / "archive.npz").rename(tmp_path / "archive.npy")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object))
    wanted = {
        "none.npy": "there is no file '{}' for a test",
        "empty.csv": "the file '{}' for a test is empty",
        "words.csv": "the file '{}' for a test is not a table of numbers, separated by commas: ",
        "text.npy": "the file '{}' for a test is not a NumPy array: ",
        "archive.npy": "the file '{}' for a test is not a NumPy array: ",
        "objects.npy": "the file '{}' for a test is not a NumPy array: Object arrays cannot be loaded ",
    }
    for name, message in wanted.items():
        with pytest.raises(OptionError) as error:
            read_array(tmp_path / name, "a test")
        assert str(error.value).startswith(message.format(tmp_path / name))
