"""Design queries that are hard to weigh, by name, with how much a workload leans on each."""

from collections.abc import Callable

import numpy as np
from named_workloads import all_ranges
from query_rows import haar

from mmopt import Workload
from mmopt.solvers.weighting_kernel import Weighting, entrywise

Array = np.ndarray
Design = tuple[Array, Array]


def eigen(matrix: Array) -> Design:
    w = Workload.from_matrix(matrix)
    return w.eigenqueries, w.eigenvalues


def wavelet() -> Design:
    Q = haar(32)
    return Q, np.square(np.tri(32) @ np.linalg.pinv(Q)).sum(axis=0)


def decades(rng: np.random.Generator, size: int) -> Array:
    """Numbers over six decades."""
    return 10 ** rng.uniform(-3, 3, size=size)


def sparse(rng: np.random.Generator) -> Design:
    """Cells that few rows touch and one that none does: many prices are zero."""
    Q = rng.normal(size=(24, 40)) * (rng.random((24, 40)) < 0.1) + np.eye(24, 40) / 10
    Q[:, 39] = 0.0
    return Q, decades(rng, 24)


HARD: dict[str, Callable[[np.random.Generator], Design]] = {
    "prefix": lambda rng: eigen(np.tri(32)),
    "permuted ranges": lambda rng: eigen(all_ranges(32)[:, rng.permutation(32)]),
    "random predicates": lambda rng: eigen((rng.random((70, 32)) < 0.5).astype(float)),
    "wavelet": lambda rng: wavelet(),
    # Rows of sizes 0.1 to 10.
    "scaled rows": lambda rng: (
        rng.normal(size=(30, 32)) * 10 ** rng.uniform(-1, 1, size=(30, 1)),
        decades(rng, 30),
    ),
    # The prices spread as far as the costs do.
    "one cell a row": lambda rng: (np.eye(32)[rng.permutation(32)], decades(rng, 32)),
    "sparse rows": sparse,
    "few rows": lambda rng: (rng.normal(size=(3, 50)), rng.uniform(1, 2, size=3)),
    "one row": lambda rng: (rng.normal(size=(1, 9)), np.array([3.0])),
}


def weighting(design: Design, power: int) -> Weighting:
    return Weighting(entrywise(design[0], power), design[1], power)
