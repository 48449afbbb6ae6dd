"""A strategy that is a Kronecker product of one strategy per attribute; the product is never formed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from mmopt.errors import OptionError, UnsuitableError, WorkloadError
from mmopt.numerics.arrays import Array, require_memory
from mmopt.numerics.outward import times_up
from mmopt.numerics.pseudoinverse import pinv
from mmopt.strategies.dense_strategy import Strategy
from mmopt.strategies.strategy_form import StrategyForm
from mmopt.workloads import Attribute, Dense, Domain, Factor, Kron, Product, Workload
from mmopt.workloads.blocks.kronecker_products import kron

__all__ = ["ProductStrategy", "one_attribute", "products_of"]


@dataclass(frozen=True, eq=False, repr=False)
class ProductStrategy(StrategyForm):
    """A = A₁ ⊗ … ⊗ A_d, measured as A x + noise. Immutable.

    Parameters
    ----------
    factors : Aᵢ (pᵢ, nᵢ), one per attribute of the domain, in its order; all of one norm.

    Raises
    ------
    OptionError : no factor, or factors of different norms.
    """

    factors: tuple[Strategy, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", tuple(self.factors))
        norms = sorted({factor.norm for factor in self.factors})
        if len(norms) != 1:
            raise OptionError(f"the factors of a product strategy have the norms {norms}, expected one norm")

    @property
    def norm(self) -> int:
        return self.factors[0].norm

    @property
    def p(self) -> int:
        return math.prod(factor.p for factor in self.factors)

    @property
    def n(self) -> int:
        return math.prod(self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of cells, by attribute."""
        return tuple(factor.n for factor in self.factors)

    @property
    def matrix(self) -> Array:
        """A, dense (p, n), computed at each call; TooLargeError beyond the memory limit."""
        require_memory((self.p, self.n), "strategy matrix")
        return self.implicit().matrix()

    @property
    def largest_condition(self) -> float:
        """How rounding errors of A grow in total error, at the most: the product of the factors'."""
        return math.prod(factor.largest_condition for factor in self.factors)

    def condition(self, workload: Workload) -> float:
        """As ``largest_condition``, whatever the workload."""
        return self.largest_condition

    @property
    def profile(self) -> Array:
        """Squared length of each column (n,): products of the factors'."""
        require_memory((self.n,), "list of what the cells cost")
        return kron([np.asarray(factor.profile) for factor in self.factors])

    @property
    def largest_column(self) -> float:
        """The product of the factors' sensitivities, rounded upwards: a column is a product of columns."""
        return reduce(lambda a, b: float(times_up(a, b)), [f.sensitivity for f in self.factors])

    def divided(self, by: float) -> ProductStrategy:
        return ProductStrategy((self.factors[0].divided(by), *self.factors[1:]))

    def squared_error(self, workload: Workload) -> float:
        """Σⱼ wⱼ Πᵢ tr(Gᵢⱼ (AᵢᵀAᵢ)⁺)."""
        products = products_of(workload.weighed, self.sizes)
        return math.fsum(p.weight * error for p, error in zip(products, self._each(products), strict=True))

    def errors(self, workload: Workload) -> Array:
        """Total unweighted error of each product, (products,), at unit noise per unit of sensitivity."""
        return self.sensitivity**2 * np.array(self._each(products_of(workload, self.sizes)))

    def variances(self, workload: Workload) -> Array:
        """Products of the factors' variances."""
        require_memory((workload.m,), "list of the queries' variances")
        rows = [[own[None] for own in self._told(product)] for product in products_of(workload, self.sizes)]
        return np.concatenate([kron(own)[0] for own in rows])

    def implicit(self) -> Kron:
        return Kron([Dense(factor.matrix) for factor in self.factors])

    def estimate(self, noisy: Array) -> Array:
        """Least-squares estimate (n,) of the data vector from noisy answers (p,): (A₁⁺ ⊗ … ⊗ A_d⁺) y."""
        return Kron([Dense(pinv(f.matrix)) for f in self.factors]).apply(noisy)

    def _each(self, products: Sequence[Product]) -> list[float]:
        """The sum of the variances of each product's queries."""
        return [math.prod(float(v.sum()) for v in self._told(product)) for product in products]

    def _told(self, product: Product) -> list[Array]:
        """Variances of the queries of each factor under the strategy's factor, at unit noise."""
        for i, factor in enumerate(product.factors):
            if (i, factor) not in self._known:
                self._known[i, factor] = self.factors[i].variances(one_attribute([(factor, 1.0)]))
        return [self._known[place] for place in enumerate(product.factors)]

    @cached_property
    def _known(self) -> dict[tuple[int, Factor], Array]:
        return {}

    def fields(self) -> dict[str, Any]:
        factors = {"0": self.matrices()}  # as a union of one
        return {"form": "product", "norm": self.norm, "shares": np.ones(1), "factors": factors}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> ProductStrategy:
        return cls.of_matrices(fields["factors"]["0"], fields["norm"])

    def matrices(self) -> dict[str, Array]:
        """The factors by their number."""
        return {str(i): factor.matrix for i, factor in enumerate(self.factors)}

    @staticmethod
    def of_matrices(matrices: Mapping[str, Array], norm: int) -> ProductStrategy:
        """The product whose ``matrices`` these are."""
        return ProductStrategy(tuple(Strategy(matrices[str(i)], norm) for i in range(len(matrices))))

    def __repr__(self) -> str:
        return self._words(" ⊗ ".join(f"{f.p} × {f.n}" for f in self.factors))


def products_of(workload: Workload, sizes: tuple[int, ...] | None = None) -> tuple[Product, ...]:
    """The products of a workload; UnsuitableError for one from a matrix, WorkloadError for other sizes."""
    if workload.products is None:
        raise UnsuitableError(
            "the workload is a matrix, and strategies by attribute need a union of products",
            hint="write it as products over attributes, or solve it over all cells",
        )
    if sizes not in (None, workload.domain.shape):
        raise WorkloadError(f"the strategy has cells {sizes}, the workload {workload.domain.shape}")
    return workload.products


def one_attribute(factors: Sequence[tuple[Factor, float]]) -> Workload:
    """The workload on one attribute that asks these factors with these weights."""
    domain = Domain((Attribute("cell", tuple(map(str, range(factors[0][0].size)))),))
    return Workload.from_products(domain, [Product((factor,), weight=weight) for factor, weight in factors])
