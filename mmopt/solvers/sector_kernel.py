"""The kernel of queries of few of many attributes: the best measure of the cells (``sectors.best_design``).

A design is a measure with its bound t² and a strategy, whose error is t² times its largest squared column.
Bounds and strategies are kept apart: the best of each may come from different designs.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.numerics.arrays import qr
from mmopt.numerics.spanned_cells import Measure, Spanned
from mmopt.numerics.split_arrays import Split
from mmopt.sectors.measures import Mixture
from mmopt.solvers.solver_protocol import Clock, Options, Pace, Point
from mmopt.stop_reasons import Stop

if TYPE_CHECKING:
    from mmopt.sectors.best_design import Design
    from mmopt.sectors.row_space import RowSpace
    from mmopt.sectors.sector_cells import SectorCells

__all__ = ["PROGRAMS", "TOLERANCE", "needs", "points", "takes"]

PROGRAMS = ("l2_strategy", "weighted_l2")

TOLERANCE = 1e-2
"""Of the gap asked for by default: a largest entry is proved, not only found."""

MOST_DESIGNS = 200
DESIGNS_TO_FALL = 12  # designs in which the gap has to fall by a tenth
NEXT_GAP = 0.5  # of the gap of one point, for that of the next
SHARE_OF_GAP = 0.99  # of the gap asked for: the program's own evaluation rounds to the worse side
ARRAYS, OPERATIONS = 24, 2e3  # of the size of the components that are held; decompositions of all of them
SHARES = (0.0, 1e-9, 1e-7, 1e-5)  # of another measure that are tried
SECONDS_OF_LARGEST = 20.0  # that a maximum may take, in all designs together, more or less


def takes(givens: Mapping[str, Any]) -> bool:
    """Whether the givens are over cells that are not listed."""
    return any(isinstance(v, Split) and isinstance(v.columns, Spanned) for v in givens.values())


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes, besides those of any solve, and seconds; the latter to a factor of ten: a search decides."""
    dims = np.array(_queries(env).columns.dims, dtype=float)
    return 8.0 * ARRAYS * float(np.square(dims).sum()), SECONDS_OF_LARGEST + OPERATIONS * 3e-9 * float(
        np.power(dims, 3).sum()
    )


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Points with its givens in ``env``: the first at the gap asked for, then closer."""
    from mmopt.sectors.best_design import designs  # numpy alone, but off the usual way

    cells, rows = _queries(env).columns, _with_root(_queries(env))
    clock.handed_over = clock.elapsed
    pace = Pace(clock, SHARE_OF_GAP * options.tolerance, options.max_iterations or MOST_DESIGNS, NEXT_GAP)
    best, gaps = _Best(cells), []
    for design in designs(rows):
        best.offer(design)
        gaps.append(best.gap)
        count = len(gaps)
        has_stalled = count > DESIGNS_TO_FALL and gaps[-1] > 0.9 * gaps[-1 - DESIGNS_TO_FALL]
        stop = pace.stop(count, done=has_stalled)
        if best.gap <= pace.wanted or stop:
            yield best.point(count, stop)
            if stop:
                return
            pace.tighten()
        else:
            yield Point({}, {}, count, "", estimate=best.ends)
    yield best.point(len(gaps), clock.stop(done=True))


def _queries(env: Mapping[str, Any]) -> Any:
    """The queries whose total error is asked for, as a matrix on the cells."""
    return env["W"] if "W" in env else env["V"]


def _with_root(queries: Split) -> RowSpace:
    """The row space with these queries for its root, up to rotation of their rows."""
    rows = copy.copy(queries.columns.rows)  # type: ignore[attr-defined]
    parts = tuple(qr(part) if len(part) > part.shape[1] else part for part in queries.parts)
    root = Split(queries.columns.abstract(tuple(map(len, parts))), rows.space, parts)
    object.__setattr__(rows, "root", root)  # of a copy that nobody else has
    return rows  # type: ignore[no-any-return]


@dataclass
class _Best:
    """The best bound and the best strategy of the designs so far."""

    cells: SectorCells
    below: Design | None = None
    above: Design | None = None

    def offer(self, design: Design) -> None:
        if self.below is None or design.bound > self.below.bound:
            self.below = design
        if design.largest is not None:
            self.cells.note(design.parts, design.largest.upper)
        if self.above is None or _upper(design) < _upper(self.above):
            self.above = design

    @property
    def ends(self) -> tuple[float, float]:
        assert self.above is not None and self.below is not None
        return _upper(self.above), self.below.bound

    @property
    def gap(self) -> float:
        upper, lower = self.ends
        return upper / lower - 1.0

    def point(self, count: int, stop: Stop | None) -> Point:
        """The strategy, and the measure at the scale of the multipliers, which have the sum t²."""
        assert self.above is not None and self.below is not None
        measure, bound = _definite(self.cells, self.below.measure), self.below.bound
        measure = measure.times(measure.weights * (bound / float(measure.weights.sum())))
        return Point(
            {"X": Split(self.cells, self.cells, tuple(self.above.parts))},  # type: ignore[dict-item]
            {"sensitivity": Measure(self.cells, measure)},  # type: ignore[dict-item]
            count,
            f"gap {self.gap:.1e} by its own count",
            stop,
            estimate=self.ends,
        )


def _definite(cells: SectorCells, measure: Mixture) -> Mixture:
    """With as little of a product of positive measures as makes the rounding of the moments small beside it.

    The bound is concave in the measure: a share of another one costs no more than that share of it.
    """
    ones = [np.full((1, f.shape[1]), 1.0 / f.shape[1]) for f in measure.factors]
    factors = tuple(np.vstack([own, one]) for own, one in zip(measure.factors, ones, strict=True))
    total = float(measure.weights.sum())
    found = measure
    for share in SHARES:
        if share:
            found = Mixture(np.append((1.0 - share) * measure.weights, share * total), factors)
        if max(cells.moments(found).offs) <= max(share, SHARES[1]):
            break
    return found


def _upper(design: Design) -> float:
    """Total error of its strategy; infinity where the largest length is not known."""
    return math.inf if design.largest is None else design.largest.upper * design.bound
