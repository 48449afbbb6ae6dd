"""The best strategy that measures sets of attributes one by one, for queries of few of any number of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from mmopt.errors import OptionError
from mmopt.numerics.arrays import Array
from mmopt.sectors.residual.products_of_few import products_of_few
from mmopt.sectors.residual.residual_bases import best_residual_strategy
from mmopt.sectors.residual.residual_spaces import ResidualStrategy
from mmopt.sectors.residual.shared_designs import shared_designs
from mmopt.strategies import SectorwiseStrategy, normalise
from mmopt.workloads import Workload

__all__ = ["sectorwise"]

RANK = 1e-10
"""Eigenvalues below this part of the largest count as none."""


def sectorwise(
    workload: Workload,
    *,
    norm: int = 2,
    seed: int = 0,
    residual: Callable[[Workload], ResidualStrategy] = best_residual_strategy,
) -> SectorwiseStrategy:
    """The best found, scaled to sensitivity 1. Nothing is drawn: ``seed`` is for the table of templates.

    residual : the strategy whose bases it takes, from who knows it already.

    Raises
    ------
    OptionError : norm 1: short columns in the L2 norm are what it is best in.
    WorkloadError : queries given as a matrix. TooLargeError : queries of too many attributes.
    """
    if norm != 2:
        raise OptionError("sets of attributes are measured one by one with Gaussian noise (norm 2) only")
    found = shared_designs(products_of_few(workload), residual(workload).bases)
    rows = tuple(
        _rows(found.designs[i].strategy) if i in found.designs else np.zeros((0, size))
        for i, size in enumerate(workload.domain.shape)
    )
    shares = {one: share for one, share in found.shares.items() if all(len(rows[i]) for i in one)}
    return normalise(SectorwiseStrategy(rows, tuple(shares), np.sqrt(list(shares.values()))))


def _rows(strategy: Array) -> Array:
    """A (r, d) of full row rank with AᵀA = X."""
    values, vectors = scipy.linalg.eigh(strategy)
    kept = values > RANK * max(values[-1], 0.0)
    return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)
