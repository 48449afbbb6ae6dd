"""Workloads that have gone wrong in solvers before, by name, and random ones. All have targets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mmopt.queries import Workload

__all__ = ["CLOSED", "NAMED", "all_ranges", "matrix_of", "named", "random_workload", "with_targets"]


def all_ranges(n: int) -> np.ndarray:
    """Every interval of n cells, (n (n + 1) / 2, n)."""
    cells = np.arange(n)
    pairs = [(low, high) for low in range(n) for high in range(low, n)]
    return np.array([(low <= cells) & (cells <= high) for low, high in pairs], dtype=float)


def _low_rank() -> np.ndarray:
    """Three rows of a rank-two matrix and their sums: rank 3 over 7 cells, 8 queries."""
    rows = np.array(
        [[1, 1, 0, 0, 1, 0, 2], [0, 1, 1, 0, 0, 1, -1], [1, 0, 0, 1, 1, 1, 0]],
        dtype=float,
    )
    mix = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, -1, 0], [1, 1, 1]])
    return mix @ rows


def _marginals() -> np.ndarray:
    """Both one-way marginals, the total and the cells of a 3 × 3 table."""
    ones, eye = np.ones((1, 3)), np.eye(3)
    return np.vstack([np.kron(eye, ones), np.kron(ones, eye), np.kron(ones, ones), np.kron(eye, eye)])


def _signed() -> np.ndarray:
    """Differences of neighbours and of halves."""
    rows = np.eye(6) - np.eye(6, k=1)
    return np.vstack([rows, [1, 1, 1, -1, -1, -1], [0.5, -2, 0, 3, 0, -1]])


def _zero_columns() -> np.ndarray:
    """Prefix sums of five cells among eight; no query touches the others."""
    out = np.zeros((5, 8))
    out[:, [0, 2, 3, 5, 6]] = np.tri(5)
    return out


NAMED: dict[str, Callable[[], np.ndarray]] = {
    "prefix": lambda: np.tri(8),
    "all ranges": lambda: all_ranges(5),
    "marginals": _marginals,
    "rank deficient": _low_rank,
    "duplicated rows": lambda: np.repeat(np.tri(5), [1, 3, 1, 2, 1], axis=0),
    "duplicated columns": lambda: np.repeat(np.tri(5), [1, 3, 1, 1, 2], axis=1),
    "signed": _signed,
    "zero columns": _zero_columns,
    "single total": lambda: np.ones((1, 12)),
    "single cell": lambda: np.array([[3.0]]),
    "two queries of one cell": lambda: np.array([[1.0], [2.0]]),
    "identity and total": lambda: np.vstack([np.eye(6), np.ones((1, 6))]),
    "large and small": lambda: np.diag(10.0 ** np.linspace(-1, 1, 5)) @ np.tri(5),
}


def with_targets(matrix: np.ndarray) -> Workload:
    """The rows with targets that differ: 1, 2, 3, 1, 2, 3, … times their squared norms."""
    rows = np.arange(len(matrix))
    return Workload.from_matrix(matrix, targets=(1.0 + rows % 3) * (matrix**2).sum(axis=1))


def matrix_of(name: str) -> np.ndarray:
    return NAMED[name]()


def named(name: str) -> Workload:
    return with_targets(matrix_of(name))


def random_workload(rng: np.random.Generator) -> Workload:
    """Integers or real numbers over 5 to 10 cells, of full or low rank, with random targets."""
    n, m = int(rng.integers(5, 11)), int(rng.integers(3, 11))
    kind = rng.integers(3)
    if kind == 0:
        rows = rng.integers(-1, 2, size=(m, n)).astype(float)
    elif kind == 1:
        rows = rng.normal(size=(m, n))
    else:
        rows = rng.integers(0, 3, size=(m, 3)) @ rng.integers(0, 2, size=(3, n)).astype(float)
    rows[~rows.any(axis=1), int(rng.integers(n))] = 1.0
    return Workload.from_matrix(rows, targets=rng.uniform(0.5, 5.0, size=m))


# A program of ones own without anything to solve.
CLOSED = """\
program total_by_cells
title "The cells themselves"
class closed form
given
    W: matrix[r, n] = workload.root
let
    A = eye(n)
minimize
    trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 2
bound
    l2_strategy
"""
