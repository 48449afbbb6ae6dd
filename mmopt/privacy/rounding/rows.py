"""The rows of a strategy over an integer basis, for Laplace noise: what bounds its L1 norm stays as it is.

Where both noises are Gaussian a rotation of A is as good as A (``dense.py``); an L1 norm knows no
rotations. With the cells merged that no query tells apart, A's mean over each class of cells is measured: an
average of columns is never longer than the longest, and as estimates of the queries it is no worse, since
(P AᵀA P)⁺ ⪯ P (AᵀA)⁺ P for the projection P on what is constant on the classes. Rows that this makes
multiples of each other are added up. Where these means are
dependent, A = C B with an integer basis B of the workload's row space, and rint(2^bits C) B is measured. In
both cases the integers span the workload's row space whenever their core has full column rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints
from mmopt.privacy.rounding.lattice import check_bias, divide_by_gcd, unsupported
from mmopt.strategies import Strategy
from mmopt.workloads import Workload

__all__ = ["Rows", "check_fit", "kept_rows"]


_CLEAR = 1e-8  # singular values below this part of the largest are rounding errors of a dependency


@dataclass(frozen=True, eq=False)
class Rows:
    """``real @ basis`` (p, n) has the strategy's rows, as far as the queries see them.

    real : (p, r), of full column rank. basis : (r, n) integers. change : (m, r), queries = change @ basis.
    bias : largest error of that, in units of the largest entry.
    """

    real: Array
    basis: Ints
    change: Array
    bias: float


def check_fit(strategy: Strategy, workload: Workload) -> None:
    """WorkloadError for another number of cells, or a strategy that does not support the workload."""
    if strategy.n != workload.n:
        raise WorkloadError(f"the strategy has {strategy.n} cells, the workload {workload.n}")
    if not strategy.supports(workload):
        raise unsupported()


def kept_rows(strategy: Strategy, workload: Workload) -> Rows:
    """The strategy's rows over an integer basis, as the module says.

    Raises
    ------
    WorkloadError : another number of cells, a strategy that does not support the workload, or one of fewer
        dimensions than there are classes of cells, for queries that have no integer basis.
    """
    check_fit(strategy, workload)
    classes = workload.cell_classes
    means, first = _class_means(strategy.matrix, classes)
    means = _without_multiples(means, strategy.norm)
    if means.shape[0] >= means.shape[1] and _is_independent(means):
        basis = np.equal.outer(np.arange(len(first)), classes).astype(np.int64)
        return Rows(means, basis, np.ascontiguousarray(workload.queries[:, first]), 0.0)
    found = workload.integer_basis
    if found is None:
        raise WorkloadError(
            f"the strategy has fewer than {len(first)} dimensions, one for each cell or class of cells, and "
            "the queries have no integer basis",
            hint="write the queries with integers (multiply them by a common denominator)",
        )
    basis = divide_by_gcd(found)
    solved = np.linalg.lstsq(
        basis.T.astype(np.float64), np.hstack([workload.basis.T, strategy.matrix.T]), rcond=None
    )[0].T
    change, real = solved[: workload.rank], np.ascontiguousarray(solved[workload.rank :])
    bias = check_bias(workload.basis, change @ basis)
    return Rows(real, basis, workload.representation @ change, bias)


def _class_means(matrix: Array, classes: Ints) -> tuple[Array, Ints]:
    """Means of the columns of each class (p, c), and each class's first cell (c,); -1 is left out."""
    order = np.argsort(classes, kind="stable")
    order = order[classes[order] >= 0]
    _, starts, sizes = np.unique(classes[order], return_index=True, return_counts=True)
    means = np.add.reduceat(matrix[:, order], starts, axis=1) / sizes
    # The mean of equal columns is that column, without a rounding error.
    alike = np.maximum.reduceat(matrix[:, order], starts, axis=1)
    same = alike == np.minimum.reduceat(matrix[:, order], starts, axis=1)
    return np.where(same, alike, means), order[starts]


def _without_multiples(rows: Array, norm: int) -> Array:
    """The rows, those that are positive multiples of another one added up, so that columns keep their norms.

    One row (a + b) r tells more of r than a r and b r, with noise of the same scale.
    """
    kept = rows[rows.any(axis=1)]
    lengths = np.abs(kept).sum(axis=1)
    directions = kept / lengths[:, None]
    found = np.unique(np.round(directions, 9), axis=0, return_index=True, return_inverse=True)
    sizes = np.bincount(found[2].ravel(), lengths**norm) ** (1 / norm)
    order = np.argsort(found[1])
    return rows if len(order) == len(kept) else directions[found[1][order]] * sizes[order, None]


def _is_independent(matrix: Array) -> bool:
    values = np.linalg.svd(matrix, compute_uv=False)
    return bool(values[-1] > _CLEAR * values[0])
