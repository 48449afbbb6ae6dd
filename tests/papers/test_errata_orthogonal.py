"""Entries of programs/ERRATA.md on Algorithm 2 and the figures of CIKM 2013: how its gaps are read."""

import numpy as np
import pytest

from mmopt import Strategy, Workload, solve
from tests.examples.scripts import scripts

orthogonal = scripts("orthogonal").orthogonal_mechanism.orthogonal
orthogonal_least_squares = scripts("orthogonal").orthogonal_mechanism.orthogonal_least_squares


def test_orthogonal_mechanism_stops_at_cells_that_no_selected_query_uses() -> None:
    """Algorithm 2, lines 6 to 11: the domain is not empty, and no domain is left to intersect."""
    W = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    domains = [set(np.flatnonzero(row)) for row in W]
    left = {0, 1, 2} - set().union(*domains)
    assert left == {2}  # after the two blocks, forever: there is no i with x in D_i
    found = orthogonal(Workload.from_matrix(W))
    assert [block.tolist() for block in found.blocks] == [[0], [1]]
    assert found.strategy.matrix.tolist() == W.tolist()


def test_orthogonal_mechanism_depends_on_the_selected_queries() -> None:
    """Line 1 selects at random: of these three, any two are independent."""
    rows = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 2.0]])
    first = orthogonal(Workload.from_matrix(rows))
    assert first.selected.tolist() == [0, 1]
    assert len(first.blocks) == 2 and first.total_error == np.square(rows).sum() == 8
    # The last two use the same cells: one block, two queries in it.
    other = orthogonal(Workload.from_matrix(rows[[1, 2, 0]]))
    assert len(other.blocks) == 1 and other.total_error == pytest.approx(40)


def test_orthogonal_mechanism_depends_on_how_queries_are_normalised() -> None:
    """Line 17 says normalised, not in which norm; Example 1 has one cell to a block, where all agree."""
    W = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert orthogonal(Workload.from_matrix(W)).total_error == 2
    in_l1 = W / np.abs(W).sum(axis=1, keepdims=True)
    R = W @ np.linalg.pinv(in_l1)
    assert Strategy(in_l1, norm=1).sensitivity ** 2 * np.square(R).sum() == pytest.approx(5)
    for order in (1, 2, np.inf):  # the largest entry is the only norm that makes a single query's S equal 1
        rows = W / np.linalg.norm(W, ord=order, axis=1, keepdims=True)
        assert (Strategy(rows[:1], norm=1).sensitivity == 1) == (order == np.inf)


def test_orthogonal_mechanism_is_not_improved_by_least_squares_alone() -> None:
    """Corollary 1 leaves nothing to improve with W̃ as it is; scaling the blocks alike does."""
    W = np.array([[1.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    w = Workload.from_matrix(W)
    found = orthogonal(w)
    np.testing.assert_allclose(W @ np.linalg.pinv(found.strategy.matrix), found.reconstruction, atol=1e-12)
    assert orthogonal_least_squares(w).total_error(w) < 0.9 * found.total_error


@pytest.mark.slow
def test_low_rank_can_have_less_error_than_the_orthogonal_mechanism() -> None:
    """Figure 2 at m = 50, density 0.8; 424 of 535 with finer rounds."""
    rng = np.random.default_rng([50, 1000, 80])
    w = Workload.from_matrix(rng.random((50, 1000)) * (rng.random((50, 1000)) < 0.8))
    cells = np.square(w.matrix).sum()
    assert orthogonal(w).total_error == pytest.approx(cells, rel=1e-9)
    s = solve(w, "low_rank", tolerance=1e-2, givens={"precision": 0.05})
    assert s.strategy.p == 60 and s.error < 0.95 * cells
