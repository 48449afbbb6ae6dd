"""Bases and eigenvectors of one's own in place of those that a workload finds."""

from __future__ import annotations

import numpy as np
import pytest
from cases import NAMED, named

from mmopt import Workload, WorkloadError
from mmopt.workloads import with_bases


@pytest.mark.parametrize("name", NAMED)
def test_a_turned_basis_serves_as_well(name: str, rng: np.random.Generator) -> None:
    w = named(name)
    turn, _ = np.linalg.qr(rng.normal(size=(w.rank, w.rank)))
    other = with_bases(w, {"basis": turn @ w.basis})
    assert other == w and other.rank == w.rank
    if w.rank == w.n:  # L is W, so B is the identity whatever is passed
        assert np.array_equal(other.basis, np.eye(w.n))
    else:
        assert other.basis == pytest.approx(turn @ w.basis, abs=1e-13)
        assert other.representation @ other.basis == pytest.approx(
            w.queries, abs=1e-12 * np.abs(w.queries).max()
        )


def test_a_scaled_basis_changes_no_query() -> None:
    """By less than what is refused; L B would be off by twice that."""
    w = Workload.from_matrix([[1, 1, 0], [0, 1, 1]])
    other = with_bases(w, {"basis": w.basis * (1 + 0.49e-8)})
    assert other.representation @ other.basis == pytest.approx(w.queries, abs=1e-14)
    with pytest.raises(WorkloadError, match="it is off by 9"):
        with_bases(w, {"eigenqueries": w.eigenqueries * (1 + 0.49e-8)})


def test_eigenvectors_with_other_signs() -> None:
    w = named("prefix")
    other = with_bases(w, {"eigenqueries": -w.eigenqueries})
    assert np.array_equal(other.eigenqueries, -w.eigenqueries)
    assert np.array_equal(other.eigenvalues, w.eigenvalues)


@pytest.mark.parametrize("kind", ["basis", "eigenqueries"])
@pytest.mark.parametrize("factor", [2.0, np.nan, np.inf])
def test_other_rows_are_refused(kind: str, factor: float) -> None:
    w = Workload.from_matrix([[1, 1, 0], [0, 1, 1]])
    with pytest.raises(WorkloadError, match=f"'{kind}' of shape .2, 3. is not an orthonormal "):
        with_bases(w, {kind: factor * getattr(w, kind)})
    with pytest.raises(WorkloadError, match="it is off by"):
        with_bases(w, {kind: np.eye(3)[:2]})
    with pytest.raises(WorkloadError, match="it is off by inf"):
        with_bases(w, {kind: np.eye(3)})


def test_eigenvectors_in_another_order_are_refused() -> None:
    w = named("prefix")
    with pytest.raises(WorkloadError):
        with_bases(w, {"eigenqueries": w.eigenqueries[::-1]})


def test_unknown_rows() -> None:
    with pytest.raises(WorkloadError) as error:
        with_bases(named("prefix"), {"bases": np.eye(8)})
    assert str(error.value) == "a workload has no rows 'bases' to replace\n  did you mean 'basis'?"
