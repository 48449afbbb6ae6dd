"""Better and better measures, shares of the queries and strategies, for queries with targets.

As ``best_design.py``, with shares of the queries beside the weights of the mixture (``asked_shares.py``). A
strategy is worth its longest column times its largest variance next to the target. First one product of
measures and the shares are made better in turn, the latter by Newton steps; then level strategies,
each at the best shares for its moments; then columns, and Newton steps of all weights together.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.numerics.matrix_functions import eigh
from mmopt.sectors.measures import Mixture
from mmopt.sectors.row_space import RowSpace
from mmopt.sectors.search.asked_shares import AskedShares
from mmopt.sectors.search.best_design import Design, Search, added_cells, level_designs, products_of_rising_t
from mmopt.sectors.search.measure_columns import Columns, columns_of, columns_of_cells, slopes_and_curvature
from mmopt.sectors.search.simplex_program import best_on_simplex
from mmopt.sectors.search.spectrum import Spectrum, spectrum

__all__ = ["target_designs"]

ROUNDS = 20
STEPS_A_ROUND = 3  # of the product of measures
NEWTON_STEPS = 6  # of the shares, for moments that are held
CLOSE = 1e-3  # of the largest slope to 1, for what comes next to be worth more
LEAST_KEPT = 0.1  # of its weight that a column or an orbit keeps in a step
DROPPED = 1e-11
LEAST_OF_QUERY = 1e-10  # so that every query is seen
FLAT = 1e-9
LEAST_DEFINITE = 1e-12  # of the smallest eigenvalue to the largest


@dataclass(frozen=True, eq=False)
class _Weighed:
    """Columns with their weights, shares of the orbits, and the spectrum of both."""

    columns: Columns
    weights: Array
    shares: Array
    found: Spectrum


@dataclass(frozen=True, eq=False)
class _Targets:
    """What is searched: the space, its cells and queries."""

    space: RowSpace
    asked: AskedShares
    search: Search

    @property
    def often(self) -> list[float]:
        return [float(often) for often in self.space.space.multiplicities]

    def weighed(self, columns: Columns, weights: Array, shares: Array) -> _Weighed:
        """At weights and shares that are brought to the sum 1."""
        weights, shares = weights / weights.sum(), np.maximum(shares, LEAST_OF_QUERY)
        shares = shares / shares.sum()
        found = spectrum(self.asked.weighing(self.space, shares), columns.moments(weights))
        return _Weighed(columns, weights, shares, found)

    def stepped(self, at: _Weighed) -> _Weighed:
        """A Newton step of weights and shares, halved until t does not fall; the same if none is better."""
        slopes, curvature = slopes_and_curvature(at.columns, at.found, self.often, self.asked)
        place = np.concatenate([at.weights, at.shares])
        gradient = at.found.total / 2.0 * slopes - curvature @ place
        kept = LEAST_KEPT * place
        moved = kept + best_on_simplex(gradient + curvature @ kept, curvature, 2.0 * (1.0 - LEAST_KEPT))
        while float(np.abs(moved - place).max()) > DROPPED:
            new = self.weighed(at.columns, *np.split(moved, [len(at.weights)]))
            if new.found.total >= at.found.total:
                return new
            moved = (place + moved) / 2.0
        return at

    def with_shares(self, moments: Sequence[Array], shares: Array) -> tuple[Array, Spectrum]:
        """The best shares for these moments, more or less, and the spectrum."""
        columns = Columns(tuple(q[None] for q in moments), tuple(np.zeros((0, len(q))) for q in moments))
        at = self.weighed(columns, np.ones(1), shares)
        for _ in range(NEWTON_STEPS):
            new = self.stepped(at)
            is_done = new is at or self.worst(new.found) <= 1.0 + CLOSE
            at = new
            if is_done:
                break
        return at.shares, at.found

    def worst(self, found: Spectrum) -> float:
        """The largest variance at N next to its target, over t²."""
        return float(self.asked.slopes(found, self.often).max())

    def largest(self, found: Spectrum) -> float:
        """The largest variance next to its target of N as it is; infinity where it is singular."""
        total = np.zeros(len(self.asked.sizes))
        for at, (own, part, often) in enumerate(zip(self.asked.rows, found.parts, self.often, strict=True)):
            values, vectors = eigh(part)
            if not values.min(initial=np.inf) > LEAST_DEFINITE * values.max(initial=0.0):
                return np.inf
            total += often * self.asked.joined(np.square(own @ vectors) @ (1.0 / values), at)
        return float(total.max())


def target_designs(space: RowSpace, asked: AskedShares, seed: int = 0) -> Iterator[Design]:
    """Designs, each no worse than the one before; ends where nothing gets better.

    ``seed``: of the draws of cells where the search for long columns starts.

    Raises
    ------
    TimeLimitError : beyond the time limit (``mmopt.limits.deadline``); who iterates may stop at any time.
    """
    targets = _Targets(space, asked, Search(space, np.random.default_rng(seed)))
    cells = np.zeros((0, len(space.shape)), dtype=np.int64)
    measure, shares = Mixture(np.ones(1), tuple(own[None] for own in space.uniform)), asked.even
    design: Design | None = None
    for _ in range(ROUNDS):
        rising = products_of_rising_t(asked.weighing(space, shares), measure)
        *_, (measure, found) = itertools.islice(rising, STEPS_A_ROUND)
        before = found.total
        shares, found = targets.with_shares(found.moments, shares)
        cells, heights = targets.search.cells(found, measure, cells)
        design = _better(targets, design, found, heights, (measure, shares))
        yield design
        if found.total <= before * (1.0 + CLOSE / 100.0):
            break
    assert design is not None
    product, of_product = measure, shares

    def solved(moments: Sequence[Array]) -> Spectrum:
        """At the best shares for these moments, from those of the last."""
        nonlocal shares
        shares, found = targets.with_shares(moments, shares)
        return found

    better = functools.partial(_better, targets)
    for design in level_designs(targets.search, design, product, better, solved):  # noqa: B020 - as above
        yield design
    yield from _columns(targets, design, product, of_product, cells)


def _better(
    targets: _Targets,
    design: Design | None,
    found: Spectrum,
    heights: Array,
    bounding: tuple[Mixture, Array] | None = None,
) -> Design:
    """The design with what is better: the bound of a measure and shares, the value of the strategy."""
    total = targets.largest(found)
    value = total * float(heights[0])
    if design is None:
        assert bounding is not None
        return Design(bounding[0], found.bound, found.parts, total, value, shares=bounding[1])
    if bounding is not None and found.bound > design.bound:
        design = replace(design, measure=bounding[0], shares=bounding[1], bound=found.bound)
    return replace(design, parts=found.parts, total=total, value=value) if value < design.value else design


def _columns(
    targets: _Targets, design: Design, mixture: Mixture, shares: Array, cells: Ints
) -> Iterator[Design]:
    """Cells added to a product of measures, and all weights and shares made the best."""
    space = targets.space
    at = targets.weighed(columns_of(space, mixture), mixture.weights, shares)
    while True:
        cells, heights = targets.search.cells(at.found, mixture, cells)
        design = _better(targets, design, at.found, heights, (mixture, at.shares))
        yield design
        if design.gap <= FLAT:
            return
        added = added_cells(targets.search, at.found, mixture, cells, heights)
        if len(added):
            mixture = mixture.with_cells(added)
            at = replace(
                at, columns=at.columns.joined(columns_of_cells(space, added)), weights=mixture.weights
            )
        new = targets.stepped(at)
        if new is at and not len(added):
            return
        kept = new.weights > DROPPED
        kept[0] = True  # the product, so that every query is seen
        weights = new.weights[kept] / new.weights[kept].sum()
        mixture = Mixture(weights, tuple(own[kept] for own in mixture.factors))
        at = replace(new, columns=new.columns.kept(kept), weights=weights)
