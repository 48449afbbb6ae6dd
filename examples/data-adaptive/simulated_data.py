"""Data drawn by a public recipe, and what is asked of them: nobody's rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["SHAPES", "WORKLOADS", "drawn", "queries"]

Array = npt.NDArray[np.float64]

SHAPES = ("uniform", "smooth", "clustered", "sparse")
WORKLOADS = ("prefix", "random ranges", "identity")


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
