"""Any change of a saved result's claims is found by a recheck.

Guards numerics/component_arrays.py, recheck.py.
"""

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from named_workloads import CLOSED, named

from mmopt import Domain, OptionError, Program, ResultError, Solution, Workload, certify, solve, verify
from mmopt.proof.verify import UNCHECKED
from mmopt.workloads import Product
from mmopt.workloads.factors_and_products import prefix

# One of each kind: a strategy, a covariance on a basis, design queries, steps.
KINDS = ["l2_strategy", "fitness_for_use", "query_weighting", "eigen_design"]


def failed(solution: Solution, workload: Workload) -> list[str]:
    return [row.what for row in verify(solution, workload).failures]


def leaves(fields: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every number, text and array of a solution's fields, with its place."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, name))
        elif value is not None:
            yield (*path, name), value


def changed(value: Any) -> list[Any]:
    """Values that say something else."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return [f"{value}x", *([""] if value else [])]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, float):
        return [value * 1.001 + 1e-3, value * 0.999 - 1e-3, float("nan"), float("inf")]
    assert isinstance(value, np.ndarray)
    largest = np.unravel_index(np.argmax(np.abs(value)), value.shape)
    out = []
    for factor in (1.5, 0.0, np.nan, np.inf):
        array = np.array(value, dtype=float)
        array[largest] *= factor
        if not np.array_equal(array, value):
            out.append(array)
    return [*out, np.append(value, 1.0), np.zeros(0)]


def is_record(path: tuple[str, ...]) -> bool:
    """Whether a field only tells how the result came about (in a step too)."""
    while path[0] == "steps":
        path = path[2:]
    # Without the solver's word; that a gap is reached is compared, another reason to stop is not.
    # A file may say that a bound is only claimed.
    return path[-1] == "bound_valid" or path[0] in UNCHECKED or ".".join(path) in (*UNCHECKED, "status.stop")


def tampered(solution: Solution) -> Iterator[tuple[str, Solution | None]]:
    """Every claim changed in turn; None where it cannot even be read any more."""
    for path, value in leaves(solution.fields()):
        if is_record(path):
            continue
        for new in changed(value):
            fields = copy.deepcopy(solution.fields())
            inner = fields
            for name in path[:-1]:
                inner = inner[name]
            inner[path[-1]] = new
            try:
                yield f"{'/'.join(path)} -> {new}", Solution.from_fields(fields)
            except (ResultError, OptionError):
                yield f"{'/'.join(path)} -> {new}", None


@pytest.mark.some(1, rest="slow")
@pytest.mark.parametrize(
    "program",
    [
        *(pytest.param(k, marks=pytest.mark.nightly) if k == "eigen_design" else k for k in KINDS),
        "certified",
        "closed",
        pytest.param("product", marks=pytest.mark.nightly),
    ],
)
def test_every_changed_claim_is_found(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    w = named("rank deficient")
    if program == "product":
        monkeypatch.setattr("mmopt.driver.task_and_plan.FEW_CELLS", 1)
        domain = Domain.of(a=range(3), b=range(2))
        w = Workload.from_products(domain, [Product((prefix(3), prefix(2)), target=2.0)])
        solution = solve(w, "fitness_for_use")
        assert solution.is_in_factors
    elif program == "certified":
        solution = certify(w, np.eye(w.n), "l2_strategy", solve=False)
    else:
        solution = solve(w, Program.parse(CLOSED) if program == "closed" else program)
    assert failed(solution, w) == []
    count = 0
    for what, other in tampered(solution):
        count += 1
        assert other is None or failed(other, w), f"{what} is not found"
    assert count > 40


def test_a_file_that_is_cut_short(tmp_path: Path) -> None:
    w = named("prefix")
    path = solve(w, "l2_strategy").save(tmp_path / "saved")
    whole = path.read_bytes()
    for part in (0.2, 0.5, 0.9, 0.999):
        path.write_bytes(whole[: int(part * len(whole))])
        with pytest.raises(ResultError, match="is not a saved solution"):
            verify(path, w)


def test_bytes_that_are_changed(tmp_path: Path, rng: np.random.Generator) -> None:
    """Zip archives carry checksums: what still reads is the same solution."""
    w = named("prefix")
    solution = solve(w, "l2_strategy")
    path = solution.save(tmp_path / "saved")
    whole = bytearray(path.read_bytes())
    for _ in range(40):
        other = bytearray(whole)
        other[int(rng.integers(len(whole)))] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(other))
        try:
            read = Solution.load(path)
        except ResultError:
            continue
        assert read == solution or failed(read, w)


@pytest.mark.quick
def test_a_matrix_that_was_made_asymmetric_is_found() -> None:
    """Its symmetric part keeps every line: only one triangle would say otherwise."""
    workload = Workload.from_matrix(np.tri(3))
    s = solve(workload, "l2_strategy")
    x = np.array(s.variables["X"])
    x[0, 1] += 0.1
    x[1, 0] -= 0.1
    rows = verify(replace(s, variables={"X": x}), workload).failures
    assert [row.what for row in rows] == ["variables"]
    assert str(rows[0].recomputed) == (
        f"'X' is declared psd and is not symmetric: entry 0, 1 is {x[0, 1]:.10g} and "
        f"entry 1, 0 is {x[1, 0]:.10g}"
    )
