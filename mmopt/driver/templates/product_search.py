"""One product of strategies for a union of products, and its lower bound.

A union of products is given by the Gram matrices of each attribute, and by the one that each product has
(``UnionTerms``). The strategy of an attribute is a p-identity for Laplace noise, any rows for Gaussian noise.

For A = A₁ ⊗ … ⊗ A_d the total error at sensitivity 1 is Σⱼ wⱼ ∏ᵢ tr(Gᵢⱼ (AᵢᵀAᵢ)⁻¹), and the sensitivity is
the product of the factors'. With all factors but one fixed it is tr(G (AᵢᵀAᵢ)⁻¹) for one Gram matrix G, the
sum of the Gᵢⱼ with the others' errors as weights: the problem of a single attribute (McKenna, Miklau, Hay,
Machanavajjhala: PVLDB 2018, OPT⊗). The factors take turns until none gets better. For Gaussian noise the
problem of one attribute is convex.

The lower bound on total error is from multipliers that are products, too.

Theorem. For p >= 0 with Σ p = 1, every strategy of sensitivity 1 (L2, and so L1) has total error at least
‖W diag(√p)‖²_* (the certificate of ``l2_strategy``), and ‖K‖_* >= tr(MᵀK) whenever MᵀM ⪯ I.
Let p = p₁ ⊗ … ⊗ p_d, Kᵢⱼ = Fᵢⱼ diag(√pᵢ), and let vᵢ = √pᵢ, the direction of the total. Where every
UᵢⱼᵀUᵢⱼ (Uᵢⱼ Sᵢⱼ = Kᵢⱼ the polar form) commutes with vᵢvᵢᵀ, attribute i splits into vᵢ and its complement;
the subspaces that choose one of the two for each such attribute are orthogonal, and
M = Σ_s (μ_sj ⊗ᵢ Uᵢⱼ Π_si)ⱼ with Σⱼ μ²_sj = 1 has MᵀM ⪯ I. The best μ give

    ‖W diag(√p)‖_* >= Σ_s √(Σⱼ wⱼ Πᵢ tr(Sᵢⱼ Π_si)²).

Products that differ in one attribute only count as one there: their Gram matrices add up.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from mmopt.errors import OptionError, TooLargeError
from mmopt.limits import time_left
from mmopt.numerics.arrays import EPS, Array, Ints, svd
from mmopt.numerics.outward import check_norm
from mmopt.numerics.pseudoinverse import pseudo_factors
from mmopt.solvers import Clock, Options, nuclear
from mmopt.solvers.p_identity import StartRows, search
from mmopt.strategies import Strategy
from mmopt.strategies.factor_strategies import ProductStrategy, one_attribute, products_of
from mmopt.workloads import Factor, Workload
from mmopt.workloads.blocks.implicit_matrix import refine


@dataclass(frozen=True, eq=False)
class Side:
    """One attribute, its values merged where no product tells them apart.

    classes : (size,) the merged value of each value; -1 for a value that is in no query.
    grams : the Gram matrices, each (r, r) over the r merged values.
    queries : the distinct rows, (q, r).
    used : (products,) the number of the Gram matrix of each product.
    """

    classes: Ints
    grams: tuple[Array, ...]
    queries: Array
    used: Ints

    @staticmethod
    def of(factors: Sequence[Factor]) -> Side:
        """The side of an attribute, from the factors that all products have on it."""
        different = list(dict.fromkeys(factors))
        classes = refine([factor.classes() for factor in different])
        first = np.array([int(np.argmax(classes == c)) for c in range(int(classes.max()) + 1)])
        grams = tuple(factor.gram()[np.ix_(first, first)] for factor in different)
        rows = [factor.root()[:, first] for factor in different]
        places = {factor: i for i, factor in enumerate(different)}
        used = np.array([places[factor] for factor in factors])
        return Side(classes, grams, np.unique(np.vstack(rows), axis=0), used)

    @property
    def size(self) -> int:
        """The number of merged values."""
        return len(self.grams[0])

    def gram(self, weights: Array) -> Array:
        """Σ weightⱼ Gⱼ over the products, (r, r)."""
        shares = np.bincount(self.used, weights, minlength=len(self.grams))
        return np.asarray(np.tensordot(shares, np.array(self.grams), axes=1))

    def spread(self, rows: Array) -> Array:
        """Rows (k, r) over the merged values as rows (k, size) over all; zero for a value in no query."""
        return np.asarray(np.where(self.classes >= 0, rows[:, self.classes], 0.0))


@dataclass(frozen=True, eq=False)
class UnionTerms:
    """All attributes, and the weight of each product."""

    sides: tuple[Side, ...]
    weights: Array

    @staticmethod
    def of(workload: Workload) -> UnionTerms:
        """The terms of a workload.

        Raises
        ------
        UnsuitableError : a workload that is no union of products.
        """
        products = products_of(workload.weighed)
        sides = [Side.of(factors) for factors in zip(*(p.factors for p in products), strict=True)]
        return UnionTerms(tuple(sides), np.array([p.weight for p in products]))

    def surrogate(self, errors: Sequence[Array], at: int) -> Array:
        """The Gram matrix that attribute ``at`` faces while the errors of the others stay.

        errors : for each attribute tr(Gⱼ (AᵀA)⁻¹) of every product, (products,).
        """
        others = [e for i, e in enumerate(errors) if i != at]
        return self.sides[at].gram(self.weights * np.prod(others, axis=0))


GAP = 1e-7  # of the convex problem of one attribute


@dataclass(frozen=True)
class AttributeStrategy(ABC):
    """A strategy over the merged values of an attribute, of sensitivity 1."""

    @classmethod
    @abstractmethod
    def first(cls, side: Side) -> AttributeStrategy:
        """The strategy that measures each value."""

    @abstractmethod
    def matrix(self) -> Array:
        """The rows (p, r)."""

    @abstractmethod
    def improved(self, side: Side, gram: Array, count: int, seed: int) -> AttributeStrategy:
        """A better strategy for the Gram matrix (r, r); by ``count`` starts where that is not convex."""

    def errors(self, side: Side) -> Array:
        """tr(G (AᵀA)⁻¹) for every product, (products,)."""
        inverse, _ = pseudo_factors(self.matrix())
        each = [float(np.sum((gram @ inverse) * inverse)) for gram in side.grams]
        return np.array(each)[side.used]


@dataclass(frozen=True)
class Identities(AttributeStrategy):
    """Θ (k, r) below the identity, each column divided by its sum."""

    theta: Array

    @classmethod
    def first(cls, side: Side) -> Identities:
        return cls(np.zeros((1, side.size)))

    def matrix(self) -> Array:
        """The rows, without those of zeros."""
        used = self.theta[self.theta.any(axis=1)]
        whole = np.vstack([np.eye(self.theta.shape[1]), used])
        return np.asarray(whole / whole.sum(axis=0))

    def improved(self, side: Side, gram: Array, count: int, seed: int) -> Identities:
        """A better p-identity; the first start is this one."""
        most = max(1, side.size // 2, len(self.theta))
        first = (StartRows("known", self.theta),)
        *_, best = search(gram, most, queries=side.queries, count=count, seed=seed, first=first)
        return Identities(best.rows)


@dataclass(frozen=True)
class AnyRows(AttributeStrategy):
    """Any rows whose columns have L2 norm 1 at most."""

    rows: Array

    @classmethod
    def first(cls, side: Side) -> AnyRows:
        return cls(np.eye(side.size))

    def matrix(self) -> Array:
        return self.rows

    def improved(self, side: Side, gram: Array, count: int, seed: int) -> AnyRows:
        """The optimum of ``l2_strategy``, scaled and completed to columns of norm 1."""
        with Clock(math.inf) as clock:
            points = nuclear.points("l2_strategy", {"W": _root(gram)}, Options(tolerance=GAP), clock)
            x = next(np.asarray(point.variables["X"]) for point in points if point.variables)
        x = x / np.diag(x).max()
        x[np.diag_indices(len(x))] = 1.0
        return AnyRows(_root(x))


def _root(gram: Array) -> Array:
    """Rows (k, r) with this Gram matrix, without directions that are rounding."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 8 * len(gram) * EPS * values[-1]
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)


STARTS = 5
FEW_FACTORS = 2**11  # factors of all products of the workload, up to which there are several starts
MOST_FACTORS = 2**14  # factors up to which there is one start, of some ten seconds
SETTLED = 1e-5  # a round that improves the error by less is the last


@dataclass(frozen=True)
class Effort:
    """Starts of an attribute's search, at first and once nothing gets better, in later rounds, and rounds."""

    starts: int = 4
    later: int = 1
    rounds: int = 30


THOROUGH = Effort()
KINDS: Mapping[int, type[AttributeStrategy]] = MappingProxyType({1: Identities, 2: AnyRows})


def product(
    workload: Workload,
    *,
    norm: int = 1,
    starts: int | None = None,
    seed: int = 0,
    time_limit: float = np.inf,
    effort: Effort = THOROUGH,
) -> ProductStrategy:
    """The best product of strategies found, of sensitivity at most 1, for total error.

    Parameters
    ----------
    workload : a union of products.
    norm : 1 for Laplace noise: the factors are p-identities. 2 for Gaussian noise: any strategies.
    starts : the number of starts; the best end is kept. By default 5, and 1 where products over many
        attributes have more than ``FEW_FACTORS`` factors together.
    seed : of the random numbers.
    time_limit : seconds after which no factor is improved; ``limits.deadline`` bounds it, too.
    effort : how thorough each search is.

    Raises
    ------
    OptionError : no start, or another norm.
    UnsuitableError : a workload that is no union of products. TooLargeError : too many factors.
    """
    if starts is not None and starts < 1:
        raise OptionError(f"'starts' is at least 1, not {starts}")
    check_norm(norm, "the strategy's norm")
    products = products_of(workload)
    attributes = len(workload.domain.shape)
    if (count := len(products) * attributes) > MOST_FACTORS:
        raise TooLargeError(
            f"one product is searched for up to {MOST_FACTORS:,} factors of products, and "
            f"{len(products):,} products over {attributes} attributes have {count:,}",
            hint="solve l2_strategy, which takes queries of few attributes over any number of cells",
        )
    terms = UnionTerms.of(workload)
    if starts is None:
        starts = STARTS if count <= FEW_FACTORS else 1
    end = time.monotonic() + min(time_limit, time_left())
    ends = [_descend(terms, KINDS[norm], effort, seed, number, end) for number in range(starts)]
    factors, _ = min(ends, key=lambda end: end[1])
    matrices = [side.spread(f.matrix()) for side, f in zip(terms.sides, factors, strict=True)]
    return ProductStrategy(tuple(Strategy(matrix, norm) for matrix in matrices))


def _descend(
    terms: UnionTerms, kind: type[AttributeStrategy], effort: Effort, seed: int, number: int, end: float
) -> tuple[list[AttributeStrategy], float]:
    """Rounds over the attributes from one start, and the error at their end."""
    rng = np.random.default_rng([seed, number])
    factors = [kind.first(side) for side in terms.sides]
    errors = [f.errors(side) for f, side in zip(factors, terms.sides, strict=True)]
    if number:  # the first start begins with noise on each value, the others as if some queries cost less
        draws = [rng.uniform(0.1, 1.0, len(side.grams))[side.used] for side in terms.sides]
        errors = [e * draw for e, draw in zip(errors, draws, strict=True)]
    before, count = np.inf, effort.starts
    for _ in range(effort.rounds):
        for at in rng.permutation(len(terms.sides)).tolist():
            side = terms.sides[at]
            if time.monotonic() < end and side.size > 1:
                gram = terms.surrogate(errors, at)
                factors[at] = factors[at].improved(side, gram, count, int(rng.integers(2**31)))
            errors[at] = factors[at].errors(side)
        now = float(terms.weights @ np.prod(errors, axis=0))
        is_settled = not now < before * (1.0 - SETTLED)
        if is_settled and count > 1:
            break
        before, count = now, effort.starts if is_settled else effort.later
    return factors, now


CHARGED = 1e-9
"""Taken off the bound, relatively, for 40 attributes or fewer: for singular vectors that are orthonormal up
to rounding, and for ``COMMUTES``. Cross terms of d attributes lift MᵀM by d times that at most.
"""

NEGLIGIBLE = 1e-14
"""Subspaces on which no product has more than this part of the largest are left out, which lowers the bound.

These are all but a few of the 2^d where products have few of the attributes: a total is zero on a complement.
"""

COMMUTES = 1e-11  # part of v that may lie outside the row space, or inside: the size of cross terms of MᵀM
SUPPORT = 1e-12  # singular values below this part of the largest are left out, which lowers the bound


def multipliers_of(strategy: ProductStrategy, workload: Workload) -> list[Array]:
    """For each attribute the prices of its values (``Strategy.prices``) in the workload that others leave it.

    Where the strategy's factors are optimal these are their multipliers.
    """
    products = products_of(workload.weighed)
    errors = np.array(
        [
            [float(factor.variances(one_attribute([(p.factors[i], 1.0)])).sum()) for p in products]
            for i, factor in enumerate(strategy.factors)
        ]
    )
    weights = np.array([p.weight for p in products])
    prices = []
    for i, factor in enumerate(strategy.factors):
        others = weights * np.delete(errors, i, axis=0).prod(axis=0)
        weighted = [
            (p.factors[i], float(weight)) for p, weight in zip(products, others / others.max(), strict=True)
        ]
        prices.append(factor.prices(one_attribute(weighted)))
    return prices


def product_bound(workload: Workload, multipliers: Sequence[Array]) -> float:
    """The bound of the theorem (rounded down), at pᵢ = multipliers / their sum and at equal pᵢ.

    Parameters
    ----------
    workload : from products. multipliers : for each attribute (nᵢ,), nonnegative, as of ``multipliers_of``.
    """
    equal = [np.ones(len(prices)) for prices in multipliers]
    return max(_bound(workload, multipliers), _bound(workload, equal))


def _bound(workload: Workload, multipliers: Sequence[Array]) -> float:
    terms = _merged(workload)
    traces = np.ones((1, len(terms)))  # (subspaces, terms)
    for i, multiplier in enumerate(multipliers):
        p = np.maximum(np.asarray(multiplier, dtype=float), 0.0)
        distinct = list(dict.fromkeys(term[i] for term, _ in terms))
        split = _split(distinct, p / p.sum())
        place = [distinct.index(term[i]) for term, _ in terms]
        traces = np.vstack([traces * row[place] for row in split])
        largest = traces.max(axis=1)
        traces = traces[largest > NEGLIGIBLE * largest.max()]
    weights = np.array([weight for _, weight in terms])
    norm = np.sqrt(np.square(traces) @ weights).sum()
    return float(norm**2 * (1.0 - CHARGED * max(1.0, len(multipliers) / 40)))


Term = tuple[tuple[Factor, ...], ...]  # per attribute the factors whose Gram matrices add up


def _merged(workload: Workload) -> list[tuple[Term, float]]:
    """Products as terms; products of one weight that differ in one attribute only are one term."""
    terms: list[tuple[Term, float]] = [
        (tuple((f,) for f in p.factors), p.weight) for p in products_of(workload.weighed)
    ]
    for i in range(len(workload.domain.shape)):
        joined: dict[tuple[Term, Term, float], list[Factor]] = {}
        for term, weight in terms:
            joined.setdefault((term[:i], term[i + 1 :], weight), []).extend(term[i])
        terms = [
            ((*before, tuple(factors), *after), weight) for (before, after, weight), factors in joined.items()
        ]
    return terms


def _split(distinct: Sequence[tuple[Factor, ...]], p: Array) -> Array:
    """tr(S Π) of each on v = √p and on its complement, (2, distinct); their sums where it does not split."""
    v = np.sqrt(p)
    along, whole, is_split = [], [], True
    for factors in distinct:
        singular, rows = svd(one_attribute([(f, 1.0) for f in factors]).root * v)
        kept = singular > SUPPORT * singular[0]
        singular, rows = singular[kept], rows[kept]
        part = rows @ v
        # The projection on the row space commutes with v vᵀ where v lies in that space or is orthogonal.
        outside = float(np.linalg.norm(v - part @ rows))
        inside = float(np.linalg.norm(part))
        is_split = is_split and min(inside, outside) <= COMMUTES * float(np.linalg.norm(v))
        along.append(float(singular @ np.square(part)) / float(v @ v))
        whole.append(float(singular.sum()))
    if not is_split:
        return np.array([whole])
    return np.array([along, np.maximum(np.array(whole) - along, 0.0)])
