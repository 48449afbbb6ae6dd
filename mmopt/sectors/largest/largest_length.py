"""The largest value of a sum of tables over all cells, proved: by elimination, else by branching.

An upper bound is the sum of the largest entries of the tables, after what they share was moved between them
(``shifted_tables.py``). Where elimination (``table_elimination.py``) is cheap it is exact; else one attribute
is fixed to each of its values, the part with the largest bound first (Land & Doig 1960), until the rest is
cheap to eliminate or no larger than what a local search found. What is left at the time limit counts as its
bound.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.sectors.largest.local_search import climbed, scattered
from mmopt.sectors.largest.shifted_tables import separators, shifted
from mmopt.sectors.largest.table_elimination import elimination, largest_by_elimination
from mmopt.sectors.largest.table_sums import Axes, TableSum, fixed, tables_of, uppers, values_of

__all__ = ["Largest", "largest_of_tables"]

STARTS = 64  # of the local search
EASY = 2e6  # entries of elimination up to which nothing is branched over
ROUNDS_AT_FIRST, ROUNDS = 20, 2  # of moving, for the whole and for a part
CLOSE = 1e-9  # a part whose bound exceeds what was found by less, relatively, is done
LITTLE = 1e-2  # moving goes on while a round lowers the bound by this share of what is open


@dataclass(frozen=True, eq=False)
class Largest:
    """The largest f over the cells: ``upper`` is proved, whatever time there was; ``lower`` is f at ``cell``.

    cell : (k,) orbit numbers. is_closed : whether every cell was ruled out or looked at, so that ``upper`` is
    ``lower`` but for rounding and 1e-9 of it; else it is the largest upper bound still open.
    """

    upper: float
    lower: float
    cell: Ints
    is_closed: bool


@dataclass(order=True, frozen=True)
class _Part:
    """Cells of ``tables``, at one value of an attribute if any; ``cell`` holds what is fixed, else 0."""

    below: float  # minus the upper bound, for the heap
    number: int
    tables: TableSum = field(compare=False)
    cell: Ints = field(compare=False)
    axis: int | None = field(compare=False, default=None)

    def opened(self) -> TableSum:
        """The tables of these cells alone; made only once the part is looked at."""
        return self.tables if self.axis is None else fixed(self.tables, self.axis, int(self.cell[self.axis]))


def largest_of_tables(
    shape: Sequence[int], tables: Mapping[Axes, Array], rounding: float, seconds: float
) -> Largest:
    """The largest f(x) = Σ_U tables[U][x_U] over the cells of ``shape``.

    Parameters
    ----------
    shape : values of each attribute.
    tables : by attributes, ascending, an array of the sizes of these; () has a number.
    rounding : each f(x) that is meant is within this of the sum of the tables' floats.
    seconds : a limit; at least one part is bounded whatever it is.
    """
    deadline = time.monotonic() + seconds
    whole = tables_of(shape, tables, rounding)
    cells = climbed(whole, scattered(whole.sizes, STARTS))
    values = values_of(whole, cells)
    best, cell = float(values.max()), cells[int(values.argmax())]
    counter = itertools.count()
    parts = [_Part(-math.inf, next(counter), whole, np.zeros(len(shape), dtype=np.int64))]
    upper = -math.inf  # of all that was ruled out or looked at
    while parts and -parts[0].below > best + CLOSE * abs(best):
        if time.monotonic() > deadline and parts[0].axis is not None:
            break
        part = heapq.heappop(parts)
        own = part.opened()
        steps, entries = elimination(own.arrays, own.sizes)
        if entries <= EASY:
            value, found = largest_by_elimination(own, steps)
            upper = max(upper, value + own.slack)
            if value > best:
                best, cell = value, part.cell + found
            continue
        rounds = ROUNDS_AT_FIRST if part.axis is None else ROUNDS
        own = shifted(own, separators(own.arrays), rounds, LITTLE * max(own.upper - best, 0.0))
        axis, bounds = _branch(own, best)
        slack = own.slack
        for at, bound in enumerate(bounds):
            most = min(float(bound) + slack, -part.below)
            if most > best + CLOSE * abs(best):
                there = part.cell.copy()
                there[axis] = at
                heapq.heappush(parts, _Part(-most, next(counter), own, there, axis))
            else:
                upper = max(upper, most)
    is_closed = not parts or -parts[0].below <= best + CLOSE * abs(best)
    upper = max([upper, *(-parts[0].below for _ in parts[:1])])
    lower = float(values_of(whole, cell[None, :])[0])
    return Largest(float(np.nextafter(upper, np.inf)), lower, cell, is_closed)


def _branch(tables: TableSum, best: float) -> tuple[int, Array]:
    """The attribute to fix, the one whose values leave least above what was found, and their bounds."""
    found = {axis: uppers(tables, axis) for axis, size in enumerate(tables.sizes) if size > 1}
    open_of = {axis: float(np.square(np.maximum(b - best, 0.0)).mean()) for axis, b in found.items()}
    axis = min(open_of, key=lambda one: open_of[one])
    return axis, found[axis]
