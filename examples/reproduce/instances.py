"""Random strategies, workloads and outputs on which formulas of the papers are checked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mmopt import Workload

__all__ = ["DRAWS", "Array", "pairs", "random_rotation", "random_rows", "random_strategy", "squares"]

Array = NDArray[np.float64]

DRAWS = 20
"""Instances on which a formula is checked."""


WORST_CONDITION = 100.0


def random_strategy(rng: np.random.Generator, n: int, p: int | None = None) -> Array:
    """Full column rank: p random rows, n to n + 3 of them if not said; columns of unlike lengths.

    What is nearly singular is drawn again: formulas are compared to nine digits.
    """
    while True:
        A = rng.normal(size=(p or n + int(rng.integers(4)), n)) * rng.uniform(0.2, 2.0, size=n)
        if np.linalg.cond(A) < WORST_CONDITION:
            return A


def random_rows(rng: np.random.Generator, n: int) -> Workload:
    """One to 2 n - 1 random queries over n cells."""
    return Workload.from_matrix(rng.normal(size=(int(rng.integers(1, 2 * n)), n)))


def random_rotation(rng: np.random.Generator, n: int) -> Array:
    """An orthogonal matrix of this size."""
    return np.linalg.qr(rng.normal(size=(n, n)))[0]


def pairs(rng: np.random.Generator) -> Iterator[tuple[Array, Workload]]:
    """``DRAWS`` times a strategy and a workload over two to six cells."""
    for _ in range(DRAWS):
        n = int(rng.integers(2, 7))
        yield random_strategy(rng, n), random_rows(rng, n)


def squares(A: Array, axis: int | None = None) -> Array:
    """Sums of squares of all entries, or of those of each column (0) or row (1)."""
    return np.asarray(np.square(A).sum(axis=axis), dtype=np.float64)
