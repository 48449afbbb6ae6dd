"""Fields of another kind than declared are refused by name."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import named

from mmopt import ResultError, Solution, certify
from mmopt.results import Status, npz_file
from mmopt.results.saved_fields import _KINDS, check_kinds, pack


def solution() -> Solution:
    return certify(named("prefix"), "identity", "l2_strategy", solve=False)


def test_every_field_has_a_kind() -> None:
    declared = {str(f.type) for c in (Solution, Status) for f in dataclasses.fields(c)}
    assert declared <= set(_KINDS)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("objective", "36", "its field 'objective' is a str, expected float"),
        ("objective", True, "its field 'objective' is a bool, expected float"),
        ("iterations", 1.5, "its field 'iterations' is a float, expected int"),
        ("program", 3, "its field 'program' is a int, expected str"),
        ("variables", {"X": 1.0}, "its field 'variables' is a dict, expected Mapping[str, Value]"),
        ("error_multipliers", None, "its field 'error_multipliers' is a NoneType, expected Value"),
        ("seconds", {"total": "long"}, "its field 'seconds' is a dict, expected Mapping[str, float]"),
        ("warnings", [1], "its field 'warnings' is a list, expected tuple[str, ...]"),
        ("steps", [], "its field 'steps' is a list, expected Mapping[str, Solution]"),
        ("strategy", {"matrix": 1.0, "norm": 2}, "its field 'matrix' is a float, expected Array"),
        (
            "strategy",
            {"matrix": np.eye(2) * np.nan, "norm": 2},
            "the strategy has NaN or infinite entries, expected finite numbers",
        ),
        (
            "strategy",
            {"matrix": np.eye(2), "norm": 3},
            "the strategy's norm is 3, expected 1 (Laplace) or 2 (Gaussian)",
        ),
    ],
)
def test_a_file_with_a_field_of_another_kind(field: str, value: Any, message: str, tmp_path: Path) -> None:
    path = npz_file.write(*pack({**solution().fields(), field: value}), tmp_path / "saved.npz")
    with pytest.raises(ResultError) as error:
        Solution.load(path)
    hint = "save one with --out or Solution.save"
    assert str(error.value) == f"'{path}' is not a saved solution: {message}\n  {hint}"


def test_the_status_too() -> None:
    fields = solution().fields()
    fields["status"]["feasible"] = "yes"
    with pytest.raises(ResultError, match="its field 'feasible' is a str, expected bool"):
        Solution.from_fields(fields)


def test_an_annotation_without_a_kind_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        check_kinds({"a": 1}, {"a": "complex"})
