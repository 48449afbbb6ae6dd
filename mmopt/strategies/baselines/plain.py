"""The mechanisms without a design: noise on every cell, and noise on every answer."""

from __future__ import annotations

import math

import numpy as np

from mmopt.numerics.arrays import Array, require_memory
from mmopt.strategies.baselines.design import Design
from mmopt.workloads.blocks.factor import Factor
from mmopt.workloads.blocks.kron import Kron
from mmopt.workloads.blocks.ranges import Identity
from mmopt.workloads.workload import Workload

__all__ = ["answers", "cells"]


def cells(workload: Workload, norm: int) -> Design:
    """Every cell by itself (input perturbation; Dwork, McSherry, Nissim, Smith: TCC 2006).

    W A⁺ = W, so the error is the sum of the squared lengths of the queries.
    """
    blocks = [Identity(size) for size in workload.domain.shape]
    return Design(
        blocks[0] if len(blocks) == 1 else Kron(blocks), own_error=_lengths, own_variances=_each_length
    )


def _lengths(workload: Workload) -> float:
    if workload.products is None:
        return math.fsum(workload.weights * workload.squared_norms())
    return math.fsum(
        product.weight
        * math.prod(float(factor.squared_norms().sum()) for factor in product.weighed().factors)
        for product in workload.products
    )


def _each_length(workload: Workload) -> Array:
    require_memory((workload.m,), "list of the queries' variances")
    return workload.squared_norms()


def answers(workload: Workload, norm: int) -> Design:
    """Every query of the workload as it stands, repeated ones repeatedly (Laplace or Gaussian mechanism).

    The error is that of the mechanism, which answers with what it measured: the noise of each query, Σ of the
    weights. Least squares on the same rows, as every ``Strategy`` does them, are never worse.
    """
    return Design(workload.implicit(weighted=False), own_error=_weights, own_variances=_ones)


def _weights(workload: Workload) -> float:
    if workload.products is None:
        return math.fsum(workload.weights)
    return math.fsum(
        product.weight * math.prod(_row_weights(factor) for factor in product.factors)
        for product in workload.products
    )


def _ones(workload: Workload) -> Array:
    require_memory((workload.m,), "list of the queries' variances")
    return np.ones(workload.m)


def _row_weights(factor: Factor) -> float:
    return float(factor.rows if factor.row_weights is None else factor.row_weights.sum())
