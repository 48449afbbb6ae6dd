"""Random workloads that are hard for arithmetic: sizes that differ, ranks that hide, m >> n, n >> m."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from mmopt import Workload
from mmopt.testing import query_matrices

__all__ = ["ROWS", "TARGETS", "hard_workload"]

Array = np.ndarray
Random = np.random.Generator


def _sparse(rng: Random, m: int, n: int) -> Array:
    return (rng.random((m, n)) < min(0.5, 3 / n)).astype(float)


def _dense(rng: Random, m: int, n: int) -> Array:
    return (rng.random((m, n)) < 0.5).astype(float)


def _real(rng: Random, m: int, n: int) -> Array:
    return np.asarray(rng.normal(size=(m, n)))


def _duplicates(rng: Random, m: int, n: int) -> Array:
    few = _sparse(rng, max(1, m // 2), n)
    return few[rng.integers(0, len(few), m)] * 10.0 ** rng.integers(-2, 3, size=(m, 1))


def _low_rank(rng: Random, m: int, n: int) -> Array:
    k = max(1, min(m, n) // 3)
    return _real(rng, m, k) @ _real(rng, k, n)


def _nearly_low_rank(rng: Random, m: int, n: int) -> Array:
    """Singular values that a Gram matrix cannot show."""
    return _low_rank(rng, m, n) + 1e-7 * _real(rng, m, n)


def _integers_of_low_rank(rng: Random, m: int, n: int) -> Array:
    k = max(1, min(m, n) // 2)
    return (rng.integers(-1, 2, (m, k)) @ rng.integers(-2, 3, (k, n))).astype(float)


def _one_dominates(rng: Random, m: int, n: int) -> Array:
    return _dense(rng, m, n) * np.where(np.arange(m) == 0, 1e3, 1.0)[:, None]


def _untouched_cells(rng: Random, m: int, n: int) -> Array:
    return _dense(rng, m, n) * (rng.random(n) < 0.7)


def _tiny_rows(rng: Random, m: int, n: int) -> Array:
    return _dense(rng, m, n) * np.where(rng.random((m, 1)) < 0.3, 1e-8, 1.0)


def _tiny_columns(rng: Random, m: int, n: int) -> Array:
    return _real(rng, m, n) * np.where(rng.random(n) < 0.3, 1e-8, 1.0)


def _scaled_rows(rng: Random, m: int, n: int) -> Array:
    return _dense(rng, m, n) * 10.0 ** rng.uniform(-4, 4, (m, 1))


def _scaled_columns(rng: Random, m: int, n: int) -> Array:
    return _real(rng, m, n) * 10.0 ** rng.uniform(-4, 4, (1, n))


def _blocks(rng: Random, m: int, n: int) -> Array:
    return scipy.linalg.block_diag(_real(rng, m, max(1, n // 2)), 1e4 * _dense(rng, m, max(1, n - n // 2)))


def _whole_hilbert(rng: Random, m: int, n: int) -> Array:
    return np.rint(1e4 / (np.arange(m)[:, None] + np.arange(n) + 1))


def _vandermonde(rng: Random, m: int, n: int) -> Array:
    return np.vander(np.arange(1.0, m + 1), min(n, 7), increasing=True)


def _powers(rng: Random, m: int, n: int) -> Array:
    return np.vander(np.linspace(-1, 1, m), min(n, 13))


def _pascal(rng: Random, m: int, n: int) -> Array:
    return np.asarray(scipy.linalg.pascal(min(n, 12)), dtype=float)


ROWS: dict[str, Callable[[Random, int, int], Array]] = {
    "sparse": _sparse,
    "dense": _dense,
    "real": _real,
    "duplicates": _duplicates,
    "low rank": _low_rank,
    "nearly low rank": _nearly_low_rank,
    "integers of low rank": _integers_of_low_rank,
    "one dominates": _one_dominates,
    "untouched cells": _untouched_cells,
    "tiny rows": _tiny_rows,
    "tiny columns": _tiny_columns,
    "scaled rows": _scaled_rows,
    "scaled columns": _scaled_columns,
    "blocks": _blocks,
    "whole numbers near Hilbert's": _whole_hilbert,
    "Vandermonde": _vandermonde,
    "powers": _powers,
    "Pascal": _pascal,
    "ranges": lambda rng, m, n: query_matrices.random_ranges(n, m, rng),
    "prefix": lambda rng, m, n: np.tri(n),
    "one query": lambda rng, m, n: _real(rng, 1, n),
    "one cell": lambda rng, m, n: _real(rng, m, 1),
}

TARGETS: dict[str, Callable[[Random, int], Array]] = {
    "equal": lambda rng, m: np.ones(m),
    "uniform": lambda rng, m: rng.uniform(1, 10, m),
    "six decades": lambda rng, m: 10.0 ** rng.uniform(-3, 3, m),
    "twelve decades": lambda rng, m: 10.0 ** rng.uniform(-6, 6, m),
    "one is strict": lambda rng, m: np.where(np.arange(m) == 0, 1e-4, 1.0),
}


def hard_workload(name: str, targets: str, rng: Random) -> Workload:
    """Queries of a kind over 2 to 24 cells, from a fifth to five times as many as cells; no query is zero."""
    n = int(rng.choice([2, 3, 5, 8, 13, 24]))
    m = max(1, round(n * rng.choice([0.2, 0.5, 1, 2, 5])))
    rows = ROWS[name](rng, m, n)
    rows = rows[rows.any(axis=1)]
    if not len(rows):
        rows = np.ones((1, n))
    return Workload.from_matrix(rows, targets=TARGETS[targets](rng, len(rows)))
