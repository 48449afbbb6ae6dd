"""Searches for the best strategy of each template: a product, a union of products, marginals, sets.

**Products.** A union of products is given by the Gram matrices of each attribute, and by the one that each
product has (``UnionTerms``). The strategy of an attribute is a p-identity for Laplace noise, in the end rows
of any signs where these are better; any rows for Gaussian noise.

For A = A₁ ⊗ … ⊗ A_d the total error at sensitivity 1 is Σⱼ wⱼ ∏ᵢ tr(Gᵢⱼ (AᵢᵀAᵢ)⁻¹), and the sensitivity is
the product of the factors'. With all factors but one fixed it is tr(G (AᵢᵀAᵢ)⁻¹) for one Gram matrix G, the
sum of the Gᵢⱼ with the others' errors as weights: the problem of a single attribute (McKenna, Miklau, Hay,
Machanavajjhala: PVLDB 2018, OPT⊗). The factors take turns until none gets better. For Gaussian noise the
problem of one attribute is convex.

**Unions.** Several product strategies each have a share of the privacy budget. Let θ_g be the shares, of sum
1 (of squares of sum 1 for Gaussian noise), and E_gj the error of product j by part g at sensitivity 1.
Product j is answered by a mean of the parts' estimates, with weights α_gj of sum 1: the total is
Σ_g Σⱼ wⱼ α_gj² E_gj / θ_g². Its three unknowns take turns, the others fixed: the part's strategy for the
weights wⱼ α_gj² (``product``), then θ_g ∝ (Σⱼ wⱼ α_gj² E_gj)^⅓ (or ^¼), then α_gj ∝ θ_g² / E_gj. With α of 0
and 1 this is OPT₊ (McKenna, Miklau, Hay, Machanavajjhala: PVLDB 2018), whose groups are given. Turns begin
with groups: one is split in two as long as that helps.

**Marginals** have weights θ (OPT_M of the slides): 2^d numbers for any number of cells. For Gaussian noise
the problem is convex in u = θ²: s Σ_T g_T / λ_T(u) with s = Σ u is least where the strategy is best, and its
optimum is proved by weak duality. For Laplace noise, s = (Σ √u)², it is not, and several starts are tried.

**Sets of attributes** are measured one by one by the best such strategy, for queries of few of any number of
attributes.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import itemgetter

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from mmopt.errors import OptionError, TooLargeError, WorkloadError
from mmopt.limits import time_left
from mmopt.numerics.arrays import EPS, Array, Ints, check_norm, gram_rows, pseudo_factors
from mmopt.sectors.residual_strategies import ResidualStrategy, best_residual_strategy, products_of_few
from mmopt.solvers import Clock, Options, l1_kernel, nuclear, p_identity_kernel
from mmopt.strategies import (
    MarginalStrategy,
    ProductStrategy,
    SetStrategy,
    Strategy,
    UnionStrategy,
    normalise,
    products_of,
)
from mmopt.strategies.factor_strategies import energies, subsets, supersets, volumes
from mmopt.strategies.set_strategy_and_cells import strategy_by_sets
from mmopt.workloads import (
    Factor,
    Product,
    Workload,
    refine,
)


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
        places = {factor: i for i, factor in enumerate(different)}
        return Side(
            classes,
            grams,
            np.unique(np.vstack([factor.root()[:, first] for factor in different]), axis=0),
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

    def errors(self, matrix: Array) -> Array:
        """tr(G (AᵀA)⁻¹) of a strategy A (p, r) for every product, (products,)."""
        inverse, _ = pseudo_factors(matrix)
        return np.array([float(np.sum((gram @ inverse) * inverse)) for gram in self.grams])[self.used]

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
            most = max(1, side.size // 2, len(self.rows))
            *_, best = p_identity_kernel.search(
                gram, most, queries=side.queries, count=count, seed=seed, first=(self.rows,)
            )
            return replace(self, rows=best.rows)
        w, clock = gram_rows(gram, 8 * len(gram) * EPS), Clock(math.inf)
        points = nuclear.points("l2_strategy", {"W": w}, Options(tolerance=GAP), clock)
        x = next(np.asarray(point.variables["X"]) for point in points if point.variables)
        x = x / np.diag(x).max()
        x[np.diag_indices(len(x))] = 1.0
        return replace(self, rows=gram_rows(x, 8 * len(x) * EPS))


STARTS_OF_PRODUCT = 5  # of the search of one product
FEW_FACTORS = 2**11  # factors of all products of the workload, up to which there are several starts
MOST_FACTORS = 2**14  # factors up to which there is one start, of some ten seconds
MOST_SIGNED = 16  # values of an attribute, up to which rows of any signs are tried, in some seconds
ROUND_SETTLED = 1e-5  # a round that improves the error by less is the last


@dataclass(frozen=True)
class Effort:
    """How thorough a search of one product is.

    starts : of an attribute's search, in the first round, and again once a round improves nothing.
    later_starts : those in all other rounds. rounds : the most, over all attributes.
    signs : whether rows of any signs are tried in the end, for Laplace noise, which takes some seconds.
    """

    starts: int = 4
    later_starts: int = 1
    rounds: int = 30
    signs: bool = False


THOROUGH, WITH_SIGNS = Effort(), Effort(signs=True)


def product(
    workload: Workload,
    *,
    norm: int = 1,
    starts: int | None = None,
    seed: int = 0,
    time_limit: float = np.inf,
    effort: Effort = WITH_SIGNS,
) -> ProductStrategy:
    """The best product of strategies found, of sensitivity at most 1, for total error.

    Parameters
    ----------
    workload : a union of products.
    norm : 1 for Laplace noise: the factors are p-identities, or have rows of any signs. 2 for Gaussian
        noise: any strategies.
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
    terms, starts = UnionTerms.of(workload), starts or (STARTS_OF_PRODUCT if count <= FEW_FACTORS else 1)
    end = time.monotonic() + min(time_limit, time_left())
    ends = [_factors_from(terms, norm, effort, seed, number, end) for number in range(starts)]
    factors, _ = min(ends, key=lambda end: end[1])
    matrices = [f.matrix() for f in factors]
    if norm == 1 and effort.signs:
        matrices = _with_signs(terms, matrices, seed, end)
    spread = (side.spread(matrix) for side, matrix in zip(terms.sides, matrices, strict=True))
    return ProductStrategy(tuple(Strategy(matrix, norm) for matrix in spread))


def _factors_from(
    terms: UnionTerms, norm: int, effort: Effort, seed: int, number: int, end: float
) -> tuple[list[AttributeStrategy], float]:
    """Rounds over the attributes from a start, by its number, up to the time ``end``; and the error then."""
    rng = np.random.default_rng([seed, number])
    factors = [AttributeStrategy.first(norm, side) for side in terms.sides]
    errors = [side.errors(f.matrix()) for f, side in zip(factors, terms.sides, strict=True)]
    if number:  # the first start begins with noise on each value, the others as if some queries cost less
        draws = [rng.uniform(0.1, 1.0, len(side.grams))[side.used] for side in terms.sides]
        errors = [e * draw for e, draw in zip(errors, draws, strict=True)]
    before, count = np.inf, effort.starts
    for _ in range(effort.rounds):
        for at in rng.permutation(len(terms.sides)).tolist():
            side = terms.sides[at]
            if time.monotonic() < end and side.size > 1:
                # The Gram matrix that the attribute faces while the errors of the others stay.
                others = np.prod([e for i, e in enumerate(errors) if i != at], axis=0)
                gram = side.gram(terms.weights * others)
                factors[at] = factors[at].improved(side, gram, count, int(rng.integers(2**31)))
            errors[at] = side.errors(factors[at].matrix())
        now = float(terms.weights @ np.prod(errors, axis=0))
        is_settled = not now < before * (1.0 - ROUND_SETTLED)
        if is_settled and count > 1:
            break
        before, count = now, effort.starts if is_settled else effort.later_starts
    return factors, now


def _with_signs(terms: UnionTerms, matrices: list[Array], seed: int, end: float) -> list[Array]:
    """The factors, each with rows of any signs where these are better for the errors of the others."""
    better = list(matrices)
    for at, side in enumerate(terms.sides):
        if (seconds := end - time.monotonic()) > 0.0 and 1 < side.size <= MOST_SIGNED:
            errors = [one.errors(a) for one, a in zip(terms.sides, better, strict=True)]
            weights = terms.weights * np.prod(errors[:at] + errors[at + 1 :], axis=0)
            *_, best = l1_kernel.signed_search(
                side.gram(weights),
                max(1, side.size // 2),
                queries=side.queries,
                count=None,
                seed=seed,
                limit=math.inf,
                clock=Clock(seconds),  # Ctrl-C ends the search as any other work
            )
            signed = l1_kernel.strategy(best.rows)
            if weights @ side.errors(signed) < weights @ errors[at] * (1.0 - ROUND_SETTLED):
                better[at] = signed
    return better


MOST_GROUPS = 4
MOST_TURNS = 12  # of strategies, shares and means by turns
TURNS_SETTLED = 1e-3  # a round that lowers the error by less is the last
LEAST_MEAN = 1e-3  # weights of a mean below this part of their sum are left out
WORTH = 1e-3  # a further group that lowers the error by less is not made
QUICK = Effort(starts=2, later_starts=2, rounds=2)  # for choosing between groupings


def shares_of(errors: Array, norm: int = 1) -> Array:
    """The best shares of the budget, of norm 1, for groups with these errors (groups,) at sensitivity 1.

    They minimize Σ errors / shares²: (Σ errors^⅓)³ for norm 1, (Σ errors^½)² for norm 2. They are equal where
    a group has no finite error yet: one product may not measure queries of next to no weight.
    """
    roots = (errors if np.isfinite(errors).all() else np.ones_like(errors)) ** (1.0 / (2 + norm))
    return np.asarray(roots / np.linalg.norm(roots, norm))


def union(workload: Workload, groups: int = MOST_GROUPS, *, norm: int = 1, seed: int = 0) -> UnionStrategy:
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
    best, grouping = _union_by_turns(workload, products, np.zeros(len(products), dtype=np.int64), norm, seed)
    while len(best.parts) < groups and time_left() > 0:
        if (following := _one_group_more(workload, products, grouping, norm, seed)) is None:
            break
        candidate, settled = _union_by_turns(workload, products, following, norm, seed)
        if not candidate.total_error(workload) < best.total_error(workload) * (1.0 - WORTH):
            break
        best, grouping = candidate, settled
    return best


def _one_group_more(
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


def _union_by_turns(
    workload: Workload, products: Sequence[Product], grouping: Ints, norm: int, seed: int
) -> tuple[UnionStrategy, Ints]:
    """Strategies, shares and means by turns from a grouping.

    Returns the best union, and for each product the part that answers most of it.
    """
    weights = np.array([p.weight for p in products])
    means = (np.unique(grouping)[:, None] == grouping).astype(float)
    ends: list[tuple[float, UnionStrategy, Ints]] = []
    before = np.inf
    for turn in range(MOST_TURNS):
        means = means[means.any(axis=1)]
        part_weights = [weights * np.square(part_means) for part_means in means]
        parts = [
            product(
                _weighted_part(workload, products, part),
                norm=norm,
                starts=1,
                seed=seed + turn,
                effort=THOROUGH,
            )
            for part in part_weights
        ]
        each = np.array([part.errors(workload) for part in parts])
        used = np.where(means > 0, each, 0.0)  # an error may be infinite where the mean is 0
        shares = shares_of(np.array([part @ e for part, e in zip(part_weights, used, strict=True)]), norm)
        strategy = UnionStrategy(tuple(parts), tuple(shares.tolist()))
        while strategy.sensitivity > 1.0:  # rounding
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


def _weighted_part(workload: Workload, products: Sequence[Product], weights: Array) -> Workload:
    """The products with these weights, without those of weight zero."""
    positive = [replace(p, weight=float(w)) for p, w in zip(products, weights, strict=True) if w > 0]
    return Workload.from_products(workload.domain, positive)


MOST_ATTRIBUTES = 16  # of a workload whose marginals are weighted
# Starts of the search of weights of marginals; the most numbers in all starts together; steps of one.
STARTS_OF_WEIGHTS, NUMBERS_OF_STARTS, STEPS_OF_WEIGHTS = 48, 2**14, 2000
IDLE = 1e-7  # marginals with less than this part of the largest weight are tried without


@dataclass(frozen=True, eq=False)
class _MarginalWeights:
    """energy, volume (2^d,): of the queries on each subspace, and the cells of a count of each marginal."""

    energy: Array
    volume: Array
    d: int
    norm: int

    def value(self, theta: Array) -> tuple[float, Array]:
        """The total error of the weights and its gradient; both infinite where a query is not supported."""
        u = np.square(theta)
        eigenvalues, is_queried = supersets(u * self.volume, self.d), self.energy > 0
        if not (eigenvalues[is_queried] > 0).all():
            return np.inf, np.zeros_like(theta)
        inverse = np.divide(1.0, eigenvalues, where=is_queried, out=np.zeros_like(eigenvalues))
        error = float(self.energy @ inverse)
        by_u = -self.volume * subsets(self.energy * inverse**2, self.d)
        s, by_theta = (
            (theta.sum() ** 2, np.full_like(theta, 2.0 * theta.sum()))
            if self.norm == 1
            else (u.sum(), 2.0 * theta)
        )
        return float(s * error), by_theta * error + s * by_u * 2.0 * theta


def marginal_strategy(
    workload: Workload, norm: int = 2, *, starts: int | None = None, seed: int = 0
) -> MarginalStrategy:
    """The best weights of marginals found, scaled to sensitivity 1.

    Parameters
    ----------
    workload : from products, of at most ``MOST_ATTRIBUTES`` attributes.
    norm : 1 for Laplace noise, 2 for Gaussian.
    starts : the first has equal weights for the marginals of the queries, the others random ones for all (a
        finer marginal may replace several). By default 48, fewer for more than 8 attributes; under a time
        limit (``limits.deadline``) those that begin before its end.

    Raises
    ------
    TooLargeError : more attributes. OptionError : a workload from a matrix.
    """
    sizes = workload.domain.shape
    if len(sizes) > MOST_ATTRIBUTES:
        raise TooLargeError(
            f"weights for all marginals of {len(sizes)} attributes are {2.0 ** len(sizes):.0e} numbers, "
            f"the limit is {MOST_ATTRIBUTES} attributes",
            hint="solve l2_strategy, which by symmetry takes the marginals that are asked alone",
        )
    problem = _MarginalWeights(energies(workload), volumes(sizes), len(sizes), norm)
    is_queried = supersets((problem.energy > 0).astype(float), problem.d) > 0
    rng = np.random.default_rng(seed)
    count, first = (
        starts or max(4, min(STARTS_OF_WEIGHTS, NUMBERS_OF_STARTS // len(is_queried))),
        is_queried.astype(float),
    )
    drawn = (rng.exponential(size=len(is_queried)) for _ in range(count - 1))
    starts_in_time = itertools.chain([first], itertools.takewhile(lambda _: time_left() > 0, drawn))
    error, theta = min((_best_weights_from(problem, start) for start in starts_in_time), key=itemgetter(0))
    if not np.isfinite(error):
        raise WorkloadError("no weights of marginals support the workload at working precision")
    return MarginalStrategy(
        sizes, theta / MarginalStrategy(sizes, theta, norm).sensitivity * (1.0 - 1e-12), norm
    )


def _best_weights_from(problem: _MarginalWeights, start: Array) -> tuple[float, Array]:
    """A local minimum from a start, on the marginals with weight in it; then without the idle ones."""
    is_used = start > 0
    value, theta = _local_minimum(problem, start, is_used)
    small = is_used & (theta <= IDLE * theta.max())
    if small.any():
        pruned = np.where(small, 0.0, theta)
        if (without := _local_minimum(problem, pruned, is_used & ~small))[0] <= value:
            return without
    return value, theta


def _local_minimum(
    problem: _MarginalWeights, start: Array, is_used: NDArray[np.bool_]
) -> tuple[float, Array]:
    """A local minimum and its weights, from a start; those of marginals not in use stay zero."""
    scale, size = problem.value(start)[0], float(np.sqrt(np.square(start).sum()))
    if not np.isfinite(scale):
        return np.inf, start
    theta = np.zeros_like(start)

    def objective(x: Array) -> tuple[float, Array]:
        theta[is_used] = x * size
        value, gradient = problem.value(theta)
        by = gradient[is_used]
        return (value / scale, by / scale * size) if np.isfinite(value) else (1e300, by * size)

    result = scipy.optimize.minimize(
        objective,
        start[is_used] / size,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * int(is_used.sum()),
        options={
            "maxiter": STEPS_OF_WEIGHTS,
            "maxfun": 4 * STEPS_OF_WEIGHTS,
            "ftol": 1e-15,
            "gtol": 1e-12,
            "maxcor": 30,
        },
    )
    theta[is_used] = result.x * size
    return problem.value(theta)[0], theta


def sectorwise(
    workload: Workload,
    *,
    norm: int = 2,
    seed: int = 0,
    residual: Callable[[Workload], ResidualStrategy] = best_residual_strategy,
) -> SetStrategy:
    """The best strategy found of those that measure sets of attributes one by one, scaled to sensitivity 1.

    Nothing is random: ``seed`` is for the table of templates. residual : gives the strategy whose bases it
    takes; a caller may have it already.

    Raises
    ------
    OptionError : norm 1: it is best for columns that are short in the L2 norm.
    WorkloadError : queries given as a matrix. TooLargeError : queries of too many attributes.
    """
    if norm != 2:
        raise OptionError("sets of attributes are measured one by one with Gaussian noise (norm 2) only")
    return normalise(
        strategy_by_sets(products_of_few(workload), workload.domain.shape, residual(workload).bases)
    )


def identity(workload: Workload, *, norm: int, seed: int) -> ProductStrategy:
    """Noise on each cell."""
    return ProductStrategy(tuple(Strategy(np.eye(n), norm) for n in workload.domain.shape))
