"""A number of a paper, and what it is to our value of the same thing: for tests/papers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from mmopt import Workload

__all__ = ["EXAMPLE_4", "ONE_AND_TWO_WAY", "Figure", "gram_root", "holds", "marginals"]


@dataclass(frozen=True)
class Figure:
    """A known number: where it stands, what kind it is, relative tolerance.

    exact: the value itself; upper: our value is at most it; lower: our value is at least it.
    """

    source: str
    kind: str
    value: float
    tolerance: float


def holds(figure: Figure, found: float) -> bool:
    low = found >= figure.value * (1 - figure.tolerance)
    high = found <= figure.value * (1 + figure.tolerance)
    return {"exact": low and high, "upper": high, "lower": low}[figure.kind]


# Figure 1 (b) of PVLDB 2012: students by gender and grade.
EXAMPLE_4 = Workload.from_matrix(
    [
        [1, 1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 1, 1],
        [1, 1, 0, 0, 1, 1, 0, 0],
        [0, 0, 1, 1, 0, 0, 1, 1],
        [0, 0, 0, 0, 0, 0, 1, 1],
        [1, 1, 0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, -1, -1, -1, -1],
    ]
)

ONE_AND_TWO_WAY = [kind for kind in itertools.product((0, 1), repeat=3) if 0 < sum(kind) < 3]


def marginals(sizes: tuple[int, ...], kinds: list[tuple[int, ...]]) -> np.ndarray:
    """The marginals over a product of attributes, each kind a 1 for every attribute that is kept."""

    def one(kind: tuple[int, ...]) -> np.ndarray:
        rows = np.ones((1, 1))
        for size, kept in zip(sizes, kind, strict=True):
            rows = np.kron(rows, np.eye(size) if kept else np.ones((1, size)))
        return rows

    return np.vstack([one(kind) for kind in kinds])


def gram_root(n: int) -> np.ndarray:
    """(n, n) with the Gram matrix of all ranges over n cells, of which there are too many to write out."""
    cells = np.arange(1.0, n + 1)
    gram = np.minimum.outer(cells, cells) * (n + 1 - np.maximum.outer(cells, cells))
    return np.asarray(np.linalg.cholesky(gram).T)
