"""Data drawn by a public recipe, and what is asked of them: nobody's rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["SHAPES", "SQUARE_WORKLOADS", "WORKLOADS", "drawn", "drawn_square", "queries", "square_queries"]

Array = npt.NDArray[np.float64]

SHAPES = ("uniform", "smooth", "clustered", "sparse")
WORKLOADS = ("prefix", "random ranges", "identity")
SQUARE_WORKLOADS = ("corner rectangles", "random rectangles")


def probabilities(shape: str, n: int, rng: np.random.Generator) -> Array:
    """Chance of each of n cells: equal; two bells; eight flat stretches, each of its height; few cells."""
    if shape == "uniform":
        found = np.ones(n)
    elif shape == "smooth":
        at = (np.arange(n) + 0.5) / n
        found = np.exp(-(((at - 0.3) / 0.1) ** 2) / 2) + 0.5 * np.exp(-(((at - 0.7) / 0.15) ** 2) / 2)
    elif shape == "clustered":
        ends = np.sort(rng.choice(np.arange(1, n), size=7, replace=False))
        found = np.repeat(rng.exponential(size=8) ** 2, np.diff(np.concatenate([[0], ends, [n]])))
    elif shape == "sparse":
        found = np.zeros(n)
        found[rng.choice(n, size=max(1, n // 50), replace=False)] = rng.exponential(size=max(1, n // 50))
    else:
        raise ValueError(f"no shape '{shape}', expected one of {', '.join(SHAPES)}")
    return np.asarray(found / found.sum())


def drawn(shape: str, n: int, rows: int, rng: np.random.Generator) -> Array:
    """Counts (n,) of that many rows, each in a cell of its own by the shape's chances."""
    return rng.multinomial(rows, probabilities(shape, n, rng)).astype(float)


def square_probabilities(shape: str, side: int, rng: np.random.Generator) -> Array:
    """Chance of each of side² cells of a square, row by row: shapes like those of a line.

    Smooth are two round bells; clustered is a grid of eight stretches each way, each of its own.
    """
    if shape == "smooth":
        at = (np.arange(side) + 0.5) / side
        found = np.zeros((side, side))
        for row, column, width, height in ((0.3, 0.4, 0.1, 1.0), (0.7, 0.6, 0.15, 0.5)):
            found += height * np.exp(-((at[:, None] - row) ** 2 + (at - column) ** 2) / (2 * width**2))
    elif shape == "clustered":
        pieces = []
        for _ in range(2):
            cuts = np.sort(rng.choice(np.arange(1, side), size=7, replace=False))
            pieces.append(np.searchsorted(cuts, np.arange(side), side="right"))
        found = (rng.exponential(size=(8, 8)) ** 2)[np.ix_(*pieces)]
    else:
        return probabilities(shape, side**2, rng)
    return np.asarray(found / found.sum()).ravel()


def drawn_square(shape: str, side: int, rows: int, rng: np.random.Generator) -> Array:
    """Counts (side²,) of that many rows, each in a cell of its own by the shape's chances."""
    return rng.multinomial(rows, square_probabilities(shape, side, rng)).astype(float)


def queries(workload: str, n: int, rng: np.random.Generator) -> Array:
    """W (m, n): all n prefixes, n ranges with both ends drawn, or the n cells."""
    if workload == "prefix":
        return np.tri(n)
    if workload == "identity":
        return np.eye(n)
    if workload != "random ranges":
        raise ValueError(f"no workload '{workload}', expected one of {', '.join(WORKLOADS)}")
    ends = np.sort(rng.integers(0, n, size=(n, 2)), axis=1)
    at = np.arange(n)
    return ((ends[:, :1] <= at) & (at <= ends[:, 1:])).astype(float)


def square_queries(workload: str, side: int, rng: np.random.Generator) -> Array:
    """W (side², side²): all rectangles from the first cell on, or as many with their ends drawn."""
    if workload == "corner rectangles":
        return np.asarray(np.kron(np.tri(side), np.tri(side)))
    if workload != "random rectangles":
        raise ValueError(f"no workload '{workload}', expected one of {', '.join(SQUARE_WORKLOADS)}")
    ends = np.sort(rng.integers(0, side, size=(2, side**2, 2)), axis=2)
    at = np.arange(side)
    rows, columns = ((ends[:, :, :1] <= at) & (at <= ends[:, :, 1:])).astype(float)
    return np.asarray(rows[:, :, None] * columns[:, None, :]).reshape(side**2, -1)
