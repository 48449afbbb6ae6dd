"""Sums of tables of few attributes, f(x) = constant + Σ tables[U][x_U], and what their rounding comes to.

Tables of attributes that all belong to a larger table are spread over the larger ones. Every float operation
on an entry is counted: the floats' sum is within ``lost`` of what was given, and a sum of T entries, in any
order, within γ_T of the sum of their sizes besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.numerics.balls import GROW, U, gamma

__all__ = ["Axes", "TableSum", "along", "fixed", "spread", "tables_of", "uppers", "values_of"]

Axes = tuple[int, ...]
"""Attributes of a table, ascending."""


@dataclass(frozen=True, eq=False)
class TableSum:
    """A sum of tables, none of whose sets is within another.

    sizes : of each attribute; 1 where it is fixed. arrays : by attributes, with an axis for each.
    lost : at least |f - what it stands for|. The arrays of a sum that is worked on are nobody else's.
    """

    sizes: tuple[int, ...]
    arrays: Mapping[Axes, Array]
    constant: float
    lost: float

    @property
    def slack(self) -> float:
        """What an upper bound that is summed from the tables may be short of."""
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
    """A table of some axes as one of more of them, of size 1 along the others."""
    shape = iter(array.shape)
    return array.reshape([next(shape) if axis in axes else 1 for axis in within])


def tables_of(shape: Sequence[int], tables: Mapping[Axes, Array], rounding: float) -> TableSum:
    """From tables over ascending axes, each an array of their sizes; the sum is off by ``rounding``."""
    short: dict[Axes, Array] = {}
    constant = lost = 0.0
    for axes, given in tables.items():
        kept = tuple(axis for axis in axes if shape[axis] > 1)
        array = np.asarray(given, dtype=float).reshape([shape[axis] for axis in kept])
        if not kept:
            constant += float(array)
            lost += U * abs(constant)
        elif kept in short:
            short[kept] = short[kept] + array
            lost += U * size_of(short[kept])
        else:
            short[kept] = array
    return spread(TableSum(tuple(shape), short, constant, rounding + lost))


def spread(tables: TableSum) -> TableSum:
    """Tables whose set is within another's, in equal shares over the largest sets around it."""
    sets = sorted(tables.arrays, key=len, reverse=True)
    largest: list[Axes] = []
    around: dict[Axes, list[Axes]] = {}
    for axes in sets:
        own = set(axes)
        around[axes] = [other for other in largest if own.issubset(other)]
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
    """The same at one value of an attribute."""
    arrays: dict[Axes, Array] = {}
    constant, lost = tables.constant, tables.lost
    for axes, array in tables.arrays.items():
        kept = tuple(other for other in axes if other != axis)
        own = array if len(kept) == len(axes) else np.asarray(array.take(value, axis=axes.index(axis)))
        if not kept:
            constant += float(own)
            lost += U * abs(constant)
        elif kept in arrays:
            arrays[kept] = arrays[kept] + own
            lost += U * size_of(arrays[kept])
        else:
            arrays[kept] = own
    sizes = tuple(1 if other == axis else size for other, size in enumerate(tables.sizes))
    return spread(TableSum(sizes, arrays, constant, lost))


def uppers(tables: TableSum, axis: int) -> Array:
    """(d,) for each value of an attribute the sum of the largest entries there."""
    found = np.full(tables.sizes[axis], tables.constant)
    for axes, array in tables.arrays.items():
        if axis in axes:
            others = tuple(at for at, other in enumerate(axes) if other != axis)
            found += array.max(axis=others)
        else:
            found += array.max()
    return found


def values_of(tables: TableSum, cells: Ints) -> Array:
    """(c,) f at cells (c, k)."""
    found = np.full(len(cells), tables.constant)
    for axes, array in tables.arrays.items():
        found += array[tuple(cells[:, axis] for axis in axes)]
    return found
