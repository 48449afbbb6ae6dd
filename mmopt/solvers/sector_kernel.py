"""The kernel of queries of few of many attributes: the best measure of the cells (``sectors.search``).

A design is the best measure so far, with its bound t², and the best strategy; both searches end at the
optimum. The largest column of a strategy is only found here.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.numerics.arrays import qr
from mmopt.numerics.spanned_cells import Measure, Spanned
from mmopt.numerics.split_arrays import Split
from mmopt.sectors.measures import Mixture
from mmopt.solvers.solver_protocol import Clock, Options, Pace, Point
from mmopt.stop_reasons import Stop

if TYPE_CHECKING:
    from mmopt.sectors.row_space import RowSpace
    from mmopt.sectors.search.best_design import Design
    from mmopt.sectors.sector_cells import SectorCells

__all__ = ["PROGRAMS", "TOLERANCE", "needs", "points", "takes"]

PROGRAMS = ("l2_strategy",)

TOLERANCE = 1e-2
"""Of the gap asked for by default: a largest entry is proved, not only found."""

MOST_DESIGNS = 1000
DESIGNS_TO_FALL = 40  # designs in which the gap has to fall by a tenth
NEXT_GAP = 0.5  # of the gap of one point, for that of the next
SHARE_OF_GAP = 0.99  # of the gap asked for: the program's own evaluation rounds to the worse side
ARRAYS, OPERATIONS = 24, 2e3  # of the size of the components that are held; decompositions of all of them
SHARES = (0.0, 1e-9, 1e-7, 1e-5)  # of another measure that are tried
SHARE_OF_PROOF = 0.3  # of a time limit
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
    """Points with its givens in ``env``: the first at the gap asked for, then closer.

    By its own count: the longest column is that found, which the program's evaluation proves or corrects.
    """
    from mmopt.sectors.search.best_design import designs  # numpy alone, but off the usual way

    cells = _queries(env).columns
    clock.handed_over = clock.elapsed
    pace = Pace(clock, SHARE_OF_GAP * options.tolerance, options.max_iterations or MOST_DESIGNS, NEXT_GAP)
    gaps: list[float] = []
    for design in designs(_with_root(_queries(env)), first=lambda: cells.first_strategy):
        gaps.append(design.gap)
        count = len(gaps)
        has_stalled = count > DESIGNS_TO_FALL and gaps[-1] > 0.9 * gaps[-1 - DESIGNS_TO_FALL]
        stop = pace.stop(count, done=has_stalled) or _stop_in_time(clock)
        if design.gap <= pace.wanted or stop:
            yield _point(cells, design, count, stop)
            if stop:
                return
            pace.tighten()
        else:
            yield Point({}, {}, count, "", estimate=(design.value, design.bound))
    yield _point(cells, design, len(gaps), clock.stop(done=True))


def _stop_in_time(clock: Clock) -> Stop | None:
    """Whether what is left of the time is needed to prove a largest column."""
    return Stop.STOPPED if clock.left < SHARE_OF_PROOF * (clock.left + clock.elapsed) else None


def _point(cells: SectorCells, design: Design, count: int, stop: Stop | None) -> Point:
    """The strategy, and the measure at the scale of the multipliers, which have the sum t²."""
    measure = _definite(cells, design.measure)
    measure = measure.scaled(design.bound / measure.total)
    return Point(
        {"X": Split(cells, cells, tuple(design.parts))},  # type: ignore[dict-item]
        {"sensitivity": Measure(cells, measure)},  # type: ignore[dict-item]
        count,
        f"gap {design.gap:.1e} by its own count",
        stop,
        estimate=(design.value, design.bound),
    )


def _queries(env: Mapping[str, Any]) -> Any:
    """The queries whose total error is asked for, as a matrix on the cells."""
    return env["W"]


def _with_root(queries: Split) -> RowSpace:
    """The row space with these queries for its root, up to rotation of their rows."""
    rows = copy.copy(queries.columns.rows)  # type: ignore[attr-defined]
    parts = tuple(qr(part) if len(part) > part.shape[1] else part for part in queries.parts)
    root = Split(queries.columns.abstract(tuple(map(len, parts))), rows.space, parts)
    object.__setattr__(rows, "root", root)  # of a copy that nobody else has
    return rows  # type: ignore[no-any-return]


def _definite(cells: SectorCells, measure: Mixture) -> Mixture:
    """With as little of the uniform measure as makes the rounding of the moments small beside it.

    The bound is concave in the measure: a share of another one costs no more than that share of it.
    """
    uniform = Mixture(np.array([measure.total]), tuple(own[None] for own in cells.rows.uniform))
    found = measure
    for share in SHARES:
        if share:
            found = measure.scaled(1.0 - share).joined(uniform.scaled(share))
        if max(cells.moments(found).offs) <= max(share, SHARES[1]):
            break
    return found
