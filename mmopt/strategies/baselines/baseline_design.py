"""Baselines and their designs, and the two simplest: noise on every cell, and noise on every answer.

A design is the rows to be measured, kept implicit.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from mmopt.limits import require_memory
from mmopt.numerics.arrays import Array
from mmopt.strategies import Strategy
from mmopt.workloads import Implicit, Kron, Workload
from mmopt.workloads.blocks.range_blocks import Identity


class Errors(Protocol):
    """Errors of the queries at noise of unit variance, no sensitivity: any form of strategy has them."""

    def squared_error(self, workload: Workload) -> float:
        """‖W A⁺‖²_F, weighted; infinity where the rows do not determine the workload."""

    def variances(self, workload: Workload) -> Array:
        """The variance of each unweighted query (m,); infinity for one that the rows do not determine."""


@dataclass(frozen=True, eq=False)
class BaselineDesign:
    """Rows to be measured for a workload.

    rows : A (p, n), unscaled. detail : the choices for this workload, in words; may be empty.
    closed_form : their errors on this workload without a matrix; None where A has to be formed.
    """

    rows: Implicit
    detail: str = ""
    closed_form: Errors | None = None

    @cached_property
    def errors(self) -> Errors:
        """Errors on this workload; TooLargeError where A has to be formed and does not fit in memory."""
        return Strategy(self.rows.matrix()) if self.closed_form is None else self.closed_form


@dataclass(frozen=True)
class Parameter:
    """A parameter: name, kind (int or bool), default; least : of integers; about : in a few words."""

    name: str
    kind: type[int]
    default: int | None
    about: str
    least: int | None = None

    def __str__(self) -> str:
        return f"{self.name}={self.default}"


@dataclass(frozen=True)
class Baseline:
    """A way to choose a strategy, without optimisation.

    Parameters
    ----------
    name, title : for the command line, and in words.
    source : paper and section.
    norms : of columns, 1 for Laplace and 2 for Gaussian noise, in its paper; it is built for both.
    build : workload, norm and parameters to a ``BaselineDesign``. TooLargeError where memory is short.
    parameters : with their defaults.
    reason_against : why it does not apply to a workload, or None.
    shown : calls with parameters that are listed and compared by default, in addition to the name alone.
    depends_on_norm : whether its rows differ between Laplace and Gaussian noise.
    """

    name: str
    title: str
    source: str
    norms: tuple[int, ...]
    build: Callable[..., BaselineDesign]
    parameters: tuple[Parameter, ...] = ()
    reason_against: Callable[[Workload], str | None] = lambda workload: None
    shown: tuple[str, ...] = ()
    depends_on_norm: bool = False


def cells(workload: Workload, norm: int) -> BaselineDesign:
    """Every cell by itself (input perturbation; Dwork, McSherry, Nissim, Smith: TCC 2006)."""
    blocks = [Identity(size) for size in workload.domain.shape]
    return BaselineDesign(blocks[0] if len(blocks) == 1 else Kron(blocks), closed_form=OrthonormalRows())


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


def answers(workload: Workload, norm: int) -> BaselineDesign:
    """Every query of the workload unchanged, repeated ones repeatedly (Laplace or Gaussian mechanism)."""
    return BaselineDesign(workload.implicit(weighted=False), closed_form=_OnAnswers())


class _OnAnswers:
    """Errors of the mechanism that answers with its measurements: the noise of each query.

    Least squares on the same rows, as in every ``Strategy``, are never worse.
    """

    def squared_error(self, workload: Workload) -> float:
        """The sum of the weights."""
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
