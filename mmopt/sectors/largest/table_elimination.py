"""The largest value of a sum of tables, one attribute after the other (dynamic programming).

The tables of an attribute are added up over all their attributes, and its maximum is a table of the others
(Bertelè & Brioschi, Nonserial Dynamic Programming, 1972). Where all attributes are linked that is to look at
all cells; where few are, the largest such table decides what it costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.sectors.largest.table_sums import Axes, TableSum, along

__all__ = ["elimination", "largest_by_elimination"]


def elimination(sets: Iterable[Axes], sizes: Sequence[int]) -> tuple[tuple[Axes, ...], float]:
    """The attributes of each step, the one that goes first, and entries of all tables that are made.

    The next is always the one of the smallest table.
    """
    around: dict[int, set[int]] = {}
    for axes in sets:
        for axis in axes:
            around.setdefault(axis, set()).update(axes)
    steps, entries = [], 0.0
    while around:
        costs = {axis: math.prod(float(sizes[other]) for other in own) for axis, own in around.items()}
        axis = min(costs, key=lambda one: costs[one])
        entries += costs[axis]
        linked = around.pop(axis)
        linked.discard(axis)
        for other in linked:
            around[other] |= linked
            around[other].discard(axis)
        steps.append((axis, *sorted(linked)))
    return tuple(steps), entries


def largest_by_elimination(tables: TableSum, steps: Sequence[Axes]) -> tuple[float, Ints]:
    """The largest sum, as floats add it up, and a cell (k,) of it; attributes of no table are 0."""
    left = dict(enumerate(tables.arrays.items()))
    held: list[dict[Axes, Array]] = []
    value = tables.constant
    for axis, *others in steps:
        own = [at for at, (axes, _) in left.items() if axis in axes]
        bucket = [left.pop(at) for at in own]
        held.append(_joined(bucket))
        found = _summed((axis, *others), held[-1], tables.sizes).max(axis=0)
        if others:
            left[-len(held)] = (tuple(others), found)
        else:
            value += float(found)
    cell = np.zeros(len(tables.sizes), dtype=np.int64)
    for (axis, *_), bucket_of in zip(reversed(steps), reversed(held), strict=True):
        line = np.zeros(tables.sizes[axis])
        for axes, array in bucket_of.items():
            line += array[tuple(slice(None) if other == axis else cell[other] for other in axes)]
        cell[axis] = int(line.argmax())
    return value, cell


def _joined(bucket: Iterable[tuple[Axes, Array]]) -> dict[Axes, Array]:
    """Tables of the same attributes as one."""
    found: dict[Axes, Array] = {}
    for axes, array in bucket:
        found[axes] = found[axes] + array if axes in found else array
    return found


def _summed(axes: Sequence[int], arrays: Mapping[Axes, Array], sizes: Sequence[int]) -> Array:
    """The sum of tables as one of all ``axes``, in this order; those that lack an axis are added up first."""
    out = np.zeros([sizes[axis] for axis in axes])
    left = dict(arrays)
    for at in sorted(range(len(axes)), key=lambda at: -sizes[axes[at]]):
        short = [*axes[:at], *axes[at + 1 :]]
        own = {key: left.pop(key) for key in list(left) if axes[at] not in key}
        if len(own) > 1:
            out += np.expand_dims(_summed(short, own, sizes), at)
        else:
            for key, array in own.items():
                out += _turned(array, key, axes)
    for key, array in left.items():
        out += _turned(array, key, axes)
    return out


def _turned(array: Array, key: Axes, axes: Sequence[int]) -> Array:
    """A table of ascending attributes as one of ``axes``, in their order, of size 1 along what it lacks."""
    kept = [axis for axis in axes if axis in key]
    return along(array.transpose([key.index(axis) for axis in kept]), tuple(kept), tuple(axes))
