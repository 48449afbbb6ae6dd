"""Cells where a sum of tables is large, by changing one attribute's value at a time: found, not proved."""

from __future__ import annotations

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.sectors.largest.table_sums import TableSum

__all__ = ["climbed", "scattered"]

MOST_ROUNDS = 50  # through all attributes


def scattered(sizes: tuple[int, ...], count: int) -> Ints:
    """(count, k) cells spread over the domain: multiples of roots of primes, modulo 1 (Weyl 1916)."""
    primes: list[int] = []
    number = 2
    while len(primes) < len(sizes):
        if all(number % prime for prime in primes):
            primes.append(number)
        number += 1
    places = np.outer(np.arange(1, count + 1), np.sqrt(np.array(primes, dtype=float))) % 1.0
    found: Ints = np.minimum((places * sizes).astype(np.int64), np.array(sizes) - 1)
    return found


def climbed(tables: TableSum, cells: Ints) -> Ints:
    """(c, k) cells from which no change of one attribute's value leads higher."""
    cells = cells.copy()
    found = {axis: _lines_of(tables, axis) for axis, size in enumerate(tables.sizes) if size > 1}
    for _ in range(MOST_ROUNDS):
        before = cells.copy()
        for axis, arrays in found.items():
            line = np.zeros((len(cells), tables.sizes[axis]))
            for others, array in arrays:
                line += array[tuple(cells[:, other] for other in others)]
            own, best = cells[:, axis], line.argmax(axis=1)
            each = np.arange(len(cells))
            cells[:, axis] = np.where(line[each, best] > line[each, own], best, own)
        if np.array_equal(cells, before):
            break
    return cells


def _lines_of(tables: TableSum, axis: int) -> list[tuple[tuple[int, ...], Array]]:
    """The tables of an attribute, with it last, and their other attributes."""
    return [
        (tuple(other for other in axes if other != axis), np.moveaxis(array, axes.index(axis), -1))
        for axes, array in tables.arrays.items()
        if axis in axes
    ]
