"""The search for designs: a design is a measure of the cells, which gives a bound, and a strategy.

For queries of few attributes. Every strategy has a total error; the best of each so far are kept.

**Total error.** First the best single product of measures: each measure is multiplied by the square of the
mean of f given the attribute's value, which is 1 where nothing is to be gained. Then strategies whose f is
level, and mixtures of some products (``error_bounds_of_measures.py``). Then columns: cells where f is large
are added to the best product, and all weights change by a Newton step, to the best point on the simplex of
the second-order model of t (fully corrective column generation, Wynn 1970 and Fedorov 1972 for designs).

**Targets.** The shares of the queries are searched for together with the weights of the mixture. A strategy
is worth its longest column times its largest variance relative to the target. First one product of measures
and the shares are improved in turn, the shares by Newton steps; then level strategies, each at the best
shares for its moments; then columns, and Newton steps of all weights together.

**Level strategies** have columns of nearly equal length; their measures may be negative. At the best measure
f(x) <= 1, with equality where it is positive, and in workloads of queries of few attributes that is at nearly
all cells. So the equation f(x) = 1 for *all* x is solved, for a density of the few coordinates that f itself
has (``row_space.Profiles``): the f of a measure depends on these alone. The solution need not be a measure,
so it bounds nothing; but its N is a strategy like any other, of total error max f · t².

The step h ← h + 2 (f - 1) is that of the multiplicative algorithm d ← d f² (power 2 is the natural one for
tr M^{1/2}, as 1 for log det M: Yu, Annals of Statistics 38, 2010) about a product of measures. Anderson's
mixing of the last few steps reaches the fixed point sooner (Anderson, Iterative procedures for nonlinear
integral equations, J. ACM 12, 1965; Walker and Ni, SIAM J. Numer. Anal. 49, 2011).
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.linalg

from mmopt.numerics import EPS, Array, Ints, eigh, is_definite
from mmopt.sectors.error_bounds_of_measures import (
    Columns,
    MomentSpectrum,
    QueryShares,
    best_on_simplex,
    columns_of,
    columns_of_cells,
    integrals_and_curvature,
    mixtures_of_rising_t,
    spectrum,
)
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.row_space import Profiles, RowSpace

PRODUCT_STEPS, PRODUCT_CLOSE = 40, 1e-3  # of one product of measures; the last rise of a mean of f above 1
POWER = 2.0  # of the multiplicative steps: see **Level strategies** above
LEAST_MEAN, LEAST_LOGARITHM = 1e-3, -60.0  # so that a value that no query looks at keeps some measure
LEVEL_STEPS, LEVEL_PATIENCE = 80, 12  # of level strategies: all steps, and those in turn without a gain
LEVEL_SHARE = 0.02  # f - 1 at most this part of the gap counts as level
LEVEL_FALL = 0.01  # of the gap in a step, for which it goes on
MIXED_RISE = 0.02  # of the gap, that a mixture has to rise by for the next
STARTS = 48  # cells that each search starts from, of each kind
MOST_ADDED = 300  # columns a round
MOST_COLUMNS = 3000  # in all
LEAST_SHARE = 0.1  # of its weight that a column or an orbit keeps in a step
DROPPED = 1e-11  # a weight, and the largest change of weights in a step
CLOSE = 1e-9  # a gap, and f - 1
ROUNDS = 20  # for targets: of the product of measures and the shares in turn
STEPS_A_ROUND = 3  # of the product of measures
NEWTON_STEPS = 6  # of the shares, for moments that are held
TARGETS_CLOSE = 1e-3  # of the largest slope to 1, from which the next step is worth more
LEAST_OF_QUERY = 1e-10  # so that every query is seen
LEAST_DEFINITE = 1e-12  # of the smallest eigenvalue to the largest


# -- level strategies

STEPS_MIXED = 10  # that are remembered
RIDGE = 1e-12  # of the trace of the changes' Gram matrix


@dataclass(frozen=True, eq=False)
class MixedSteps:
    """Anderson's mixing: the last places (v,) and the miss of each.

    A miss is the plain step from the place, which is zero at the fixed point.
    """

    places: tuple[Array, ...] = ()
    misses: tuple[Array, ...] = ()

    def with_step(self, place: Array, miss: Array) -> "MixedSteps":
        """The steps with one more; the oldest is dropped."""
        last = slice(1 - STEPS_MIXED, None)
        return MixedSteps((*self.places[last], place), (*self.misses[last], miss))

    def next(self) -> Array:
        """The next place: a plain step from where the misses, were they linear, would be least."""
        place, miss = self.places[-1], self.misses[-1]
        if len(self.places) == 1:
            return np.asarray(place + miss)
        changes = np.array([miss - earlier for earlier in self.misses[:-1]])
        steps = np.array([place - earlier for earlier in self.places[:-1]])
        gram = changes @ changes.T
        gram += RIDGE * np.trace(gram) * np.eye(len(gram))
        return np.asarray(place + miss - np.linalg.solve(gram, changes @ miss) @ (steps + changes))


#: The spectrum at moments of a measure, which may be negative.
Solved = Callable[[Sequence[Array]], MomentSpectrum]

SHORTER = 0.5  # part of a step that is tried where the moments are not definite
LEAST_ROOT = 1e-5  # of ``_smallest_ratio`` at the start: below it the step was too long
FLAT = 1e-12  # of 2 (f - 1), root mean square


def level_strategies(
    space: RowSpace, profiles: Profiles, measure: Mixture, solved: Solved | None = None
) -> Iterator[MomentSpectrum]:
    """Strategies of ever flatter f, mostly; from the product under which profiles are orthonormal.

    ``solved``: the spectrum at moments; by default that of the space's own queries. Ends where f is flat to
    rounding.
    """
    moments, solved = space.moments(measure), solved or partial(spectrum, space)
    strategy = solved(moments)
    least = LEAST_ROOT * _smallest_ratio(strategy)
    off = POWER * profiles.coordinates(strategy.parts)
    off[0] -= POWER
    place = np.zeros(len(off))
    steps = MixedSteps().with_step(place, off)
    while float(np.linalg.norm(off)) > FLAT:
        target = steps.next()
        while True:
            added = profiles.moments(target)
            mass = 1.0 + float(target[0])
            # The moments have this total mass; where it is not positive the step was too long.
            strategy = solved([(q + more) / mass for q, more in zip(moments, added, strict=True)])
            if mass > 0.0 and _smallest_ratio(strategy) > least:
                break
            target = place + SHORTER * (target - place)
        place = target
        off = POWER * profiles.coordinates(strategy.parts)
        off[0] -= POWER
        steps = steps.with_step(place, off)
        yield strategy


def _smallest_ratio(strategy: MomentSpectrum) -> float:
    """The smallest root, next to the largest of its component."""
    return min(float(roots[0] / roots[-1]) for roots in strategy.roots if len(roots))


# -- long columns

#: f at cells (c, k).
HeightOfCells = Callable[[Ints], Array]

MOST_SWEEPS = 50  # over all neighbours of cells
PART_OF_EXCESS = 0.3  # of the excess of the highest f over 1, which a neighbour has to reach


def nearby_cells(cells: Ints, shape: Sequence[int]) -> Ints:
    """(c, Σ o, k) each cell with each value of each attribute in turn, itself k times among them."""
    attributes = np.repeat(np.arange(len(shape)), shape)
    values = np.concatenate([np.arange(count) for count in shape])
    near = np.repeat(cells[:, None, :], len(values), axis=1)
    near[:, np.arange(len(values)), attributes] = values
    return near


def climbed_to_neighbours(profile: HeightOfCells, shape: Sequence[int], cells: Ints) -> tuple[Ints, Array]:
    """The cells (c, k) moved to the best neighbour until none is better; once each, and f, descending."""
    best = np.unique(cells, axis=0)
    heights = profile(best)
    moving = np.ones(len(best), dtype=bool)
    for _ in range(MOST_SWEEPS):
        if not moving.any():
            break
        near = nearby_cells(best[moving], shape)
        near_heights = profile(near.reshape(-1, near.shape[-1])).reshape(near.shape[:2])
        at, highest = np.arange(len(near)), near_heights.argmax(axis=1)
        rises = near_heights[at, highest] > heights[moving] * (1.0 + 1e-12)
        which = np.flatnonzero(moving)
        best[which] = near[at, highest]
        heights[which] = np.maximum(near_heights[at, highest], heights[which])
        moving[which] = rises
        best, kept = np.unique(best, axis=0, return_index=True)
        heights, moving = heights[kept], moving[kept]
    order = np.argsort(-heights, kind="stable")
    return best[order], heights[order]


def high_neighbours(profile: HeightOfCells, shape: Sequence[int], cells: Ints, heights: Array) -> Ints:
    """Neighbours at which f - 1 is above ``PART_OF_EXCESS`` of its largest in ``heights``; highest first."""
    near = np.unique(nearby_cells(cells, shape).reshape(-1, cells.shape[1]), axis=0)
    near_heights = profile(near)
    high = near_heights > 1.0 + PART_OF_EXCESS * (float(heights.max()) - 1.0)
    return np.asarray(near[high][np.argsort(-near_heights[high], kind="stable")])


# -- the search


@dataclass(frozen=True, eq=False)
class Design:
    """The best measure and the best strategy so far.

    measure : of mass 1. bound : t² of it, below the total error of every strategy, as computed.
    parts : N of the strategy. value : its total error at the longest column that was found, t² max f, not
    proved. total : t² alone, tr(R N⁻¹ Rᵀ). shares : those of the bound, for queries that have targets.
    """

    measure: Mixture
    bound: float
    parts: tuple[Array, ...]
    total: float
    value: float
    shares: Array | None = None

    @property
    def gap(self) -> float:
        """How far the value is above the bound, relative."""
        return self.value / self.bound - 1.0


@dataclass(frozen=True, eq=False)
class _Given:
    """A strategy that comes from no measure; ``bound``: its total error where its longest column is 1."""

    parts: tuple[Array, ...]
    bound: float

    @staticmethod
    def of(space: RowSpace, parts: Sequence[Array]) -> "_Given":
        """A given N; directions in which it is next to zero are left out: no query has any part in them."""
        each = []
        for part, root in zip(parts, space.root.parts, strict=True):
            if is_definite(part, len(part) * EPS * float(np.trace(part))):  # a quarter of the time
                lower = scipy.linalg.cholesky(part, lower=True)
                each.append(float(np.square(scipy.linalg.solve_triangular(lower, root.T, lower=True)).sum()))
                continue
            values, vectors = eigh(part)
            kept = values > len(values) * EPS * values.max(initial=0.0)
            each.append(float((np.square(root @ vectors[:, kept]) / values[kept]).sum()))
        return _Given(tuple(parts), float(space.space.multiplicities @ np.array(each)))


@dataclass(frozen=True, eq=False)
class _WeightedColumns:
    """Columns and weights, shares of the orbits of queries (none for total error), and the spectrum."""

    columns: Columns
    weights: Array
    shares: Array
    strategy: MomentSpectrum


@dataclass(frozen=True, eq=False)
class Search:
    """The search for long columns and better weights.

    space : the row space. rng : the generator of random starts. queries : those that have targets, whose
    shares are searched for, too; None for total error.
    """

    space: RowSpace
    rng: np.random.Generator
    queries: QueryShares | None = None

    def cells(self, strategy: MomentSpectrum | _Given, measure: Mixture, last: Ints) -> tuple[Ints, Array]:
        """Cells to which no neighbour is better, and their f, descending.

        They are climbed to from draws by the measure, draws from all cells, and those of the last search.
        """
        chosen = self.rng.choice(measure.count, STARTS, p=measure.weights / measure.weights.sum())
        drawn = [
            [self.rng.choice(measures.shape[1], p=measures[at] / measures[at].sum()) for at in chosen]
            for measures in measure.factors
        ]
        anywhere = [self.rng.integers(o, size=STARTS) for o in self.space.shape]
        starts = np.concatenate([np.array(drawn).T, np.array(anywhere).T, last[:STARTS]])
        return climbed_to_neighbours(self.space.profile(strategy.parts), self.space.shape, starts)

    def total(self, strategy: MomentSpectrum | _Given) -> float:
        """The total error where the longest column is 1; with targets the largest variance next to its target
        of N as it is, infinity where it is singular.
        """
        if self.queries is None or isinstance(strategy, _Given):
            return strategy.bound
        total = np.zeros(len(self.queries.sizes))
        for at, (rows, part, multiplicity) in enumerate(
            zip(self.queries.rows, strategy.parts, self.space.space.multiplicities.tolist(), strict=True)
        ):
            values, vectors = eigh(part)
            if not values.min(initial=np.inf) > LEAST_DEFINITE * values.max(initial=0.0):
                return np.inf
            total += multiplicity * self.queries.by_shares(np.square(rows @ vectors) @ (1.0 / values), at)
        return float(total.max())

    def better(
        self,
        design: Design | None,
        strategy: MomentSpectrum | _Given,
        heights: Array,
        measure: Mixture | None = None,
        shares: Array | None = None,
    ) -> Design:
        """The design with what is better: the bound of the measure and shares, the value by the heights.

        ``heights``: f at long columns, descending.
        """
        total = self.total(strategy)
        value = total * float(heights[0])
        if design is None:
            assert measure is not None
            return Design(measure, strategy.bound, strategy.parts, total, value, shares)
        if measure is not None and strategy.bound > design.bound:
            design = replace(design, measure=measure, shares=shares, bound=strategy.bound)
        if value >= design.value:
            return design
        return replace(design, parts=strategy.parts, total=total, value=value)

    def weighed(self, columns: Columns, weights: Array, shares: Array) -> _WeightedColumns:
        """The columns at weights, and at shares of the queries, scaled to sum 1; and the spectrum."""
        space = self.space
        if self.queries is not None:
            weights, shares = weights / weights.sum(), np.maximum(shares, LEAST_OF_QUERY)
            shares = shares / shares.sum()
            space = self.queries.weighing(space, shares)
        return _WeightedColumns(columns, weights, shares, spectrum(space, columns.moments(weights)))

    def stepped(self, at: _WeightedColumns) -> _WeightedColumns:
        """A Newton step of weights and shares, halved until t does not fall; the same if none is better."""
        slopes, curvature = integrals_and_curvature(
            at.columns, at.strategy, self.space.space.multiplicities.tolist(), self.queries
        )
        place = np.concatenate([at.weights, at.shares])
        gradient = at.strategy.total / 2.0 * slopes - curvature @ place  # of t's second-order model at 0
        kept = LEAST_SHARE * place
        mass = (1.0 if self.queries is None else 2.0) * (1.0 - LEAST_SHARE)
        moved = kept + best_on_simplex(gradient + curvature @ kept, curvature, mass)
        while float(np.abs(moved - place).max()) > DROPPED:
            new = self.weighed(at.columns, *np.split(moved, [len(at.weights)]))
            if new.strategy.total >= at.strategy.total:
                return new
            moved = (place + moved) / 2.0
        return at

    def with_shares(self, moments: Sequence[Array], shares: Array) -> tuple[Array, MomentSpectrum]:
        """The best shares for these moments, more or less, and the spectrum."""
        columns = Columns(tuple(q[None] for q in moments), tuple(np.zeros((0, len(q))) for q in moments))
        at = self.weighed(columns, np.ones(1), shares)
        assert self.queries is not None
        for _ in range(NEWTON_STEPS):
            last, at = at, self.stepped(at)
            # The largest variance at N next to its target, over t².
            worst = float(self.queries.slopes(at.strategy, self.space.space.multiplicities.tolist()).max())
            if at is last or worst <= 1.0 + TARGETS_CLOSE:
                break
        return at.shares, at.strategy

    def designs_with_cells(
        self, design: Design, mixture: Mixture, shares: Array, cells: Ints
    ) -> Iterator[Design]:
        """Designs from cells added to products of measures, and all weights and shares made the best."""
        at = self.weighed(columns_of(self.space, mixture), mixture.weights, shares)
        while True:
            cells, heights = self.cells(at.strategy, mixture, cells)
            shares_of_targets = None if self.queries is None else at.shares
            design = self.better(design, at.strategy, heights, mixture, shares_of_targets)
            yield design
            if design.gap <= CLOSE:
                return
            added = added_cells(self, at.strategy, mixture, cells, heights)
            if len(added):
                mixture = mixture.with_cells(added)
                columns = at.columns.joined(columns_of_cells(self.space, added))
                at = replace(at, columns=columns, weights=mixture.weights)
            new = self.stepped(at)
            if new is at and not len(added):
                return
            kept = new.weights > DROPPED
            kept[0] = True  # the product, so that every query is seen
            weights = new.weights[kept] / new.weights[kept].sum()
            mixture = Mixture(weights, tuple(factor[kept] for factor in mixture.factors))
            at = replace(new, columns=new.columns.kept(kept), weights=weights)


def designs(
    space: RowSpace,
    seed: int = 0,
    first: Callable[[], Sequence[Array] | None] = lambda: None,
) -> Iterator[Design]:
    """Designs, each no worse than the one before; they end where the gap is rounding or nothing improves.

    Parameters
    ----------
    seed : of the draws of cells where the search starts.
    first : returns N of a strategy from elsewhere; called after the uniform measure.

    Raises
    ------
    TimeLimitError : beyond the time limit (``mmopt.limits.deadline``); the caller may stop at any time.
    """
    search = Search(space, np.random.default_rng(seed))
    uniform = Mixture(np.ones(1), tuple(shares[None] for shares in space.uniform))
    design: Design | None = None
    cells = np.zeros((0, len(space.shape)), dtype=np.int64)
    for measure, strategy in products_of_rising_t(space, uniform):
        cells, heights = search.cells(strategy, measure, cells)
        is_first, design = design is None, search.better(design, strategy, heights, measure)
        if is_first and (initial := first()) is not None:
            given = _Given.of(space, initial)
            cells, heights = search.cells(given, measure, cells)
            design = search.better(design, given, heights)
        yield design
    assert design is not None
    product = design.measure
    for design in level_designs(search, design, product):  # noqa: B020 - each from the last
        yield design
    if design.gap > CLOSE:
        for mixture, strategy in mixtures_of_rising_t(space, product, search.rng):
            cells, heights = search.cells(strategy, mixture, cells)
            rise = strategy.bound / design.bound - 1.0
            design = search.better(design, strategy, heights, mixture)
            yield design
            if 0.0 < rise < MIXED_RISE * design.gap:
                break
        yield from search.designs_with_cells(design, product, np.zeros(0), cells)


def level_designs(
    search: Search, design: Design, product: Mixture, solved: Solved | None = None
) -> Iterator[Design]:
    """Designs from level strategies about a product of measures, of densities that may be negative.

    solved : the spectrum at moments.
    """
    profiles = Profiles(search.space, tuple(measures[0] for measures in product.factors))
    # ``since``: steps since the last gain; ``least``: the flattest f so far.
    cells, since, least = np.zeros((0, len(search.space.shape)), dtype=np.int64), 0, math.inf
    for step, strategy in enumerate(level_strategies(search.space, profiles, product, solved)):
        cells, heights = search.cells(strategy, product, cells)
        new = search.better(design, strategy, heights)
        # Where shares move, too, a flatter strategy need not be better.
        is_flatter = solved is None and heights[0] < least
        is_better = is_flatter or new.gap < design.gap * (1.0 - LEVEL_FALL)
        design, since = new, 0 if is_better else since + 1
        least = min(least, float(heights[0]))
        yield design
        is_level = heights[0] - 1.0 <= max(CLOSE, LEVEL_SHARE * design.gap)
        if is_level or step >= LEVEL_STEPS or since >= LEVEL_PATIENCE:
            break


def products_of_rising_t(space: RowSpace, measure: Mixture) -> Iterator[tuple[Mixture, MomentSpectrum]]:
    """Single products of rising t, until no attribute's measure promises more."""
    strategy = spectrum(space, space.moments(measure))
    steps = MixedSteps()
    for _ in range(PRODUCT_STEPS):
        yield measure, strategy
        means = space.means(measure, strategy.parts)
        if max(float(mean.max()) for mean in means) <= 1.0 + PRODUCT_CLOSE:
            return
        miss = POWER * np.log(np.maximum(np.concatenate([mean[0] for mean in means]), LEAST_MEAN))
        steps = steps.with_step(np.log(np.concatenate([factor[0] for factor in measure.factors])), miss)
        # The mixed step, the plain one, and one of power 1: the first by which t rises.
        for target in (steps.next(), steps.places[-1] + miss, steps.places[-1] + miss / POWER):
            new = _product_of(target, space.shape)
            better = spectrum(space, space.moments(new))
            if better.total > strategy.total:
                break
        else:
            return
        measure, strategy = new, better


def _product_of(logarithms: Array, shape: Sequence[int]) -> Mixture:
    """One product of measures, from the logarithms of multiples of them, one measure after the other."""
    each = np.split(logarithms, np.cumsum(shape)[:-1])
    factors = [np.exp(np.maximum(logs - logs.max(), LEAST_LOGARITHM))[None] for logs in each]
    return Mixture(np.ones(1), tuple(factor / factor.sum() for factor in factors))


def added_cells(
    search: Search, strategy: MomentSpectrum, mixture: Mixture, cells: Ints, heights: Array
) -> Ints:
    """Cells with large f that are not in the mixture: the local maxima, then those nearly as high."""
    more = high_neighbours(search.space.profile(strategy.parts), search.space.shape, cells, heights)
    present = {  # all but the first product of the mixture are cells
        tuple(cell) for cell in np.stack([f.argmax(axis=1) for f in mixture.factors], axis=1)[1:].tolist()
    }
    candidates = dict.fromkeys(map(tuple, np.concatenate([cells[heights > 1.0 + CLOSE], more]).tolist()))
    room = min(MOST_ADDED, MOST_COLUMNS - mixture.count)
    new = [cell for cell in candidates if cell not in present][: max(0, room)]
    return np.array(new, dtype=np.int64).reshape(len(new), cells.shape[1])


def target_designs(space: RowSpace, queries: QueryShares, seed: int = 0) -> Iterator[Design]:
    """Designs, each no worse than the one before; they end where nothing improves.

    ``seed``: of the draws of cells where the search for long columns starts.

    Raises
    ------
    TimeLimitError : beyond the time limit (``mmopt.limits.deadline``); the caller may stop at any time.
    """
    search = Search(space, np.random.default_rng(seed), queries)
    cells = np.zeros((0, len(space.shape)), dtype=np.int64)
    measure, shares = Mixture(np.ones(1), tuple(uniform[None] for uniform in space.uniform)), queries.even
    design: Design | None = None
    for _ in range(ROUNDS):
        *_, (measure, strategy) = itertools.islice(
            products_of_rising_t(queries.weighing(space, shares), measure), STEPS_A_ROUND
        )
        before = strategy.total
        shares, strategy = search.with_shares(strategy.moments, shares)
        cells, heights = search.cells(strategy, measure, cells)
        design = search.better(design, strategy, heights, measure, shares)
        yield design
        if strategy.total <= before * (1.0 + TARGETS_CLOSE / 100.0):
            break
    assert design is not None
    of_product = shares

    def solved(moments: Sequence[Array]) -> MomentSpectrum:
        """The spectrum at the best shares for these moments, starting from the last shares."""
        nonlocal shares
        shares, strategy = search.with_shares(moments, shares)
        return strategy

    for design in level_designs(search, design, measure, solved):  # noqa: B020 - as above
        yield design
    yield from search.designs_with_cells(design, measure, of_product, cells)
