"""A row of the catalogue of baselines, and the baselines without a design.

A row of the catalogue of baselines, and what such a row makes: rows to be measured, kept implicit.

The mechanisms without a design: noise on every cell, and noise on every answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from mmopt.limits import require_memory
from mmopt.numerics.arrays import Array
from mmopt.strategies import ProductStrategy, Strategy
from mmopt.workloads import Implicit, Kron, Workload
from mmopt.workloads.blocks.range_blocks import Identity


class Errors(Protocol):
    """What the rows tell of the queries at noise of unit variance, no sensitivity: any form of strategy."""

    def squared_error(self, workload: Workload) -> float:
        """‖W A⁺‖²_F, weighted; infinity where the rows do not determine the workload."""

    def variances(self, workload: Workload) -> Array:
        """One for each unweighted query (m,); infinity for one that the rows do not determine."""


@dataclass(frozen=True, eq=False)
class Design:
    """Rows to be measured for a workload.

    rows : A (p, n), unscaled. detail : what was chosen for this workload, in words; may be empty.
    known : their errors on this workload without a matrix; None where A has to be formed.
    """

    rows: Implicit
    detail: str = ""
    known: Errors | None = None

    @cached_property
    def errors(self) -> Errors:
        """On this workload; TooLargeError where A has to be formed and does not fit in memory."""
        return Strategy(self.rows.matrix()) if self.known is None else self.known


def by_attribute(workload: Workload, blocks: Sequence[Implicit], detail: str = "") -> Design:
    """A₁ ⊗ … ⊗ A_d; the error of a union of products is taken attribute by attribute (tr(⊗ Gᵢ) = Π tr Gᵢ)."""
    if len(blocks) == 1:
        return Design(blocks[0], detail)
    known = None
    if workload.products is not None:
        known = ProductStrategy(tuple(Strategy(block.matrix()) for block in blocks))
    return Design(Kron(blocks), detail, known)


@dataclass(frozen=True)
class Parameter:
    """name, kind (int or bool), default. least : the smallest value, for integers. about : in a few words."""

    name: str
    kind: type[int]
    default: int | None
    about: str
    least: int | None = None

    def __str__(self) -> str:
        return f"{self.name}={self.default}"


@dataclass(frozen=True)
class Baseline:
    """A way to choose what is measured, without optimisation.

    Parameters
    ----------
    name, title : as the command line takes it, and in words.
    source : paper and section.
    norms : of columns, 1 for Laplace and 2 for Gaussian noise, that its paper is about; it is built for both.
    build : workload, norm and parameters to a ``Design``. TooLargeError where it does not fit in memory.
    parameters : with their defaults.
    reason_against : why it does not apply to a workload, or None.
    shown : what is listed and compared by default, besides the name alone: calls with parameters.
    depends_on_norm : whether what it measures is another for Laplace than for Gaussian noise.
    """

    name: str
    title: str
    source: str
    norms: tuple[int, ...]
    build: Callable[..., Design]
    parameters: tuple[Parameter, ...] = ()
    reason_against: Callable[[Workload], str | None] = lambda workload: None
    shown: tuple[str, ...] = ()
    depends_on_norm: bool = False


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
