"""The mechanisms without a design: noise on every cell, and noise on every answer."""

from __future__ import annotations

import math

import numpy as np

from mmopt.numerics.arrays import Array, require_memory
from mmopt.strategies.baselines.catalogue_row import Design
from mmopt.workloads import Kron, Workload
from mmopt.workloads.blocks.range_blocks import Identity

__all__ = ["OrthonormalRows", "answers", "cells"]


def cells(workload: Workload, norm: int) -> Design:
    """Every cell by itself (input perturbation; Dwork, McSherry, Nissim, Smith: TCC 2006)."""
    blocks = [Identity(size) for size in workload.domain.shape]
    return Design(blocks[0] if len(blocks) == 1 else Kron(blocks), known=OrthonormalRows())


class OrthonormalRows:
    """Orthonormal rows that determine every query: W A⁺ = W Aᵀ is as long as W, row by row."""

    def squared_error(self, workload: Workload) -> float:
        if workload.products is None:
            return math.fsum(workload.weights * workload.squared_norms())
        return math.fsum(
            product.weight
            * math.prod(float(factor.squared_norms().sum()) for factor in product.weighed().factors)
            for product in workload.products
        )

    def variances(self, workload: Workload) -> Array:
        require_memory((workload.m,), "list of the queries' variances")
        return workload.squared_norms()


def answers(workload: Workload, norm: int) -> Design:
    """Every query of the workload as it stands, repeated ones repeatedly (Laplace or Gaussian mechanism)."""
    return Design(workload.implicit(weighted=False), known=_OnAnswers())


class _OnAnswers:
    """The error is that of the mechanism, which answers with what it measured: the noise of each query.

    Least squares on the same rows, as every ``Strategy`` does them, are never worse.
    """

    def squared_error(self, workload: Workload) -> float:
        """Σ of the weights."""
        if workload.products is None:
            return math.fsum(workload.weights)
        return math.fsum(
            product.weight
            * math.prod(f.rows if f.row_weights is None else f.row_weights.sum() for f in product.factors)
            for product in workload.products
        )

    def variances(self, workload: Workload) -> Array:
        require_memory((workload.m,), "list of the queries' variances")
        return np.ones(workload.m)
