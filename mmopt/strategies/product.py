"""A strategy that is a Kronecker product of one strategy per attribute; the product is never formed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from mmopt.errors import OptionError, UnsuitableError, WorkloadError
from mmopt.numerics.arrays import Array, require_memory
from mmopt.strategies.dense import Strategy
from mmopt.workloads.blocks.factor import Factor
from mmopt.workloads.blocks.kron import Kron, kron
from mmopt.workloads.blocks.matrices import Dense
from mmopt.workloads.domain import Attribute, Domain
from mmopt.workloads.product import Product
from mmopt.workloads.workload import Workload

__all__ = ["ProductStrategy", "one_attribute", "products_of"]


@dataclass(frozen=True, eq=False, repr=False)
class ProductStrategy:
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
        """1 (Laplace) or 2 (Gaussian)."""
        return self.factors[0].norm

    @property
    def p(self) -> int:
        """Number of measured queries."""
        return math.prod(factor.p for factor in self.factors)

    @property
    def n(self) -> int:
        """Number of cells."""
        return math.prod(factor.n for factor in self.factors)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of cells, by attribute."""
        return tuple(factor.n for factor in self.factors)

    @property
    def sensitivity(self) -> float:
        """The product of the factors' sensitivities, rounded upwards: a column is a product of columns."""
        return reduce(lambda a, b: float(np.nextafter(a * b, np.inf)), [f.sensitivity for f in self.factors])

    def total_error(self, workload: Workload) -> float:
        """Total squared error, weighted, at unit noise per unit of sensitivity; infinity if not supported.

        Σⱼ wⱼ Πᵢ tr(Gᵢⱼ (AᵢᵀAᵢ)⁺), times the squared sensitivity.
        """
        products = products_of(workload.weighed, self.sizes)
        sums = [p.weight * math.prod(float(v.sum()) for v in self._told(p)) for p in products]
        return self.sensitivity**2 * math.fsum(sums)

    def errors(self, workload: Workload) -> Array:
        """Total unweighted error of each product, (products,), at unit noise per unit of sensitivity."""
        each = [math.prod(float(v.sum()) for v in self._told(p)) for p in products_of(workload, self.sizes)]
        return self.sensitivity**2 * np.array(each)

    def mean_variance(self, workload: Workload) -> float:
        """The mean of ``variances``."""
        sums = [math.prod(float(v.sum()) for v in self._told(p)) for p in products_of(workload, self.sizes)]
        return math.fsum(sums) / workload.m

    def variances(self, workload: Workload) -> Array:
        """Variance of each unweighted query's estimate at unit noise on A x (no sensitivity), (m,).

        Products of the factors' variances. Infinity for a query that A does not support.
        """
        require_memory((workload.m,), "list of the queries' variances")
        rows = [[own[None] for own in self._told(product)] for product in products_of(workload, self.sizes)]
        return np.concatenate([kron(own)[0] for own in rows])

    def supports(self, workload: Workload) -> bool:
        """Whether every query is a combination of the measured ones."""
        return all(
            np.isfinite(v).all() for product in products_of(workload, self.sizes) for v in self._told(product)
        )

    def implicit(self) -> Kron:
        """A (p, n), never formed."""
        return Kron([Dense(factor.matrix) for factor in self.factors])

    def estimate(self, noisy: Array) -> Array:
        """Least-squares estimate (n,) of the data vector from noisy answers (p,): (A₁⁺ ⊗ … ⊗ A_d⁺) y."""
        return Kron([Dense(np.asarray(np.linalg.pinv(f.matrix))) for f in self.factors]).apply(noisy)

    def _told(self, product: Product) -> list[Array]:
        """Variances of the queries of each factor under the strategy's factor, at unit noise."""
        return [self._variances(place) for place in enumerate(product.factors)]

    def _variances(self, place: tuple[int, Factor]) -> Array:
        if place not in self._known:
            i, factor = place
            self._known[place] = self.factors[i].variances(one_attribute([(factor, 1.0)]))
        return self._known[place]

    @cached_property
    def _known(self) -> dict[tuple[int, Factor], Array]:
        return {}

    def __repr__(self) -> str:
        shapes = " ⊗ ".join(f"{f.p} × {f.n}" for f in self.factors)
        return f"ProductStrategy({shapes}, norm {self.norm}, sensitivity {self.sensitivity:g})"


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
    size = factors[0][0].size
    domain = Domain((Attribute("cell", tuple(str(i) for i in range(size))),))
    return Workload.from_products(domain, [Product((factor,), weight=weight) for factor, weight in factors])
