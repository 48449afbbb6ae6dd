"""A JSON text is read as every reader reads it, or not at all; so is the record of a saved result.

Guards installation_and_files.py, saved_fields.py.
"""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from named_workloads import named

import mmopt
from mmopt.errors import ResultError
from mmopt.installation_and_files import DEEPEST, parse_json
from mmopt.results import Solution

VALUE = {"a": [1, 1.5, "x", None, True, {"b": -0.0, "1e400": "NaN"}], "": 10**30, "A": {}}


@pytest.mark.quick
def test_what_is_written_is_read() -> None:
    assert parse_json(json.dumps(VALUE)) == VALUE and parse_json("[]") == [] and parse_json("2") == 2
    assert parse_json('{"a": {"b": 1}}', lambda found: tuple(found)) == ("a",)
    assert parse_json("[" * DEEPEST + "]" * DEEPEST)


def test_what_readers_take_for_different_values_is_refused(subtests: pytest.Subtests) -> None:
    for text, why in [
        ('{"a": 1, "a": 1}', "twice"),
        ('[{"b": {"a": 1, "\\u0061": 2}}]', "twice"),
        ("[NaN]", "finite"),
        ("-Infinity", "finite"),
        ('{"a": 1e400}', "finite"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "deep"),
        ('{"a":' * 300 + "1" + "}" * 300, "deep"),
        ("[" * 300_000, "deep"),
        ("{", "line 1"),
        ("", "line 1"),
    ]:
        with subtests.test(text[:30]), pytest.raises(ValueError, match=why):
            parse_json(text)


def test_a_saved_result_with_a_name_twice_is_refused(tmp_path: Path) -> None:
    """In its record, and among its members."""
    saved = mmopt.solve(named("prefix"), "l2_strategy").save(tmp_path / "s.npz")
    with np.load(saved) as file:
        arrays = dict(file)
    text = arrays["record.json"].tobytes().decode()
    assert text.count('"error_bound": ') == 1
    for name, record in (
        ("as it was", text),
        ("twice", text.replace('"error_bound"', '"rmse": 1.0, "error_bound"')),
    ):
        arrays["record.json"] = np.frombuffer(record.encode(), dtype=np.uint8)
        np.savez(tmp_path / name, **arrays)
    assert Solution.load(tmp_path / "as it was.npz") == Solution.load(saved)
    with pytest.warns(UserWarning), zipfile.ZipFile(saved, "a") as file:
        file.writestr("record.json.npy", file.read("record.json.npy"))
    for path in saved, tmp_path / "twice.npz":
        with pytest.raises(ResultError) as caught:
            Solution.load(path)
        assert str(caught.value).startswith(f"'{path}' is not a saved solution")
