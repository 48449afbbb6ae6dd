"""Sums over participation patterns against all patterns, one by one."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from mmopt.numerics import participation
from mmopt.numerics.participation import largest_block, largest_sums, most_steps, participation_norm

SIZES = [(n, b, k) for n in (1, 2, 5, 8) for b in (1, 2, 3, 9) for k in (1, 2, 3, 20)]


def patterns(n: int, separation: int, at_most: int) -> Iterator[tuple[int, ...]]:
    """Every pattern of a step or more, subsets included, by its definition."""
    for size in range(1, min(at_most, n) + 1):
        for steps in itertools.combinations(range(n), size):
            if all(b - a >= separation for a, b in itertools.pairwise(steps)):
                yield steps


def block(weights: np.ndarray, steps: tuple[int, ...]) -> float:
    return weights[np.ix_(steps, steps)].sum()


@pytest.mark.quick
def test_sums_and_blocks_are_the_largest_of_all_patterns(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """Where patterns are many, those of blocks are bounds, and exact of a banded matrix."""
    for n, b, k in SIZES:
        with subtests.test(n=n, b=b, k=k):
            weights = rng.integers(0, 9, (3, n))
            found = [max(row[list(steps)].sum() for steps in patterns(n, b, k)) for row in weights]
            np.testing.assert_array_equal(largest_sums(weights, b, k), found)
            assert most_steps(n, b, k) == max(map(len, patterns(n, b, k)))
            weights = rng.integers(0, 9, (n, n))
            weights = weights + weights.T
            apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
            banded = np.where(apart < b, weights, 0)
            found, narrow = (max(block(w, steps) for steps in patterns(n, b, k)) for w in (weights, banded))
            assert largest_block(weights, b, k) == found
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(participation, "_ENUMERATED", 0)
                assert largest_block(weights, b, k) >= found
                assert largest_block(banded, b, k) == narrow == largest_sums(np.diag(weights), b, k)


@pytest.mark.quick
def test_no_contribution_changes_the_answers_by_more(
    subtests: pytest.Subtests, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers in [-1, 1], and vectors of length at most 1 (a gradient): columns times each, summed."""
    for rows in [0, 2**21]:
        monkeypatch.setattr(participation, "_ENUMERATED", rows)
        with subtests.test(rows=rows):
            for _ in range(3):
                n, b, k = int(rng.integers(2, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
                matrix = rng.normal(size=(4, n))
                limits = {norm: participation_norm(matrix, norm, b, k) for norm in (1, 2)}
                for steps in patterns(n, b, k):
                    columns = matrix[:, steps]
                    for signs in itertools.product((-1.0, 1.0), repeat=len(steps)):
                        assert np.abs(columns @ signs).sum() <= limits[1] * (1 + 1e-12)
                        assert np.linalg.norm(columns @ signs) <= limits[2] * (1 + 1e-12)
                    vectors = rng.normal(size=(len(steps), 3))
                    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
                    assert np.linalg.norm(columns @ vectors) <= limits[2] * (1 + 1e-12)


def test_columns_that_agree_in_sign_reach_the_bound(rng: np.random.Generator) -> None:
    for _ in range(3):
        n, b, k = int(rng.integers(2, 9)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
        matrix = rng.uniform(0, 1, (3, n)) * rng.choice([0.0, 1.0], (3, n))
        sums = [matrix[:, list(steps)].sum(axis=1) for steps in patterns(n, b, k)]
        for norm in (1, 2):
            reached = max(np.linalg.norm(own, norm) for own in sums)
            assert participation_norm(matrix, norm, b, k) == pytest.approx(reached, rel=1e-12)
            assert participation_norm(matrix, norm, b, k) >= reached * (1 - 1e-15)


def test_it_is_rounded_up_at_any_scale(rng: np.random.Generator) -> None:
    """Against exact integers: the matrix is one of integers over a power of two."""
    for scale in (1.0, 2.0**-600, 2.0**300):
        whole = rng.integers(-(2**20), 2**20, (5, 12))
        exact = whole.astype(object)
        gram = np.abs(exact.T @ exact)
        most = max(int(block(gram, steps)) for steps in patterns(12, 2, 4))
        found = participation_norm(whole * scale, 2, 2, 4) / scale
        assert most <= found**2 * (1 + 1e-15) and found**2 <= most * (1 + 1e-10)
    assert participation_norm(np.zeros((2, 3)), 2, 1, 2) == 0.0
