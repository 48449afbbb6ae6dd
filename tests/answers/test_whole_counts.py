"""Whole answers keep totals and hierarchies, and no other whole ones that do are nearer.

Guards refined_answers.py.
"""

import itertools

import numpy as np
import pytest

from mmopt.answers.refined_answers import in_two_families, whole_counts
from mmopt.errors import SolverError


def table(rows: int, columns: int) -> np.ndarray:
    """Rows, columns, runs of the first rows and all of a table."""
    cells = np.arange(rows * columns).reshape(rows, columns)
    sets = [*cells, *cells.T, *(cells[: i + 1].ravel() for i in range(rows))]
    return np.array([np.isin(np.arange(cells.size), one) for one in sets], dtype=float)


@pytest.mark.quick
def test_hierarchies_and_margins_are_rounded_up_or_down(rng: np.random.Generator) -> None:
    for _ in range(8):
        r, c = rng.integers(1, 6, 2)
        counts = rng.exponential(3.0, r * c) * (rng.random(r * c) < 0.8)
        total = int(rng.integers(1, 40))
        counts = counts * total / counts.sum() if counts.any() else np.full(r * c, total / (r * c))
        queries = table(r, c)
        found = whole_counts(counts, queries, np.ones((1, r * c)), np.array([float(total)]))
        assert found.within_one.all() and found.farthest == 0.0
        assert found.counts.sum() == total and (found.counts >= 0).all()
        assert (np.abs(found.counts - counts) < 1.0).all()
        assert (np.abs(found.answers - queries @ counts) < 1.0 + 1e-9).all()
        assert np.array_equal(found.answers, queries.astype(int) @ found.counts)


@pytest.mark.quick
def test_no_rounding_is_nearer(rng: np.random.Generator) -> None:
    for _ in range(4):
        counts, queries = rng.exponential(2.0, 4), table(2, 2)
        found = whole_counts(counts, queries, np.empty((0, 4)), np.empty(0))

        def distances(x: np.ndarray) -> np.ndarray:
            """By row, how far it is from the counts and from the answers."""
            return np.abs((x - counts) @ np.vstack([np.eye(4), queries]).T).sum(axis=1)  # noqa: B023

        every = np.floor(counts) + np.array(list(itertools.product((0, 1), repeat=4)))
        kept = every[(np.abs((every - counts) @ queries.T) < 1).all(axis=1)]
        assert distances(found.counts[None])[0] == pytest.approx(distances(kept).min())


@pytest.mark.quick
def test_nor_with_totals_across_both_families() -> None:
    """There HiGHS has to search: with a gap allowed it ends at counts that are farther."""
    counts = np.array([8.95, 3.46, 4.88, 4.3, 0.27, 1.78, 5.12, 10.99, 1.24, 1.21])
    across = ["1111110001", "1001100111", "0111000110"]
    sums, totals = np.array([[float(x) for x in one] for one in across]), np.array([26.0, 28.0, 26.0])
    found = whole_counts(counts, np.eye(10), sums, totals)
    every = np.floor(counts) + np.array(list(itertools.product((0, 1), repeat=10)))
    kept = every[(every @ sums.T == totals).all(axis=1)]
    best = np.abs(kept - counts).sum(axis=1).min()
    assert np.abs(found.counts - counts).sum() == pytest.approx(best)


@pytest.mark.quick
def test_queries_across_both_families_are_told() -> None:
    queries = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1], [1, 0, 2, 0], [1, 0, 1, 0]])
    near = in_two_families(queries.astype(float), np.empty((0, 4)))
    assert near.tolist() == [True, True, True, True, False, False]
    found = whole_counts(np.full(4, 0.5), queries.astype(float), np.empty((0, 4)), np.empty(0))
    off = np.abs(found.answers - queries @ np.full(4, 0.5))
    assert found.farthest == off[~near].max() and (off[near] <= 0.5).all()
    taken = in_two_families(queries.astype(float), queries[-1:].astype(float))
    assert taken.tolist() == [True, False, True, False, False, True], "totals come first"


def test_totals_across_that_no_rounding_keeps() -> None:
    triangle = np.array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
    with pytest.raises(SolverError) as caught:
        whole_counts(np.full(3, 0.5), np.eye(3), triangle, np.ones(3))
    assert str(caught.value) == (
        "no whole counts were found that are the refined ones rounded up or down and keep all totals\n"
        "  name fewer totals, those of one hierarchy, or leave --whole out (whole=True in Python)"
    )
