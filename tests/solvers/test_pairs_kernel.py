"""Guards pairs_kernel.py: strategies for rows that are replaced, over few cells and over many."""

from dataclasses import replace

import numpy as np
import pytest
import tolerances

from mmopt import UnsuitableError, Workload, solve
from mmopt.solvers import pairs_kernel

PREFIX, HISTOGRAM = np.tri(9), np.eye(7)
MARGINALS = np.vstack([np.kron(np.eye(3), np.ones(4)), np.kron(np.ones(3), np.eye(4))])


def kept(rows: np.ndarray) -> Workload:
    """Queries over cells of which every row has one."""
    workload = Workload.from_matrix(rows)
    (cells,) = workload.domain.attributes
    domain = replace(workload.domain, attributes=(replace(cells, outside="refuse", missing="refuse"),))
    return replace(workload, domain=domain)


@pytest.mark.parametrize("rows", [PREFIX, HISTOGRAM, MARGINALS], ids=["prefix", "histogram", "marginals"])
@pytest.mark.parametrize("make", [kept, Workload.from_matrix])
def test_both_ways_find_what_a_conic_solver_finds(rows, make, monkeypatch) -> None:
    workload = make(rows)
    few, conic = (solve(workload, "replace_one", solver=solver) for solver in ("pairs", "scs"))
    monkeypatch.setattr(pairs_kernel, "SECOND_ORDER", 1)
    many = solve(workload, "replace_one")
    assert (few.solver, many.solver) == ("pairs", "many_pairs")
    for one, gap in ((few, 1e-6), (many, pairs_kernel.TOLERANCE), (conic, 1e-4)):
        assert one.bound_grade == "proved" and one.gap <= gap
        assert one.objective == pytest.approx(few.objective, rel=2e-4)
        assert one.strategy.sensitivity <= 1.0
        assert one.strategy.total_error(workload) == pytest.approx(one.objective, rel=1e-6)


def test_the_cells_of_a_histogram_are_the_corners_of_a_simplex() -> None:
    found = solve(kept(HISTOGRAM), "replace_one")
    assert found.objective == pytest.approx(2 * (7 - 1), rel=tolerances.GAP)
    x = found.variables["X"]
    lengths = np.add.outer(np.diag(x), np.diag(x)) - 2 * x
    np.testing.assert_allclose(lengths, 1 - np.eye(7), atol=1e-5)


def test_a_multiple_of_the_total_needs_no_strategy() -> None:
    with pytest.raises(UnsuitableError, match="every query is a multiple of the total"):
        solve(kept(np.ones((2, 3))), "replace_one")
