"""Strategies in factors of the attributes: Kronecker products, and unions of them.

A product has one strategy per attribute, and is never formed. A union has several products, each with a share
of the sensitivity.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from typing import Any

import numpy as np
import scipy.sparse.linalg

from mmopt.errors import OptionError, SolverError, UnsuitableError, WorkloadError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import EPS, Array, pinv, pseudo_factors
from mmopt.numerics.outward import times_up
from mmopt.strategies.protocol_and_dense_strategy import Strategy, StrategyForm
from mmopt.workloads import Attribute, Dense, Domain, Factor, Implicit, Kron, Product, Scaled, Stack, Workload
from mmopt.workloads.blocks.combined_blocks import kron


class FormByProducts(StrategyForm):
    """A form whose errors are computed by attribute for each product of a workload, not over the cells."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """Numbers of values, by attribute."""

    @property
    def n(self) -> int:
        return math.prod(self.sizes)

    @property
    def matrix(self) -> Array:
        """A, dense (p, n), computed at each call; TooLargeError beyond the memory limit."""
        require_memory((self.p, self.n), "strategy matrix")
        return self.implicit().matrix()

    @abstractmethod
    def product_variances(self, product: Product) -> Array:
        """(m,) the variances of a product's unweighted queries; infinity for one that is not supported."""

    def variances(self, workload: Workload) -> Array:
        require_memory((workload.m,), "list of the queries' variances")
        return np.concatenate([self.product_variances(p) for p in products_of(workload, self.sizes)])


class StrategyOfFew(FormByProducts):
    """A form over cells that are not listed, for queries of few attributes."""

    @abstractmethod
    def sums_from(self, noisy: Array) -> Mapping[Any, Array]:
        """The estimated sums over the rows of data of what is measured, from noisy answers (p,)."""

    @abstractmethod
    def product_answers(self, product: Product, sums: Mapping[Any, Array]) -> Array:
        """(m,) a product's answers from ``sums_from``; OptionError for a query that is not supported."""

    def answers_from(self, workload: Workload, noisy: Array) -> Array:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (p,), without the cells.

        Raises
        ------
        TooLargeError : more queries than fit in memory. OptionError : a query that is not supported.
        """
        require_memory((workload.m,), "estimates of the queries")
        sums = self.sums_from(np.asarray(noisy, dtype=np.float64))
        return np.concatenate([self.product_answers(p, sums) for p in products_of(workload, self.sizes)])


@dataclass(frozen=True, eq=False, repr=False)
class ProductStrategy(FormByProducts):
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
    def sizes(self) -> tuple[int, ...]:
        return tuple(factor.n for factor in self.factors)

    @property
    def largest_condition(self) -> float:
        """The largest growth of rounding errors of A in total error: the product of that of the factors."""
        return math.prod(factor.largest_condition for factor in self.factors)

    @property
    def profile(self) -> Array:
        """Squared length of each column (n,): products of those of the factors."""
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
        each = zip(products, self._sums_of_variances(products), strict=True)
        return math.fsum(product.weight * error for product, error in each)

    def errors(self, workload: Workload) -> Array:
        """Total unweighted error of each product, (products,), at unit noise per unit of sensitivity."""
        return self.sensitivity**2 * np.array(self._sums_of_variances(products_of(workload, self.sizes)))

    def product_variances(self, product: Product) -> Array:
        """Products of the factors' variances."""
        each = itertools.starmap(self._factor_variances, enumerate(product.factors))
        return np.asarray(kron([variances[None] for variances in each])[0])

    def implicit(self) -> Kron:
        return Kron([Dense(factor.matrix) for factor in self.factors])

    def estimate(self, noisy: Array) -> Array:
        """Least-squares estimate (n,) of the data vector from noisy answers (p,): (A₁⁺ ⊗ … ⊗ A_d⁺) y."""
        return Kron([Dense(pinv(f.matrix)) for f in self.factors]).apply(noisy)

    def _sums_of_variances(self, products: Sequence[Product]) -> list[float]:
        """The sum of the variances of each product's queries."""
        each = (itertools.starmap(self._factor_variances, enumerate(product.factors)) for product in products)
        return [math.prod(float(v.sum()) for v in variances) for variances in each]

    @cached_property
    def _factor_variances(self) -> Callable[[int, Factor], Array]:
        """Variances of a factor's queries under the strategy's factor, at unit noise; computed once."""
        factors = self.factors
        return cache(lambda i, factor: factors[i].variances(one_attribute([(factor, 1.0)])))

    def fields(self) -> dict[str, Any]:
        return {**UnionStrategy((self,), (1.0,)).fields(), "form": "product"}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> ProductStrategy:
        return UnionStrategy.from_fields(fields).parts[0]

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
    """The workload on one attribute of these factors with these weights."""
    domain = Domain((Attribute("cell", tuple(map(str, range(factors[0][0].size)))),))
    return Workload.from_products(domain, [Product((factor,), weight=weight) for factor, weight in factors])


LSMR_TOLERANCE = 1e-12  # of both of its tests, relative
LSMR_STEPS = 10_000  # at most
LSMR_SETTLED = (0, 1, 2, 4, 5)  # LSMR's reasons to stop that are not a failure


def least_squares(matrix: Implicit, noisy: Array, preconditioner: Implicit) -> Array:
    """x (n,) that minimises ‖A x - y‖ (of all such, P times the shortest), by LSMR (Fong & Saunders 2011).

    Parameters
    ----------
    matrix : A (p, n). noisy : y (p,).
    preconditioner : P (n, k), so that A P has singular values close together; x = P z is computed. Its range
        must contain a minimiser.

    Raises
    ------
    SolverError : not settled after so many steps.
    """
    result = scipy.sparse.linalg.lsmr(
        matrix.operator() @ preconditioner.operator(),
        np.asarray(noisy, dtype=float),
        atol=LSMR_TOLERANCE,
        btol=LSMR_TOLERANCE,
        conlim=0.0,
        maxiter=LSMR_STEPS,
    )
    if result[1] not in LSMR_SETTLED:
        raise SolverError(
            f"least squares over {matrix.shape[0]:,} × {matrix.shape[1]:,} did not settle in "
            f"{LSMR_STEPS:,} steps",
            hint="the strategy is nearly singular; another template may be better conditioned",
        )
    return preconditioner.apply(np.asarray(result[0], dtype=np.float64))


@dataclass(frozen=True, eq=False, repr=False)
class UnionStrategy(StrategyForm):
    """The rows θ_g A_g of all parts, measured with noise.

    A query is estimated by the mean of its estimates from the parts, with weights inverse to their variances:
    its variance is 1 / Σ (1 / v_g). Least squares over all rows are no worse: these are upper bounds.

    Parameters
    ----------
    parts : A_g, all over the same cells and of one norm. shares : θ_g > 0.

    Raises
    ------
    OptionError : lengths that do not fit, different norms or cells, or a share that is not positive.
    """

    parts: tuple[ProductStrategy, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", tuple(float(share) for share in self.shares))
        if not len(self.parts) == len(self.shares) > 0:
            raise OptionError(
                f"a union strategy of {len(self.parts)} parts has {len(self.shares)} shares, "
                "expected one each"
            )
        if len({(part.norm, *(f.n for f in part.factors)) for part in self.parts}) != 1:
            raise OptionError("the parts of a union strategy differ in norm or in the number of cells")
        if not all(0 < share < math.inf for share in self.shares):
            raise OptionError("the shares of a union strategy must be positive and finite")

    @property
    def norm(self) -> int:
        return self.parts[0].norm

    @property
    def p(self) -> int:
        return sum(part.p for part in self.parts)

    @property
    def n(self) -> int:
        return self.parts[0].n

    @property
    def largest_column(self) -> float:
        """Σ θ Δ, or √Σ (θ Δ)², rounded upwards; exact where the columns of each part are equally long."""
        lengths = np.array([s * part.sensitivity for s, part in zip(self.shares, self.parts, strict=True)])
        total = float(lengths.sum()) if self.norm == 1 else float(np.sqrt(np.square(lengths).sum()))
        return total * (1.0 + (len(lengths) + 3) * EPS)

    def divided(self, by: float) -> UnionStrategy:
        return UnionStrategy(self.parts, tuple(share / by for share in self.shares))

    def squared_error(self, workload: Workload) -> float:
        """The error of the means of the parts: their variances times the weights of the queries."""
        return float(workload.weights @ self.variances(workload))

    def variances(self, workload: Workload) -> Array:
        """Variances of the means of the parts; infinity for a query that no part supports."""
        each = zip(self.parts, self.shares, strict=True)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / sum(share**2 / part.variances(workload) for part, share in each))

    def implicit(self) -> Implicit:
        return Stack([Scaled(part.implicit(), s) for part, s in zip(self.parts, self.shares, strict=True)])

    def estimate(self, noisy: Array) -> Array:
        """Least-squares estimate (n,) of the data vector from noisy answers (p,); of several parts by LSMR.

        LSMR is preconditioned by the inverse root of a Kronecker product: of each attribute's Gram matrices,
        averaged over the parts.

        Raises
        ------
        SolverError : it does not settle.
        """
        if len(self.parts) == 1:
            return self.parts[0].estimate(noisy / self.shares[0])
        sizes = [share * part.sensitivity for share, part in zip(self.shares, self.parts, strict=True)]
        # Rows of length about one: LSMR squares numbers, and these are the smaller the larger the noise is.
        equal = self.divided(max(sizes))
        scaled = (
            [
                s * f.matrix / max(f.sensitivity, np.finfo(float).tiny)
                for s, f in zip(sizes, factors, strict=True)
            ]
            for factors in zip(*(part.factors for part in self.parts), strict=True)
        )
        roots = [Dense(pseudo_factors(np.vstack(each) / max(sizes))[0]) for each in scaled]
        return least_squares(equal.implicit(), noisy / max(sizes), Kron(roots))

    def fields(self) -> dict[str, Any]:
        factors = {
            str(g): {str(i): factor.matrix for i, factor in enumerate(part.factors)}
            for g, part in enumerate(self.parts)
        }
        return {"form": "union", "norm": self.norm, "shares": np.array(self.shares), "factors": factors}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> UnionStrategy:
        parts = (fields["factors"][str(g)] for g in range(len(fields["factors"])))
        return cls(
            tuple(
                ProductStrategy(tuple(Strategy(part[str(i)], fields["norm"]) for i in range(len(part))))
                for part in parts
            ),
            tuple(fields["shares"]),
        )

    def __repr__(self) -> str:
        return self._words(f"{len(self.parts)} products")
