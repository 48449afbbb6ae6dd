"""Design queries that are hard to weigh, by name, with how much a workload leans on each."""

from collections.abc import Callable

import numpy as np
from cases import all_ranges
from constructed import haar

from mmopt import Workload
from mmopt.solvers.weighting import GivenMatrix, Weighting, entrywise

Array = np.ndarray
Design = tuple[Array, Array]


def eigen(matrix: Array) -> Design:
    w = Workload.from_matrix(matrix)
    return w.eigenqueries, w.eigenvalues


def _prefix(rng: np.random.Generator) -> Design:
    return eigen(np.tri(32))


def _ranges(rng: np.random.Generator) -> Design:
    return eigen(all_ranges(32))


def _permuted(rng: np.random.Generator) -> Design:
    return eigen(all_ranges(32)[:, rng.permutation(32)])


def _predicates(rng: np.random.Generator) -> Design:
    return eigen((rng.random((70, 32)) < 0.5).astype(float))


def _wavelet(rng: np.random.Generator) -> Design:
    Q = haar(32)
    return Q, np.square(np.tri(32) @ np.linalg.pinv(Q)).sum(axis=0)


def _scaled(rng: np.random.Generator) -> Design:
    """Rows of sizes 0.1 to 10, and c over six decades."""
    Q = rng.normal(size=(30, 32)) * 10 ** rng.uniform(-1, 1, size=(30, 1))
    return Q, 10 ** rng.uniform(-3, 3, size=30)


def _apart(rng: np.random.Generator) -> Design:
    """One cell a row: the prices spread as far as c does."""
    return np.eye(32)[rng.permutation(32)], 10 ** rng.uniform(-3, 3, size=32)


def _sparse(rng: np.random.Generator) -> Design:
    """Cells that few rows touch and one that none does: many prices are zero."""
    Q = rng.normal(size=(24, 40)) * (rng.random((24, 40)) < 0.1) + np.eye(24, 40) / 10
    Q[:, 39] = 0.0
    return Q, 10 ** rng.uniform(-3, 3, size=24)


def _few(rng: np.random.Generator) -> Design:
    return rng.normal(size=(3, 50)), rng.uniform(1, 2, size=3)


def _one(rng: np.random.Generator) -> Design:
    return rng.normal(size=(1, 9)), np.array([3.0])


HARD: dict[str, Callable[[np.random.Generator], Design]] = {
    "prefix": _prefix,
    "all ranges": _ranges,
    "permuted ranges": _permuted,
    "random predicates": _predicates,
    "wavelet": _wavelet,
    "scaled rows": _scaled,
    "one cell a row": _apart,
    "sparse rows": _sparse,
    "few rows": _few,
    "one row": _one,
}


def weighting(design: Design, power: int) -> Weighting:
    return Weighting(GivenMatrix(entrywise(design[0], power)), design[1], power)
