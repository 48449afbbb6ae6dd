"""Products of strategies for a union of products, one or several, and the lower bound on their error.

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

**Unions.** Several product strategies each have a share of the privacy budget. Let θ_g be the shares, of sum
1 (of squares of sum 1 for Gaussian noise), and E_gj the error of product j by part g at sensitivity 1.
Product j is answered by a mean of the parts' estimates, with weights α_gj of sum 1: the total is
Σ_g Σⱼ wⱼ α_gj² E_gj / θ_g². Its three unknowns take turns, the others fixed: the part's strategy for the
weights wⱼ α_gj² (``product``), then θ_g ∝ (Σⱼ wⱼ α_gj² E_gj)^⅓ (or ^¼), then α_gj ∝ θ_g² / E_gj. With α of 0
and 1 this is OPT₊ (McKenna, Miklau, Hay, Machanavajjhala: PVLDB 2018), whose groups are given. Turns begin
with groups: one is split in two as long as that helps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import itemgetter

import numpy as np

from mmopt.errors import OptionError, TooLargeError
from mmopt.limits import time_left
from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.numerics.linear_algebra import pseudo_factors, svd
from mmopt.numerics.outward import check_norm
from mmopt.solvers import Clock, Options, nuclear
from mmopt.solvers.p_identity_kernel import StartRows, search
from mmopt.strategies import Strategy
from mmopt.strategies.factor_strategies import ProductStrategy, UnionStrategy, one_attribute, products_of
from mmopt.workloads import Factor, Product, Workload
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
        return Side(
            classes,
            grams,
            np.unique(np.vstack(rows), axis=0),
            np.array([places[factor] for factor in factors]),
        )

    @property
    def size(self) -> int:
        """The number of merged values."""
        return len(self.grams[0])

    def gram(self, weights: Array) -> Array:
        """Σ weightⱼ Gⱼ over the products, (r, r)."""
        return np.asarray(
            np.tensordot(
                np.bincount(self.used, weights, minlength=len(self.grams)), np.array(self.grams), axes=1
            )
        )

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
        return self.sides[at].gram(
            self.weights * np.prod([e for i, e in enumerate(errors) if i != at], axis=0)
        )


GAP = 1e-7  # of the convex problem of one attribute


@dataclass(frozen=True)
class AttributeStrategy:
    """A strategy over the merged values of an attribute, of sensitivity 1.

    rows : norm 1: Θ (k, r) below the identity, each column divided by its sum (p-identity). Norm 2: any rows
    whose columns have L2 norm 1 at most.
    """

    norm: int
    rows: Array

    @staticmethod
    def first(norm: int, side: Side) -> AttributeStrategy:
        """The strategy that measures each value."""
        return AttributeStrategy(norm, np.zeros((1, side.size)) if norm == 1 else np.eye(side.size))

    def matrix(self) -> Array:
        """The rows (p, r), without those of zeros."""
        if self.norm == 2:
            return self.rows
        whole = np.vstack([np.eye(self.rows.shape[1]), self.rows[self.rows.any(axis=1)]])
        return np.asarray(whole / whole.sum(axis=0))

    def improved(self, side: Side, gram: Array, count: int, seed: int) -> AttributeStrategy:
        """A better strategy for the Gram matrix (r, r).

        Norm 1: a better p-identity, by ``count`` starts, the first of which is this one. Norm 2: the optimum
        of ``l2_strategy``, scaled and completed to columns of norm 1.
        """
        if self.norm == 1:
            most, first = max(1, side.size // 2, len(self.rows)), (StartRows("known", self.rows),)
            *_, best = search(gram, most, queries=side.queries, count=count, seed=seed, first=first)
            return replace(self, rows=best.rows)
        with Clock(math.inf) as clock:
            points = nuclear.points("l2_strategy", {"W": _root(gram)}, Options(tolerance=GAP), clock)
            x = next(np.asarray(point.variables["X"]) for point in points if point.variables)
        x = x / np.diag(x).max()
        x[np.diag_indices(len(x))] = 1.0
        return replace(self, rows=_root(x))

    def errors(self, side: Side) -> Array:
        """tr(G (AᵀA)⁻¹) for every product, (products,)."""
        inverse, _ = pseudo_factors(self.matrix())
        return np.array([float(np.sum((gram @ inverse) * inverse)) for gram in side.grams])[side.used]


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
    products, attributes = products_of(workload), len(workload.domain.shape)
    if (count := len(products) * attributes) > MOST_FACTORS:
        raise TooLargeError(
            f"one product is searched for up to {MOST_FACTORS:,} factors of products, and "
            f"{len(products):,} products over {attributes} attributes have {count:,}",
            hint="solve l2_strategy, which takes queries of few attributes over any number of cells",
        )
    terms, starts = UnionTerms.of(workload), starts or (STARTS if count <= FEW_FACTORS else 1)
    end = time.monotonic() + min(time_limit, time_left())
    ends = [_descend(terms, norm, effort, seed, number, end) for number in range(starts)]
    factors, _ = min(ends, key=lambda end: end[1])
    matrices = [side.spread(f.matrix()) for side, f in zip(terms.sides, factors, strict=True)]
    return ProductStrategy(tuple(Strategy(matrix, norm) for matrix in matrices))


def _descend(
    terms: UnionTerms, norm: int, effort: Effort, seed: int, number: int, end: float
) -> tuple[list[AttributeStrategy], float]:
    """Rounds over the attributes from one start, and the error at their end."""
    rng = np.random.default_rng([seed, number])
    factors = [AttributeStrategy.first(norm, side) for side in terms.sides]
    errors = [f.errors(side) for f, side in zip(factors, terms.sides, strict=True)]
    if number:  # the first start begins with noise on each value, the others as if some queries cost less
        draws = [rng.uniform(0.1, 1.0, len(side.grams))[side.used] for side in terms.sides]
        errors = [e * draw for e, draw in zip(errors, draws, strict=True)]
    before, count = np.inf, effort.starts
    for _ in range(effort.rounds):
        for at in rng.permutation(len(terms.sides)).tolist():
            side = terms.sides[at]
            if time.monotonic() < end and side.size > 1:
                factors[at] = factors[at].improved(
                    side, terms.surrogate(errors, at), count, int(rng.integers(2**31))
                )
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
    return max(
        _bound(workload, multipliers), _bound(workload, [np.ones(len(prices)) for prices in multipliers])
    )


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
        outside, inside = float(np.linalg.norm(v - part @ rows)), float(np.linalg.norm(part))
        is_split = is_split and min(inside, outside) <= COMMUTES * float(np.linalg.norm(v))
        along.append(float(singular @ np.square(part)) / float(v @ v))
        whole.append(float(singular.sum()))
    return np.array([whole]) if not is_split else np.array([along, np.maximum(np.array(whole) - along, 0.0)])


GROUPS = 4
ROUNDS = 12  # of strategies, shares and means by turns
TURNS_SETTLED = 1e-3  # a round that lowers the error by less is the last
LEAST_MEAN = 1e-3  # weights of a mean below this part of their sum are left out
WORTH = 1e-3  # a further group that lowers the error by less is not made
QUICK = Effort(starts=2, later=2, rounds=2)  # for choosing between groupings


def shares_of(errors: Array, norm: int = 1) -> Array:
    """The best shares of the budget, of norm 1, for groups with these errors (groups,) at sensitivity 1.

    They minimize Σ errors / shares²: (Σ errors^⅓)³ for norm 1, (Σ errors^½)² for norm 2. They are equal where
    a group has no finite error yet: one product may not measure queries of next to no weight.
    """
    roots = (errors if np.isfinite(errors).all() else np.ones_like(errors)) ** (1.0 / (2 + norm))
    return np.asarray(roots / np.linalg.norm(roots, norm))


def union(workload: Workload, groups: int = GROUPS, *, norm: int = 1, seed: int = 0) -> UnionStrategy:
    """The best union found of at most ``groups`` products of strategies, of sensitivity at most 1.

    A group is split in two as long as that helps: of all ways to divide its products by their queries on one
    attribute, the most promising one is tried.

    Parameters
    ----------
    workload : a union of products.
    groups : the most parts.
    norm : as for ``product``.
    seed : of the random numbers.

    Raises
    ------
    OptionError : no group, or another norm.
    UnsuitableError : a workload that is no union of products. TooLargeError : too many factors.
    """
    if groups < 1:
        raise OptionError(f"'groups' is at least 1, not {groups}")
    UnionTerms.of(workload)  # raises what is wrong with the workload as a whole
    workload = workload.weighed  # only total error matters here
    products = workload.products or ()
    if (count := len(products) * len(workload.domain.shape)) > FEW_FACTORS:
        raise TooLargeError(
            f"a union is searched for up to {FEW_FACTORS:,} factors of products, and {len(products):,} "
            f"products over {len(workload.domain.shape)} attributes have {count:,}"
        )
    best, grouping = _turns(workload, products, np.zeros(len(products), dtype=np.int64), norm, seed)
    while len(best.parts) < groups and time_left() > 0:
        if (following := _divided(workload, products, grouping, norm, seed)) is None:
            break
        candidate, settled = _turns(workload, products, following, norm, seed)
        if not candidate.total_error(workload) < best.total_error(workload) * (1.0 - WORTH):
            break
        best, grouping = candidate, settled
    return best


def _divided(
    workload: Workload, products: Sequence[Product], grouping: Ints, norm: int, seed: int
) -> Ints | None:
    """The most promising grouping with one more group; None where none promises less error."""

    @cache
    def root(rows: tuple[int, ...]) -> float:
        """A group's term of the root of the total error: the cubic or square root of its error."""
        part = Workload.from_products(workload.domain, [products[j] for j in rows])
        return float(
            product(part, norm=norm, starts=1, seed=seed, effort=QUICK).total_error(part)
            ** (norm / (2 + norm))
        )

    ways: list[tuple[float, Ints]] = []
    for g in np.unique(grouping):
        rows = np.flatnonzero(grouping == g)
        for away in _halves(products, rows):
            gain = root(tuple(rows)) - root(tuple(np.setdiff1d(rows, away))) - root(tuple(away))
            if not gain <= 0:  # NaN where neither is measured yet
                ways.append((gain, away))
    if not ways:
        return None
    _, away = max(ways, key=itemgetter(0))
    following = grouping.copy()
    following[away] = grouping.max() + 1
    return following


def _halves(products: Sequence[Product], rows: Ints) -> list[Ints]:
    """Parts of these products, each divided from the rest by the queries on one attribute."""
    halves: dict[bytes, Ints] = {}
    for at in range(len(products[0].factors)):
        factors = [products[j].factors[at] for j in rows]
        order = sorted(dict.fromkeys(factors), key=lambda factor: factor.rows)
        for cut in range(1, len(order)):
            away = rows[[factor in order[cut:] for factor in factors]]
            halves[away.tobytes()] = away
    return list(halves.values())


def _turns(
    workload: Workload, products: Sequence[Product], grouping: Ints, norm: int, seed: int
) -> tuple[UnionStrategy, Ints]:
    """Strategies, shares and means by turns from a grouping; the best, and its main part of each product."""
    weights = np.array([p.weight for p in products])
    means = (np.unique(grouping)[:, None] == grouping).astype(float)
    ends: list[tuple[float, UnionStrategy, Ints]] = []
    before = np.inf
    for turn in range(ROUNDS):
        means = means[means.any(axis=1)]
        part_weights = [weights * np.square(part_means) for part_means in means]
        parts = [
            product(_part(workload, products, part), norm=norm, starts=1, seed=seed + turn)
            for part in part_weights
        ]
        each = np.array([part.errors(workload) for part in parts])
        used = np.where(means > 0, each, 0.0)
        shares = shares_of(np.array([part @ e for part, e in zip(part_weights, used, strict=True)]), norm)
        strategy = UnionStrategy(tuple(parts), tuple(shares.tolist()))
        while strategy.sensitivity > 1.0:
            strategy = strategy.divided(strategy.sensitivity)
        error = strategy.total_error(workload)
        means = np.square(shares)[:, None] / each
        means = np.where(means > LEAST_MEAN * means.sum(axis=0), means, 0.0)
        means /= np.maximum(means.sum(axis=0), np.finfo(float).tiny)
        ends.append((error, strategy, np.argmax(means, axis=0)))
        if len(parts) == 1 or error > before * (1.0 - TURNS_SETTLED):
            break
        before = error
    _, best, grouping = min(ends, key=itemgetter(0))
    return best, grouping


def _part(workload: Workload, products: Sequence[Product], weights: Array) -> Workload:
    """The products with these weights, without those of weight zero."""
    kept = [replace(p, weight=float(w)) for p, w in zip(products, weights, strict=True) if w > 0]
    return Workload.from_products(workload.domain, kept)
