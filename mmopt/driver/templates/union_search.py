"""Several products, weighted marginals, and sets of attributes, optimised.

**Union.** Several product strategies each have a share of the privacy budget. Let θ_g be the shares, of sum 1
(of squares of sum 1 for Gaussian noise), and E_gj the error of product j by part g at sensitivity 1. Product
j is answered by a mean of the parts' estimates, with weights α_gj of sum 1: the total is
Σ_g Σⱼ wⱼ α_gj² E_gj / θ_g². Its three unknowns take turns, the others fixed: the part's strategy for the
weights wⱼ α_gj² (``product``), then θ_g ∝ (Σⱼ wⱼ α_gj² E_gj)^⅓ (or ^¼), then α_gj ∝ θ_g² / E_gj. With α of 0
and 1 this is OPT₊ (McKenna, Miklau, Hay, Machanavajjhala: PVLDB 2018), whose groups are given. Turns begin
with groups: one is split in two as long as that helps.

**Marginals** have weights (OPT_M of the slides): 2^d numbers for any number of cells. For Gaussian noise the
problem is convex in u = θ²: s Σ_T g_T / λ_T(u) with s = Σ u is least where the strategy is best, and its
optimum is proved by weak duality. For Laplace noise, s = (Σ √u)², it is not, and several starts are tried.

**Sets of attributes** are measured one by one by the best such strategy, for queries of few of any number of
attributes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import itemgetter

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from mmopt.driver.templates.product_search import FEW_FACTORS, Effort, UnionTerms, product
from mmopt.errors import OptionError, TooLargeError, WorkloadError
from mmopt.limits import time_left
from mmopt.numerics.arrays import Array, Ints
from mmopt.sectors.residual_strategies import ResidualStrategy, best_residual_strategy, products_of_few
from mmopt.strategies import SectorwiseStrategy, normalise
from mmopt.strategies.factor_strategies import (
    MarginalStrategy,
    UnionStrategy,
    energies,
    subsets,
    supersets,
    volumes,
)
from mmopt.strategies.set_strategy import strategy_by_sets
from mmopt.workloads import Product, Workload

GROUPS = 4
ROUNDS = 12  # of strategies, shares and means by turns
SETTLED = 1e-3  # a round that lowers the error by less is the last
LEAST = 1e-3  # weights of a mean below this part of their sum are left out
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
        following = _split(workload, products, grouping, norm, seed)
        if following is None:
            break
        candidate, settled = _turns(workload, products, following, norm, seed)
        if not candidate.total_error(workload) < best.total_error(workload) * (1.0 - WORTH):
            break
        best, grouping = candidate, settled
    return best


def _split(
    workload: Workload, products: Sequence[Product], grouping: Ints, norm: int, seed: int
) -> Ints | None:
    """The most promising grouping with one more group; None where none promises less error."""

    @cache
    def root(rows: tuple[int, ...]) -> float:
        """A group's term of the root of the total error: the cubic or square root of its error."""
        part = Workload.from_products(workload.domain, [products[j] for j in rows])
        strategy = product(part, norm=norm, starts=1, seed=seed, effort=QUICK)
        return float(strategy.total_error(part) ** (norm / (2 + norm)))

    ways: list[tuple[float, Ints]] = []
    for g in np.unique(grouping):
        rows = np.flatnonzero(grouping == g)
        for away in _halves(products, rows):
            stay = np.setdiff1d(rows, away)
            gain = root(tuple(rows)) - root(tuple(stay)) - root(tuple(away))
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
        means = np.where(means > LEAST * means.sum(axis=0), means, 0.0)
        means /= np.maximum(means.sum(axis=0), np.finfo(float).tiny)
        ends.append((error, strategy, np.argmax(means, axis=0)))
        if len(parts) == 1 or error > before * (1.0 - SETTLED):
            break
        before = error
    _, best, grouping = min(ends, key=itemgetter(0))
    return best, grouping


def _part(workload: Workload, products: Sequence[Product], weights: Array) -> Workload:
    """The products with these weights, without those of weight zero."""
    kept = [replace(p, weight=float(w)) for p, w in zip(products, weights, strict=True) if w > 0]
    return Workload.from_products(workload.domain, kept)


MOST_ATTRIBUTES = 16
STARTS, FEWER = 48, 2**14
STEPS = 2000
TINY = 1e-7  # marginals with less than this part of the largest weight are tried without


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
        eigenvalues = supersets(u * self.volume, self.d)
        is_queried = self.energy > 0
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
    count = starts or max(4, min(STARTS, FEWER // len(is_queried)))
    first = is_queried.astype(float)
    drawn = (rng.exponential(size=len(is_queried)) for _ in range(count - 1))
    starts_in_time = itertools.chain([first], itertools.takewhile(lambda _: time_left() > 0, drawn))
    error, theta = min((_descend(problem, start) for start in starts_in_time), key=itemgetter(0))
    if not np.isfinite(error):
        raise WorkloadError("no weights of marginals support the workload at working precision")
    raw = MarginalStrategy(sizes, theta, norm)
    return MarginalStrategy(sizes, theta / raw.sensitivity * (1.0 - 1e-12), norm)


def _descend(problem: _MarginalWeights, start: Array) -> tuple[float, Array]:
    """A local minimum from a start, on the marginals with weight in it; then without the idle ones."""
    kept = start > 0
    value, theta = _minimum(problem, start, kept)
    small = kept & (theta <= TINY * theta.max())
    if small.any():
        pruned = np.where(small, 0.0, theta)
        without = _minimum(problem, pruned, kept & ~small)
        if without[0] <= value:
            return without
    return value, theta


def _minimum(problem: _MarginalWeights, start: Array, kept: NDArray[np.bool_]) -> tuple[float, Array]:
    scale = problem.value(start)[0]
    if not np.isfinite(scale):
        return np.inf, start

    def objective(x: Array) -> tuple[float, Array]:
        theta = np.zeros_like(start)
        theta[kept] = x
        value, gradient = problem.value(theta)
        return (value / scale, gradient[kept] / scale) if np.isfinite(value) else (1e300, gradient[kept])

    size = float(np.sqrt(np.square(start).sum()))
    result = scipy.optimize.minimize(
        lambda x: objective(x * size)[0],
        start[kept] / size,
        jac=lambda x: objective(x * size)[1] * size,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * int(kept.sum()),
        options={"maxiter": STEPS, "maxfun": 4 * STEPS, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 30},
    )
    theta = np.zeros_like(start)
    theta[kept] = result.x * size
    return problem.value(theta)[0], theta


def sectorwise(
    workload: Workload,
    *,
    norm: int = 2,
    seed: int = 0,
    residual: Callable[[Workload], ResidualStrategy] = best_residual_strategy,
) -> SectorwiseStrategy:
    """The best strategy by sets found, scaled to sensitivity 1.

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
