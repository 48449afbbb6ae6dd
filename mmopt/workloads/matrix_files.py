"""Arrays in files: .npy and .csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mmopt.errors import OptionError

__all__ = ["SUFFIXES", "read_array"]

SUFFIXES = (".npy", ".csv")


def read_array(path: Path, what: str) -> npt.NDArray[Any]:
    """The array in a NumPy file, or the table of numbers (2-D) in a file with commas.

    ``what`` says in messages what the file is for.

    Raises
    ------
    OptionError : no such file, an empty one, or one that holds something else.
    """
    if not path.is_file():
        raise OptionError(f"there is no file '{path}' for {what}")
    is_numpy = path.suffix.lower() == ".npy"
    try:
        if is_numpy:
            with path.open("rb") as file:  # np.load would take an archive of arrays too
                return np.lib.format.read_array(file, allow_pickle=False)
        if not path.read_text(encoding="utf-8").strip():
            raise OptionError(f"the file '{path}' for {what} is empty")
        return np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8")
    except (OSError, ValueError, EOFError) as error:
        kind = "a NumPy array" if is_numpy else "a table of numbers, separated by commas"
        reason = str(error).split("\n", maxsplit=1)[0]
        raise OptionError(f"the file '{path}' for {what} is not {kind}: {reason}") from None
