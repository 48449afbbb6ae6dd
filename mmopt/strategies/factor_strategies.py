"""Strategies in factors of the attributes: Kronecker products, unions of them, and weighted marginals.

A product has one strategy per attribute, and is never formed. A union has several products, each with a share
of the sensitivity.

**Weighted marginals** come with sums over sets of attributes. There is one number for each set of attributes,
and nothing of the size of the cells.

The marginal over the attributes S, times θ_S, has the Gram matrix θ_S² ⊗ᵢ (I if i ∈ S, else J). On the
subspace T, where attributes of T have mean zero and the others are constant, AᵀA is the number
λ_T = Σ_{S ⊇ T} θ_S² Π_{i ∉ S} nᵢ (slides on HDMM, OPT_M; McKenna et al., PVLDB 2018, section 6.3).
Sets of attributes are bit masks here: bit i is attribute i.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from typing import Any

import numpy as np
import scipy.sparse.linalg

from mmopt.errors import OptionError, SolverError, UnsuitableError, WorkloadError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import EPS, Array, check_norm, owned, pinv, pseudo_factors, times_up
from mmopt.strategies.protocol_and_dense_strategy import Strategy, StrategyForm
from mmopt.workloads import (
    Attribute,
    Dense,
    Domain,
    Factor,
    Implicit,
    Kron,
    Product,
    Scaled,
    Stack,
    Workload,
    answers_of_product,
    identity,
    kron,
    total,
)


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


CANCELLED_SHARE = 1e-6  # of the squared length of a query: a smaller difference has too few digits left


@dataclass(frozen=True, eq=False, repr=False)
class MarginalStrategy(StrategyForm):
    """All marginals S with a weight θ_S > 0, measured as θ_S times their counts, plus noise. Immutable.

    Parameters
    ----------
    sizes : of the attributes. weights : θ (2^d,), nonnegative, by bit mask. norm : 1 or 2.

    Raises
    ------
    OptionError : weights of another length, negative, or all zero; another norm.
    """

    sizes: tuple[int, ...]
    weights: Array
    norm: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))
        object.__setattr__(self, "weights", owned(self.weights))
        check_norm(self.norm, "the strategy's norm")
        if self.weights.shape != (2 ** len(self.sizes),):
            raise OptionError(
                f"the weights have shape {self.weights.shape}, expected one for each of the "
                f"{2 ** len(self.sizes)} sets of {len(self.sizes)} attributes"
            )
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all() and self.weights.any()):
            raise OptionError("the weights of marginals must be finite, nonnegative, and not all zero")

    @property
    def p(self) -> int:
        cells = np.prod(self.sizes, dtype=object) / volumes(self.sizes, object)
        return int(cells[self.weights > 0].sum())

    @property
    def n(self) -> int:
        return int(np.prod(self.sizes, dtype=object))

    @property
    def largest_column(self) -> float:
        """Σ θ or √Σ θ², rounded upwards: a row is counted once in every marginal."""
        exact = self.weights.sum() if self.norm == 1 else np.sqrt(np.square(self.weights).sum())
        return float(exact * (1.0 + (len(self.weights) + 3) * EPS))

    @property
    def eigenvalues(self) -> Array:
        """λ (2^d,): AᵀA on the subspace of each set of attributes."""
        return supersets(np.square(self.weights) * volumes(self.sizes), len(self.sizes))

    def divided(self, by: float) -> MarginalStrategy:
        return MarginalStrategy(self.sizes, self.weights / by, self.norm)

    def squared_error(self, workload: Workload) -> float:
        """Σ energy / λ over the sets with energy; infinity where one of them is not measured."""
        energy = energies(workload, self.sizes)
        needed = energy > 0
        with np.errstate(divide="ignore"):
            return float((energy[needed] / self.eigenvalues[needed]).sum())

    def variances(self, workload: Workload) -> Array:
        require_memory((workload.m,), "list of the queries' variances")
        with np.errstate(divide="ignore"):
            inverse = 1.0 / self.eigenvalues
        out = []
        for product in products_of(workload, self.sizes):
            parts = [_split(factor) for factor in product.factors]
            varying = [i for i, (_, rest) in enumerate(parts) if (rest > 0).any()]
            sums: Array = np.zeros(product.m)
            for mask in subsets_of(_mask(varying)):  # on all other subspaces every query is exactly zero
                # The last attribute varies fastest in a product's queries.
                seen = kron([part[mask >> i & 1][None] for i, part in enumerate(parts)])[0]
                sums += np.where(seen > 0, inverse[mask], 0.0) * np.where(seen > 0, seen, 0.0)
            out.append(sums)
        return np.concatenate(out)

    def implicit(self) -> Implicit:
        """All rows (p, n), never formed: the marginals in the order of their bit masks."""
        return Stack(
            [
                Scaled(
                    Kron([(identity if mask >> i & 1 else total)(n) for i, n in enumerate(self.sizes)]),
                    float(self.weights[mask]),
                )
                for mask in np.flatnonzero(self.weights > 0).tolist()
            ]
        )

    def estimate(self, noisy: Array) -> Array:
        """Least-squares estimate (n,) of the data vector from noisy answers (p,), in closed form.

        On each subspace T it is the mean of the estimates from the marginals S ⊇ T, weighted by their shares
        θ_S² Π_{i ∉ S} nᵢ of λ_T. No weights are subtracted: a difference would lose all digits where
        those of two marginals are far apart.

        Raises
        ------
        TooLargeError : as many numbers as cells do not fit in memory.
        """
        require_memory((self.n,), "estimate of the data vector")
        estimate = np.zeros(self.sizes)
        cells_of_a_count = volumes(self.sizes)
        for space, mean in self._means(noisy, np.flatnonzero(self.eigenvalues > 0).tolist()).items():
            shape = [n if space >> i & 1 else 1 for i, n in enumerate(self.sizes)]
            estimate += mean.reshape(shape) / cells_of_a_count[space]
        return estimate.ravel()

    def answers_from(self, workload: Workload, noisy: Array) -> Array:
        """The queries of ``estimate`` (m,), from subspaces alone: never as many numbers as cells.

        A table over the attributes U has parts on the subspaces T ⊆ U alone, each spread evenly over the
        cells of U that are equal in T.

        Raises
        ------
        UnsuitableError : a workload from a matrix. WorkloadError : one over other cells.
        """
        products = products_of(workload, self.sizes)
        inside = {mask: subsets_of(mask) for mask in {_mask(p.looked_at) for p in products}}
        means = self._means(noisy, sorted(set().union(*inside.values())))

        def table(attributes: tuple[int, ...]) -> Array:
            total = np.zeros([self.sizes[i] for i in attributes])
            for space in inside[_mask(attributes)]:
                if (mean := means.get(space)) is not None:
                    shape = [self.sizes[i] if space >> i & 1 else 1 for i in attributes]
                    total += mean.reshape(shape) / (total.size // mean.size)
            return total

        return np.concatenate([answers_of_product(product, table) for product in products])

    def _means(self, noisy: Array, spaces: Sequence[int]) -> dict[int, Array]:
        """Estimates by the marginals of the sums of the data vector over all but each subspace's attributes.

        (sizes of T,), the part of mean zero in each attribute; none where no marginal has them.
        """
        cells_of_a_count = volumes(self.sizes)
        sets = np.flatnonzero(self.weights > 0).tolist()
        shapes = [[self.sizes[i] for i in attributes_of(mask)] for mask in sets]
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        tables = {
            mask: part.reshape(shape) / self.weights[mask]
            for mask, shape, part in zip(sets, shapes, np.split(np.asarray(noisy, float), ends), strict=True)
        }
        means: dict[int, Array] = {}
        for space in spaces:
            above = [mask for mask in sets if mask & space == space]
            if not above:
                continue
            shares = np.square(self.weights[above] / self.weights[above].max()) * cells_of_a_count[above]
            shares /= shares.sum()
            mean: Array = np.zeros([self.sizes[i] for i in attributes_of(space)])
            for share, mask in zip(shares, above, strict=True):
                others = (at for at, i in enumerate(attributes_of(mask)) if not space >> i & 1)
                mean = mean + share * tables[mask].sum(axis=tuple(others))
            for axis in range(mean.ndim):
                mean = mean - mean.mean(axis=axis, keepdims=True)
            means[space] = mean
        return means

    def fields(self) -> dict[str, Any]:
        return {"form": "marginals", **super().fields(), "sizes": np.array(self.sizes, dtype=np.int64)}

    def __repr__(self) -> str:
        return self._words(f"{int((self.weights > 0).sum())} marginals")


def attributes_of(mask: int) -> tuple[int, ...]:
    """The attributes of a set, ascending."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def _mask(attributes: Iterable[int]) -> int:
    """The bit mask of a set of attributes."""
    return sum(1 << i for i in attributes)


def subsets_of(mask: int) -> list[int]:
    """Every set inside a set, itself and the empty one among them, ascending."""
    masks = [0]
    for i in attributes_of(mask):
        masks += [smaller | 1 << i for smaller in masks]
    return masks


def volumes(sizes: Sequence[int], dtype: type = float) -> Array:
    """Π_{i ∉ S} nᵢ for each set S, (2^d,): the number of cells in one count of the marginal."""
    out: Array = np.ones(1, dtype=dtype)
    for size in sizes:
        out = np.concatenate([out * size, out])
    return out


def supersets(values: Array, d: int) -> Array:
    """Σ_{S ⊇ T} values_S for each set T, (2^d,)."""
    return _swept(values, d, lambda without, having: (without + having, having))


def subsets(values: Array, d: int) -> Array:
    """Σ_{S ⊆ T} values_S for each set T, (2^d,): the transpose of ``supersets``."""
    return _swept(values, d, lambda without, having: (without, without + having))


def _swept(values: Array, d: int, step: Callable[[Array, Array], tuple[Array, Array]]) -> Array:
    """Apply ``step`` for each attribute in turn, to the sets without it and those that have it."""
    out = np.array(values, dtype=float)
    for i in range(d):
        halves = out.reshape(-1, 2, 2**i)
        halves[:, 0], halves[:, 1] = step(halves[:, 0], halves[:, 1])
    return out


def energies(workload: Workload, sizes: tuple[int, ...] | None = None) -> Array:
    """tr(G Π_T), (2^d,): the share of the workload's Gram matrix on the subspace of each set."""
    total = np.zeros(2 ** len(workload.domain.shape))
    for product in products_of(workload.weighed, sizes):
        energy = np.ones(1)
        for factor in product.factors:
            constant, rest = (float(part.sum()) for part in _split(factor))
            energy = np.concatenate([energy * constant, energy * rest])
        total += product.weight * energy
    return total


def _split(factor: Factor) -> tuple[Array, Array]:
    """Squared length of each query's constant part, and of the rest of mean zero; exactly 0 where it is."""
    sums, norms = factor.apply(np.ones(factor.size)), factor.squared_norms()
    constant = np.square(sums) / factor.size
    rest = np.maximum(norms - constant, 0.0)
    near = np.flatnonzero(rest <= CANCELLED_SHARE * norms)  # where the difference has lost its digits
    if len(near):
        rows = factor.take(near)
        off = rows - rows[:, :1]  # exactly zero where the row is constant
        rest[near] = np.square(off - off.mean(axis=1, keepdims=True)).sum(axis=1)
    return constant, rest
