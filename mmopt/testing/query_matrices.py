"""Query matrices of the registry, a query a row: those of a size, and small ones that are hard in one way."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from mmopt.numerics.split_arrays import Array

__all__ = [
    "EXAMPLE_4",
    "ONE_AND_TWO_WAY",
    "duplicated_columns",
    "duplicated_rows",
    "large_and_small",
    "low_rank",
    "marginals",
    "random_ranges",
    "rectangles",
    "signed",
    "table_margins",
    "windows",
    "zero_columns",
]


# Figure 1 (b) of PVLDB 2012: students by gender and grade.
EXAMPLE_4: tuple[tuple[int, ...], ...] = (
    (1, 1, 1, 1, 1, 1, 1, 1),
    (1, 1, 1, 1, 0, 0, 0, 0),
    (0, 0, 0, 0, 1, 1, 1, 1),
    (1, 1, 0, 0, 1, 1, 0, 0),
    (0, 0, 1, 1, 0, 0, 1, 1),
    (0, 0, 0, 0, 0, 0, 1, 1),
    (1, 1, 0, 0, 0, 0, 0, 0),
    (1, 1, 1, 1, -1, -1, -1, -1),
)

ONE_AND_TWO_WAY = tuple(kind for kind in itertools.product((0, 1), repeat=3) if 0 < sum(kind) < 3)


def marginals(sizes: Sequence[int], kinds: Sequence[Sequence[int]]) -> Array:
    """The marginals over a product of attributes, each kind a 1 for every attribute that is kept."""

    def one(kind: Sequence[int]) -> Array:
        rows: Array = np.ones((1, 1))
        for size, kept in zip(sizes, kind, strict=True):
            rows = np.asarray(np.kron(rows, np.eye(size) if kept else np.ones((1, size))), dtype=float)
        return rows

    return np.vstack([one(kind) for kind in kinds])


def windows(n: int, width: int) -> Array:
    """Every range of ``width`` neighbouring cells, (n - width + 1, n): rank deficient for width > 1."""
    first = np.arange(n - width + 1)[:, None]
    cells = np.arange(n)
    return ((first <= cells) & (cells < first + width)).astype(float)


def random_ranges(n: int, m: int, rng: np.random.Generator) -> Array:
    """m ranges between two uniform ends, (m, n)."""
    low, high = np.sort(rng.integers(0, n, size=(m, 2)), axis=1).T
    cells = np.arange(n)
    return np.asarray((low[:, None] <= cells) & (cells <= high[:, None]), dtype=float)


def rectangles(side: int, m: int, rng: np.random.Generator) -> Array:
    """m products of two random ranges over a square grid, (m, side²), the second axis varying fastest."""
    one, other = (random_ranges(side, m, rng) for _ in range(2))
    return (one[:, :, None] * other[:, None, :]).reshape(m, side * side)


def large_and_small(n: int) -> Array:
    """Prefix sums whose rows differ in size by a factor of 100."""
    return np.asarray(np.diag(10.0 ** np.linspace(-1, 1, n)) @ np.tri(n))


def low_rank() -> Array:
    """Three rows of a rank-two matrix and their sums: rank 3 over 7 cells, 8 queries."""
    rows = np.array(
        [[1, 1, 0, 0, 1, 0, 2], [0, 1, 1, 0, 0, 1, -1], [1, 0, 0, 1, 1, 1, 0]],
        dtype=float,
    )
    mix = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, -1, 0], [1, 1, 1]])
    return np.asarray(mix @ rows)


def table_margins() -> Array:
    """Both one-way marginals, the total and the cells of a 3 × 3 table."""
    return marginals((3, 3), ((1, 0), (0, 1), (0, 0), (1, 1)))


def signed() -> Array:
    """Differences of neighbours and of halves, over 6 cells."""
    return np.vstack([np.eye(6) - np.eye(6, k=1), [1, 1, 1, -1, -1, -1], [0.5, -2, 0, 3, 0, -1]])


def zero_columns() -> Array:
    """Prefix sums of five cells among eight; no query touches the others."""
    out = np.zeros((5, 8))
    out[:, [0, 2, 3, 5, 6]] = np.tri(5)
    return out


def duplicated_rows() -> Array:
    """Prefix sums over five cells, two of them asked more than once."""
    return np.repeat(np.tri(5), [1, 3, 1, 2, 1], axis=0)


def duplicated_columns() -> Array:
    """Prefix sums over five values, two of which have several cells."""
    return np.repeat(np.tri(5), [1, 3, 1, 1, 2], axis=1)
