"""Hierarchies by attribute, the branching of HB, trees that split all attributes at once."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.asked import line, marginals_of
from tolerances import ROUNDING

from mmopt.strategies.baselines import baseline, evaluate
from mmopt.strategies.baselines.tree_baselines import best_branching
from mmopt.workloads.blocks import factor_blocks as f


@pytest.mark.parametrize(
    ("n", "branching"), [(1, 2), (2, 2), (16, 16), (128, 128), (256, 16), (512, 23), (1024, 32), (4096, 16)]
)
def test_branching_of_hb(n: int, branching: int) -> None:
    """Up to some 150 cells a single level is best; 4096 = 16³ beats 64²."""
    assert best_branching(n) == branching
    if n > 2:
        heights = {b: next(h for h in range(1, 99) if b**h >= n) for b in range(2, n + 1)}
        cost = {b: (b - 1) * h**3 - 2 * (b + 1) * h**2 / 3 for b, h in heights.items()}
        assert cost[branching] == min(cost.values())


def test_total_is_measured_with_a_given_branching() -> None:
    workload = line(f.all_range(27))
    with_total, without = (
        baseline(f"hierarchical(branching=3{own})", workload).matrix for own in ("", ", root=False")
    )
    np.testing.assert_array_equal(with_total[0], np.ones(27))
    np.testing.assert_array_equal(with_total[1:], without)
    assert evaluate("hierarchical", workload).detail == "branching 27, no total"
    assert evaluate("hierarchical(root=True)", workload).detail == "branching 27"


def test_attributes_have_products() -> None:
    workload = marginals_of((3, 4), (0, 1))
    rows = np.kron(f.hierarchy(3).matrix(), f.hierarchy(4).matrix())
    np.testing.assert_array_equal(baseline("hierarchy", workload).matrix, rows)
    # Three values in a wavelet of four: the last row is about cell 2 alone.
    wavelet = baseline("haar", marginals_of((3,), (0,))).matrix
    np.testing.assert_array_equal(wavelet, [[1, 1, 1], [1, 1, -1], [1, -1, 0], [0, 0, 1]])


@pytest.mark.parametrize("branching", [2, 3])
@pytest.mark.parametrize("sizes", [(4, 4), (3, 2), (5, 1), (2, 3, 4), (8, 3)])
def test_quadtree_asks_every_block_once(sizes: tuple[int, ...], branching: int) -> None:
    workload = marginals_of(sizes, tuple(range(len(sizes))))
    rows = baseline(f"quadtree(branching={branching})", workload, 1).matrix
    assert len({tuple(row) for row in rows}) == len(rows)
    common, counts = rows @ rows.T, rows.sum(axis=1)
    assert np.all((common == 0) | (common == np.minimum.outer(counts, counts)))  # a tree
    np.testing.assert_array_equal(rows[0], np.ones(workload.n))
    np.testing.assert_array_equal(rows[counts == 1].sum(axis=0), np.ones(workload.n))
    for row in rows:  # boxes: products of ranges
        box = row.reshape(sizes)
        for axis in range(len(sizes)):
            along = np.flatnonzero(box.any(axis=tuple(i for i in range(len(sizes)) if i != axis)))
            assert np.array_equal(along, np.arange(along[0], along[-1] + 1))
    depth = next(d for d in range(9) if branching**d >= max(sizes))
    assert rows.sum(axis=0).max() == 1 + depth


def test_quadtree_of_4_by_4() -> None:
    workload = marginals_of((4, 4), (0, 1), ())
    (one, two) = evaluate("quadtree", workload).costs
    assert one.rows == 1 + 4 + 16 and one.sensitivity == 3.0
    assert two.sensitivity**2 == pytest.approx(3.0, rel=ROUNDING)
    reason = evaluate("quadtree", line(f.prefix(4))).reason
    assert reason == "for one attribute it is hierarchical(branching=2)"
