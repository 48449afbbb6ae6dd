"""The largest value over all cells, proved, of a sum of tables, f(x) = constant + Σ tables[U][x_U].

Each table is over few attributes U. An upper bound is the sum of the tables' largest entries, after shifts
between tables have made it smaller. Where elimination is cheap it is exact; else one attribute is fixed to
each of its values, the part with the largest bound first (Land & Doig 1960), until the rest is cheap to
eliminate or no larger than the best value of a local search. The parts that are left at the time limit count
with their bounds.

**Rounding.** Tables of attributes that all belong to a larger table are spread over the larger ones. Every
float operation on an entry is counted: the floats' sum is within ``lost`` of the given one, and in addition a
sum of T entries, in any order, is within γ_T of the sum of their sizes.

**Local search.** One attribute's value changes at a time; a cell found this way proves nothing about others.

**Shifts.** Of all tables that hold a set S of attributes let m_U(x_S) be the largest entry of table U given
x_S; each gets the mean of them all in place of its own, which leaves the sum as it is and lowers the sum of
the maxima or keeps it (max-sum diffusion: Werner, A linear programming approach to max-sum problem, IEEE PAMI
29(7), 2007, there over single attributes; here over all sets that tables share).

**Elimination** is dynamic programming, one attribute after the other: the tables of an attribute are added up
over all their attributes, and its maximum is a table of the others (Bertelè & Brioschi, Nonserial Dynamic
Programming, 1972). Where all attributes are linked, this visits all cells; where few are, the largest such
table decides the cost.
"""

import heapq
import itertools
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from mmopt.numerics import GROW, Array, Ints, U, gamma, grouped

#: Attributes of a table, ascending.
Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TableSum:
    """A sum of tables, none of whose sets is within another.

    sizes : of each attribute; 1 where it is fixed. arrays : by attributes, with an axis for each.
    lost : at least |f - the exact sum|. The arrays of a sum that changes in place are shared with no other.
    """

    sizes: tuple[int, ...]
    arrays: Mapping[Axes, Array]
    constant: float
    lost: float

    @property
    def slack(self) -> float:
        """How far an upper bound summed from the tables may be too small."""
        size = sum(size_of(array) for array in self.arrays.values()) + abs(self.constant)
        return (self.lost + gamma(len(self.arrays) + 4) * size) * GROW

    @property
    def upper(self) -> float:
        """The sum of the largest entries."""
        return self.constant + sum(float(array.max()) for array in self.arrays.values())


def size_of(array: Array) -> float:
    """The largest magnitude."""
    return max(float(array.max()), -float(array.min()))


def along(array: Array, axes: Axes, within: Axes) -> Array:
    """A table of ``axes`` as one of all axes ``within``, of size 1 along those that it lacks."""
    shape = iter(array.shape)
    return array.reshape([next(shape) if axis in axes else 1 for axis in within])


def tables_of(shape: Sequence[int], tables: Mapping[Axes, Array], rounding: float) -> TableSum:
    """The sum of tables over ascending axes, each an array of their sizes; it is off by ``rounding``."""
    parts = []
    for axes, given in tables.items():
        kept = tuple(axis for axis in axes if shape[axis] > 1)
        parts.append((kept, np.asarray(given, dtype=float).reshape([shape[axis] for axis in kept])))
    return _summed_up(tuple(shape), parts, lost=rounding)


def _summed_up(
    sizes: tuple[int, ...],
    parts: Iterable[tuple[Axes, Array]],
    constant: float = 0.0,
    lost: float = 0.0,
) -> TableSum:
    """The sum of tables, perhaps several of the same attributes or of none, and of ``constant``.

    lost : at least how far the given parts are off already.
    """
    arrays: dict[Axes, Array] = {}
    for axes, part in parts:
        if not axes:
            constant += float(part)
            lost += U * abs(constant)
        elif axes in arrays:
            arrays[axes] = arrays[axes] + part
            lost += U * size_of(arrays[axes])
        else:
            arrays[axes] = part
    return spread(TableSum(sizes, arrays, constant, lost))


def spread(tables: TableSum) -> TableSum:
    """Tables whose set is within another's, in equal shares over the largest sets around it."""
    largest: list[Axes] = []
    around: dict[Axes, list[Axes]] = {}
    for axes in sorted(tables.arrays, key=len, reverse=True):
        around[axes] = [other for other in largest if set(axes).issubset(other)]
        if not around[axes]:
            largest.append(axes)
    arrays = {axes: tables.arrays[axes].copy() for axes in largest}
    sizes = {axes: size_of(array) for axes, array in arrays.items()}
    lost = tables.lost
    for axes, others in around.items():
        if others:
            share = tables.arrays[axes] / len(others)
            size = size_of(share) * GROW
            lost += 2 * U * size * len(others)
            for other in others:
                arrays[other] += along(share, axes, other)
                sizes[other] = (sizes[other] + size) * GROW
                lost += U * sizes[other]
    return TableSum(tables.sizes, arrays, tables.constant, lost * GROW)


def fixed(tables: TableSum, axis: int, value: int) -> TableSum:
    """The sum at one value of an attribute."""
    parts = [
        (
            tuple(other for other in axes if other != axis),
            np.asarray(array.take(value, axis=axes.index(axis))) if axis in axes else array,
        )
        for axes, array in tables.arrays.items()
    ]
    sizes = tuple(1 if other == axis else size for other, size in enumerate(tables.sizes))
    return _summed_up(sizes, parts, tables.constant, tables.lost)


def uppers(tables: TableSum, axis: int) -> Array:
    """(d,) for each value of an attribute the sum of the largest entries there."""
    sums = np.full(tables.sizes[axis], tables.constant)
    for axes, array in tables.arrays.items():
        if axis in axes:
            sums += array.max(axis=tuple(at for at, other in enumerate(axes) if other != axis))
        else:
            sums += array.max()
    return sums


def values_of(arrays: Mapping[Axes, Array], cells: Ints, constant: float = 0.0) -> Array:
    """(c,) the sum of tables and of a constant at cells (c, k)."""
    sums = np.full(len(cells), constant)
    for axes, array in arrays.items():
        sums += array[tuple(cells[:, axis] for axis in axes)]
    return sums


MOST_ROUNDS = 50  # of the local search through all attributes


def scattered(sizes: tuple[int, ...], count: int) -> Ints:
    """(count, k) cells spread over the domain: multiples of roots of primes, modulo 1 (Weyl 1916)."""
    primes = (n for n in itertools.count(2) if all(n % d for d in range(2, math.isqrt(n) + 1)))
    roots = np.sqrt(np.fromiter(primes, dtype=float, count=len(sizes)))
    places = np.outer(np.arange(1, count + 1), roots) % 1.0
    cells: Ints = np.minimum((places * sizes).astype(np.int64), np.array(sizes) - 1)
    return cells


def climbed_by_attribute(tables: TableSum, cells: Ints) -> Ints:
    """(c, k) cells from which no change of one attribute's value leads higher."""
    cells = cells.copy()
    lines = {  # the tables of each attribute, with it last, and their other attributes
        axis: [
            (tuple(other for other in axes if other != axis), np.moveaxis(array, axes.index(axis), -1))
            for axes, array in tables.arrays.items()
            if axis in axes
        ]
        for axis, size in enumerate(tables.sizes)
        if size > 1
    }
    for _ in range(MOST_ROUNDS):
        before = cells.copy()
        for axis, arrays in lines.items():
            line = np.zeros((len(cells), tables.sizes[axis]))
            for others, array in arrays:
                line += array[tuple(cells[:, other] for other in others)]
            current, best = cells[:, axis], line.argmax(axis=1)
            each = np.arange(len(cells))
            cells[:, axis] = np.where(line[each, best] > line[each, current], best, current)
        if np.array_equal(cells, before):
            break
    return cells


def separators(sets: Iterable[Axes]) -> dict[Axes, list[Axes]]:
    """Sets of attributes that tables share, with these tables; without those that larger sets make needless.

    A set S is needless where larger sets connect all the tables that hold S: every shift by S goes by them.
    """
    holders = grouped(
        (subset, axes)
        for axes in sets
        for count in range(1, len(axes))
        for subset in itertools.combinations(axes, count)
    )
    shared = {subset: tables for subset, tables in holders.items() if len(tables) > 1}
    return {subset: tables for subset, tables in shared.items() if not _connected(subset, tables, shared)}


def _connected(subset: Axes, tables: list[Axes], shared: dict[Axes, list[Axes]]) -> bool:
    """Whether larger shared sets lead from each of the tables to all others."""
    left = set(tables)
    reached = [left.pop()]
    while reached and left:
        others = [axis for axis in reached.pop() if axis not in subset]
        for axis in others:  # sets of one more suffice: larger ones contain such
            new = [other for other in shared.get(tuple(sorted((*subset, axis))), ()) if other in left]
            left.difference_update(new)
            reached += new
    return not left


def shifted(tables: TableSum, shares: dict[Axes, list[Axes]], rounds: int, enough: float) -> TableSum:
    """The sum after ``rounds`` over all shared sets, fewer where the bound falls by less than ``enough``."""
    arrays = {axes: array.copy() for axes, array in tables.arrays.items()}
    moved, lost, upper = tables, tables.lost, tables.upper
    for _ in range(rounds):
        sizes = {axes: size_of(array) for axes, array in arrays.items()}
        for subset, holders in shares.items():
            lost += _levelled(arrays, sizes, subset, holders)
        moved = TableSum(tables.sizes, arrays, tables.constant, lost * GROW)
        last, upper = upper, moved.upper
        if last - upper < enough:
            break
    return moved


def _levelled(
    arrays: dict[Axes, Array], sizes: dict[Axes, float], subset: Axes, holders: list[Axes]
) -> float:
    """Give each table the mean of their maxima; returns at least how far rounding moved their sum."""
    most = [
        arrays[axes].max(axis=tuple(at for at, axis in enumerate(axes) if axis not in subset))
        for axes in holders
    ]
    mean = sum(most) / len(most)
    lost = total = 0.0
    for axes, largest in zip(holders, most, strict=True):
        change = mean - largest
        arrays[axes] += along(change, subset, axes)
        sizes[axes] = (sizes[axes] + size_of(change)) * GROW
        total += sizes[axes] + size_of(largest)
        lost += U * sizes[axes]
    # The changes sum to zero but for rounding of the mean, a sum of len(most) terms, and of each difference.
    return (lost + (len(most) + 3) * U * total * 2) * GROW


def elimination(sets: Iterable[Axes], sizes: Sequence[int]) -> tuple[tuple[Axes, ...], float]:
    """The attributes of each step, the eliminated one first, and the number of entries of all tables made.

    The next attribute is always the one of the smallest table.
    """
    tables = grouped((axis, axes) for axes in sets for axis in axes)
    around = {axis: set[int]().union(*each) for axis, each in tables.items()}
    steps, entries = [], 0.0
    while around:
        costs = {axis: math.prod(float(sizes[other]) for other in group) for axis, group in around.items()}
        axis = min(costs, key=lambda one: costs[one])
        entries += costs[axis]
        linked = around.pop(axis) - {axis}
        for other in linked:
            around[other] |= linked
            around[other].discard(axis)
        steps.append((axis, *sorted(linked)))
    return tuple(steps), entries


def largest_by_elimination(tables: TableSum, steps: Sequence[Axes]) -> tuple[float, Ints]:
    """The largest sum, as floats add it up, and a cell (k,) of it; attributes of no table are 0.

    steps : of ``elimination``: an attribute, and those that share a table with it then.
    """
    left = dict(enumerate(tables.arrays.items()))
    buckets: list[dict[Axes, Array]] = []
    value = tables.constant
    for axis, *others in steps:
        numbers = [at for at, (axes, _) in left.items() if axis in axes]
        buckets.append(_joined(left.pop(at) for at in numbers))
        table = _summed((axis, *others), buckets[-1], tables.sizes).max(axis=0)
        if others:  # the new table has a number below 0, as no given one has
            left[-len(buckets)] = (tuple(others), table)
        else:
            value += float(table)
    cell = np.zeros(len(tables.sizes), dtype=np.int64)
    for (axis, *_), bucket in zip(reversed(steps), reversed(buckets), strict=True):
        line = np.zeros(tables.sizes[axis])
        for axes, array in bucket.items():
            line += array[tuple(slice(None) if other == axis else cell[other] for other in axes)]
        cell[axis] = int(line.argmax())
    return value, cell


def _joined(bucket: Iterable[tuple[Axes, Array]]) -> dict[Axes, Array]:
    """Tables of the same attributes as one."""
    return {axes: reduce(np.add, arrays) for axes, arrays in grouped(bucket).items()}


def _summed(axes: Sequence[int], arrays: Mapping[Axes, Array], sizes: Sequence[int]) -> Array:
    """The sum of tables as one of all ``axes``, in this order; those that lack an axis are added up
    first, in a smaller array."""
    out = np.zeros([sizes[axis] for axis in axes])
    left = dict(arrays)
    for at in sorted(range(len(axes)), key=lambda at: -sizes[axes[at]]):
        short = [*axes[:at], *axes[at + 1 :]]
        lacking = {key: left.pop(key) for key in list(left) if axes[at] not in key}
        if len(lacking) > 1:
            out += np.expand_dims(_summed(short, lacking, sizes), at)
        else:
            for key, array in lacking.items():
                out += _with_axes(array, key, axes)
    for key, array in left.items():
        out += _with_axes(array, key, axes)
    return out


def _with_axes(array: Array, key: Axes, axes: Sequence[int]) -> Array:
    """A table of ascending attributes as one of ``axes``, in their order, of size 1 along what it lacks."""
    kept = [axis for axis in axes if axis in key]
    return along(array.transpose([key.index(axis) for axis in kept]), tuple(kept), tuple(axes))


STARTS = 64  # of the local search
EASY = 2e6  # entries of elimination up to which nothing is branched over
ROUNDS_AT_FIRST, ROUNDS = 20, 2  # of shifts, for the whole and for a part
CLOSE = 1e-9  # a part whose bound exceeds the best value so far by less, relatively, is done
LITTLE = 1e-2  # shifts go on while a round lowers the bound by this share of its distance to the best value


@dataclass(frozen=True, eq=False)
class Largest:
    """The largest f over the cells: ``upper`` is proved, whatever time there was; ``lower`` is f at ``cell``.

    cell : (k,) orbit numbers. Where every cell was ruled out or looked at, ``upper`` is ``lower`` but for
    rounding and 1e-9 of it; else it is the largest upper bound still open.
    """

    upper: float
    lower: float
    cell: Ints


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
    cells = climbed_by_attribute(whole, scattered(whole.sizes, STARTS))
    values = values_of(whole.arrays, cells, whole.constant)
    best, cell = float(values.max()), cells[int(values.argmax())]
    counter = itertools.count()
    parts = [_Part(-math.inf, next(counter), whole, np.zeros(len(shape), dtype=np.int64))]
    upper = -math.inf  # of all that was ruled out or looked at
    while parts and -parts[0].below > best + CLOSE * abs(best):
        if time.monotonic() > deadline and parts[0].axis is not None:
            break
        part = heapq.heappop(parts)
        opened = part.opened()
        steps, entries = elimination(opened.arrays, opened.sizes)
        if entries <= EASY:
            value, free_cell = largest_by_elimination(opened, steps)
            upper = max(upper, value + opened.slack)
            if value > best:
                best, cell = value, part.cell + free_cell
            continue
        rounds = ROUNDS_AT_FIRST if part.axis is None else ROUNDS
        opened = shifted(opened, separators(opened.arrays), rounds, LITTLE * max(opened.upper - best, 0.0))
        axis, bounds = _branch(opened, best)
        slack = opened.slack
        for at, bound in enumerate(bounds):
            most = min(float(bound) + slack, -part.below)
            if most > best + CLOSE * abs(best):
                there = part.cell.copy()
                there[axis] = at
                heapq.heappush(parts, _Part(-most, next(counter), opened, there, axis))
            else:
                upper = max(upper, most)
    upper = max([upper, *(-parts[0].below for _ in parts[:1])])
    lower = float(values_of(whole.arrays, cell[None, :], whole.constant)[0])
    return Largest(float(np.nextafter(upper, np.inf)), lower, cell)


def _branch(tables: TableSum, best: float) -> tuple[int, Array]:
    """The attribute to fix, whose values leave the least above the best so far, and their bounds."""
    bounds = {axis: uppers(tables, axis) for axis, size in enumerate(tables.sizes) if size > 1}
    open_of = {axis: float(np.square(np.maximum(b - best, 0.0)).mean()) for axis, b in bounds.items()}
    axis = min(open_of, key=lambda one: open_of[one])
    return axis, bounds[axis]
