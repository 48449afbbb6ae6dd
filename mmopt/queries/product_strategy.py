"""A Kronecker product of strategies, one per attribute: kept as its factors, never as one matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.errors import OptionError
from mmopt.queries.arrays import Array, frozen, require_memory
from mmopt.queries.domain import Domain
from mmopt.queries.factor_base import Factor
from mmopt.queries.product import Product
from mmopt.queries.strategy import Strategy
from mmopt.queries.workload import Workload

__all__ = ["ProductStrategy"]


@dataclass(frozen=True, eq=False, repr=False)
class ProductStrategy:
    """A = A₁ ⊗ … ⊗ A_d with factors (pᵢ, nᵢ), measured with Laplace noise for norm 1, Gaussian for norm 2.

    Raises
    ------
    OptionError : no factor, or one that is no strategy.
    """

    matrices: tuple[Array, ...]
    norm: int = 1

    def __post_init__(self) -> None:
        if not self.matrices:
            raise OptionError("a product strategy needs at least one factor, found none")
        object.__setattr__(self, "matrices", tuple(f.matrix for f in self.factors))

    @cached_property
    def factors(self) -> tuple[Strategy, ...]:
        """The factors as strategies."""
        return tuple(Strategy(matrix, self.norm) for matrix in self.matrices)

    @property
    def p(self) -> int:
        """Number of measured queries."""
        return math.prod(f.p for f in self.factors)

    @property
    def n(self) -> int:
        """Number of cells."""
        return math.prod(f.n for f in self.factors)

    @property
    def matrix(self) -> Array:
        """A, dense (p, n), computed at each call; TooLargeError beyond the memory limit."""
        require_memory((self.p, self.n), "strategy matrix")
        whole: Array = np.ones((1, 1))
        for f in self.factors:
            whole = np.asarray(np.kron(whole, f.matrix))
        return frozen(whole)

    @property
    def sensitivity(self) -> float:
        """Largest column norm, rounded upwards: the product of the factors'."""
        found = 1.0
        for f in self.factors:
            found *= f.sensitivity
            found = found if found == 1.0 else math.nextafter(found, math.inf)
        return found

    def total_error(self, workload: Workload) -> float:
        """‖A‖² ‖W A⁺‖²_F with the weighted W: Σⱼ weightⱼ ∏ᵢ ‖Aᵢ‖² ‖Wᵢⱼ Aᵢ⁺‖²_F over its products.

        Infinity when a factor does not support what is asked of its attribute (``Strategy.total_error``).

        Raises
        ------
        OptionError : a workload that is no union of products, or over other attributes.
        """
        return float(
            sum(p.weight * e for p, e in zip(self._products(workload), self.errors(workload), strict=True))
        )

    def errors(self, workload: Workload) -> Array:
        """Total unweighted error of each product of the workload, (products,); else as ``total_error``."""
        found = np.ones(len(self._products(workload)))
        for at, f in enumerate(self.factors):
            known: dict[Factor, float] = {}
            for j, p in enumerate(self._products(workload)):
                factor = p.factors[at]
                if factor not in known:
                    alone = Workload.from_products(Domain.anonymous(factor.size), [Product((factor,))])
                    known[factor] = f.total_error(alone)
                found[j] *= known[factor]
        return found

    def rmse(self, workload: Workload) -> float:
        """√(total unweighted squared error / m) at unit noise per unit of sensitivity."""
        return math.sqrt(float(self.errors(workload).sum()) / workload.m)

    def _products(self, workload: Workload) -> tuple[Product, ...]:
        products = workload.products
        sizes = tuple(f.n for f in self.factors)
        if products is None or workload.domain.shape != sizes:
            asked = "a matrix" if products is None else f"over {workload.domain.shape} values"
            raise OptionError(f"the strategy is a product over {sizes} values, the workload is {asked}")
        return products

    def __repr__(self) -> str:
        sizes = " ⊗ ".join(f"{f.p} × {f.n}" for f in self.factors)
        return f"ProductStrategy({sizes}, norm {self.norm}, sensitivity {self.sensitivity:.6g})"
