"""Better and better measures of the cells, and strategies, for queries of few attributes.

First the best single product of measures: each is multiplied by the square of the mean of f given the
attribute's value, which is 1 where nothing is to be gained. Then strategies whose f is level
(``level_strategies.py``). Then mixtures of some products (``mixtures.py``). Then columns: cells where f is
large are added to the best product, and all weights are changed by a Newton step, the best point on the
simplex of the second-order model of t (fully corrective column generation, Wynn 1970 and Fedorov 1972 for
designs). Every measure has a bound, every strategy a total error; each is kept where it is the best so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.numerics.matrix_functions import eigh, is_definite
from mmopt.sectors.measures import Mixture
from mmopt.sectors.row_space import RowSpace
from mmopt.sectors.search.high_cells import climbed, high_neighbours
from mmopt.sectors.search.level_strategies import Solved, level_strategies
from mmopt.sectors.search.measure_columns import Columns, columns_of, columns_of_cells, slopes_and_curvature
from mmopt.sectors.search.mixed_steps import MixedSteps
from mmopt.sectors.search.mixtures import mixtures_of_rising_t
from mmopt.sectors.search.simplex_program import best_on_simplex
from mmopt.sectors.search.spectrum import Spectrum, spectrum

__all__ = ["Design", "Search", "added_cells", "designs", "level_designs", "products_of_rising_t"]

PRODUCT_STEPS, PRODUCT_CLOSE = 40, 1e-3
POWER = 2.0  # of the multiplicative steps (``level_strategies.py``)
LEAST_MEAN, LEAST_LOGARITHM = 1e-3, -60.0  # so that a value that nobody asks of keeps some measure
LEVEL_STEPS, LEVEL_PATIENCE = 80, 12
LEVEL_SHARE = 0.02  # of the gap that what is not level may be
LEVEL_FALL = 0.01  # of the gap in a step, for which it goes on
MIXED_RISE = 0.02  # of the gap, that a mixture has to rise by for the next
STARTS = 48  # cells that each search starts from, of each kind
MOST_ADDED = 300  # columns a round
MOST_COLUMNS = 3000
LEAST_SHARE = 0.1  # of its weight that a column keeps in a step
DROPPED = 1e-11
CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Design:
    """The best measure and the best strategy so far.

    measure : of mass 1. bound : t² of it, below the total error of every strategy, as computed.
    parts : N of the strategy. value : its total error at the longest column that was found, t² max f, not
    proved. total : t² alone, tr(R N⁻¹ Rᵀ). shares : those of the bound of queries that have targets
    (``target_designs.py``).
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
    """A strategy that is of no measure; ``bound``: its total error where its longest column is 1."""

    parts: tuple[Array, ...]
    bound: float

    @staticmethod
    def of(space: RowSpace, parts: Sequence[Array]) -> _Given:
        """Directions in which it has next to nothing are left out, as those that no query asks."""
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
class Search:
    """Where long columns are looked for: the space, and what is drawn by."""

    space: RowSpace
    rng: np.random.Generator

    def cells(self, found: Spectrum | _Given, measure: Mixture, known: Ints) -> tuple[Ints, Array]:
        """Cells to which nothing near is better, and their f, descending; from draws and from known ones."""
        chosen = self.rng.choice(measure.count, STARTS, p=measure.weights / measure.weights.sum())
        drawn = [
            [self.rng.choice(own.shape[1], p=own[at] / own[at].sum()) for at in chosen]
            for own in measure.factors
        ]
        anywhere = [self.rng.integers(o, size=STARTS) for o in self.space.shape]
        starts = [np.array(drawn).T, np.array(anywhere).T, known[:STARTS]]
        profile = self.space.profile(found.parts)
        return climbed(profile, self.space.shape, np.concatenate(starts))

    def better(
        self, design: Design, found: Spectrum | _Given, heights: Array, measure: Mixture | None = None
    ) -> Design:
        """The design with what is better than what it has: bound by the measure, value by the heights."""
        if measure is not None and found.bound > design.bound:
            design = replace(design, measure=measure, bound=found.bound)
        value = found.bound * float(heights.max())
        if value >= design.value:
            return design
        return replace(design, parts=found.parts, total=found.bound, value=value)


def designs(
    space: RowSpace,
    seed: int = 0,
    first: Callable[[], Sequence[Array] | None] = lambda: None,
) -> Iterator[Design]:
    """Designs, each no worse than the one before; ends where the gap is rounding or nothing gets better.

    Parameters
    ----------
    seed : of the draws of cells where the search starts.
    first : N of a strategy that is known, asked for after the uniform measure.

    Raises
    ------
    TimeLimitError : beyond the time limit (``mmopt.limits.deadline``); who iterates may stop at any time.
    """
    search = Search(space, np.random.default_rng(seed))
    uniform = Mixture(np.ones(1), tuple(own[None] for own in space.uniform))
    design: Design | None = None
    cells = np.zeros((0, len(space.shape)), dtype=np.int64)
    for measure, found in products_of_rising_t(space, uniform):
        cells, heights = search.cells(found, measure, cells)
        parts, value = found.parts, found.bound * float(heights[0])
        start = design or Design(measure, found.bound, parts, found.bound, value)
        new = search.better(start, found, heights, measure)
        if design is None and (known := first()) is not None:
            given = _Given.of(space, known)
            cells, heights = search.cells(given, measure, cells)
            new = search.better(new, given, heights)
        design = new
        yield design
    assert design is not None
    product = design.measure
    for design in level_designs(search, design, product, search.better):  # noqa: B020 - each from the last
        yield design
    if design.gap > CLOSE:
        for mixture, found in mixtures_of_rising_t(space, product, search.rng):
            cells, heights = search.cells(found, mixture, cells)
            rise = found.bound / design.bound - 1.0
            design = search.better(design, found, heights, mixture)
            yield design
            if 0.0 < rise < MIXED_RISE * design.gap:
                break
        yield from _columns(search, design, product, cells)


def level_designs(
    search: Search,
    design: Design,
    product: Mixture,
    better: Callable[[Design, Spectrum, Array], Design],
    solved: Solved | None = None,
) -> Iterator[Design]:
    """Designs from level strategies about a product of measures, of densities that may be negative.

    better : the design with what is better of a spectrum and its heights of f. solved : the spectrum at
    moments.
    """
    profiles = search.space.profiles([own[0] for own in product.factors])
    cells, since, least = np.zeros((0, len(search.space.shape)), dtype=np.int64), 0, math.inf
    for step, found in enumerate(level_strategies(search.space, profiles, product, solved)):
        cells, heights = search.cells(found, product, cells)
        new = better(design, found, heights)
        # Where shares move, too, what is flatter need not be better.
        is_flatter = solved is None and heights[0] < least
        is_better = is_flatter or new.gap < design.gap * (1.0 - LEVEL_FALL)
        design, since = new, 0 if is_better else since + 1
        least = min(least, float(heights[0]))
        yield design
        is_level = heights[0] - 1.0 <= max(CLOSE, LEVEL_SHARE * design.gap)
        if is_level or step >= LEVEL_STEPS or since >= LEVEL_PATIENCE:
            break


def products_of_rising_t(space: RowSpace, start: Mixture) -> Iterator[tuple[Mixture, Spectrum]]:
    """Single products of rising t, until no attribute's measure promises more."""
    measure = start
    found = spectrum(space, space.moments(measure))
    steps = MixedSteps()
    for _ in range(PRODUCT_STEPS):
        yield measure, found
        means = space.means(measure, found.parts)
        if max(float(own.max()) for own in means) <= 1.0 + PRODUCT_CLOSE:
            return
        miss = POWER * np.log(np.maximum(np.concatenate([own[0] for own in means]), LEAST_MEAN))
        steps = steps.with_step(np.log(np.concatenate([own[0] for own in measure.factors])), miss)
        for target in (steps.next(), steps.places[-1] + miss, steps.places[-1] + miss / POWER):
            new = _product_of(target, space.shape)
            better = spectrum(space, space.moments(new))
            if better.total > found.total:
                break
        else:
            return
        measure, found = new, better


def _product_of(logarithms: Array, shape: Sequence[int]) -> Mixture:
    """One product of measures, from the logarithms of multiples of all of them in a row."""
    each = np.split(logarithms, np.cumsum(shape)[:-1])
    factors = [np.exp(np.maximum(own - own.max(), LEAST_LOGARITHM))[None] for own in each]
    return Mixture(np.ones(1), tuple(own / own.sum() for own in factors))


def _columns(search: Search, design: Design, mixture: Mixture, cells: Ints) -> Iterator[Design]:
    """Cells added to products of measures, and their weights made the best."""
    space = search.space
    often = space.space.multiplicities.tolist()
    columns = columns_of(space, mixture)
    found = spectrum(space, columns.moments(mixture.weights))
    while True:
        cells, heights = search.cells(found, mixture, cells)
        design = search.better(design, found, heights, mixture)
        yield design
        if heights[0] <= 1.0 + CLOSE or design.gap <= CLOSE:
            return
        added = added_cells(search, found, mixture, cells, heights)
        if len(added):
            mixture = mixture.with_cells(added)
            columns = columns.joined(columns_of_cells(space, added))
        weights, found_next = _reweighted(space, columns, mixture.weights, found, often)
        if found_next is found and not len(added):
            return
        kept = weights > DROPPED
        kept[0] = True  # the product, so that every query is seen
        mixture = Mixture(weights[kept] / weights[kept].sum(), tuple(own[kept] for own in mixture.factors))
        columns, found = columns.kept(kept), found_next


def added_cells(search: Search, found: Spectrum, mixture: Mixture, cells: Ints, heights: Array) -> Ints:
    """Cells with large f that are not in the mixture: the local maxima, then those nearly as high."""
    more = high_neighbours(search.space.profile(found.parts), search.space.shape, cells, heights)
    known = {tuple(own) for own in np.stack([f.argmax(axis=1) for f in mixture.factors], axis=1)[1:].tolist()}
    found_cells = dict.fromkeys(map(tuple, np.concatenate([cells[heights > 1.0 + CLOSE], more]).tolist()))
    room = min(MOST_ADDED, MOST_COLUMNS - mixture.count)
    new = [own for own in found_cells if own not in known][: max(0, room)]
    return np.array(new, dtype=np.int64).reshape(len(new), cells.shape[1])


def _reweighted(
    space: RowSpace, columns: Columns, weights: Array, found: Spectrum, often: Sequence[float]
) -> tuple[Array, Spectrum]:
    """A Newton step of the weights, halved until t does not fall."""
    slopes, curvature = slopes_and_curvature(columns, found, often)
    gradient = found.total / 2.0 * slopes - curvature @ weights
    kept = LEAST_SHARE * weights
    moved = kept + best_on_simplex(gradient + curvature @ kept, curvature, 1.0 - LEAST_SHARE)
    while True:
        new = spectrum(space, columns.moments(moved))
        if new.total >= found.total:
            return moved, new
        moved = (weights + moved) / 2.0
        if float(np.abs(moved - weights).max()) <= DROPPED:
            return weights, found
