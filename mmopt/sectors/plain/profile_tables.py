"""The squared length of a strategy's columns as a sum of tables over few attributes, and its means.

f(x) = b(x)ᵀ N b(x) with functions of at most w attributes each is Σ_U tables[U][x_U] over sets U of at most
2w attributes. What is asked of f is a sum over the tables, however many cells there are.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.sectors.plain.functions_of_few import Sector, SectorComponent

__all__ = ["ProfileTables", "add_component", "at_cells", "means_given"]

ProfileTables = Mapping[tuple[int, ...], Array]
"""By attributes, which ascend, an array over their orbits; attributes of one orbit are left out."""


def add_component(
    tables: dict[tuple[int, ...], Array],
    component: SectorComponent,
    part: Array,
    functions: Sequence[Array],
    weight: float,
) -> None:
    """Add ``weight`` times vᵀ N v, v the component's products of contrasts, where all its rests are.

    tables : changed. part : N (dim, dim) symmetric. functions : (o, o) an attribute, the constant first.
    """
    shape = [len(own) for own in functions]
    rests = {i: o for i, o in component.rests if shape[i] > 1}
    for at, first in enumerate(component.sectors):
        rows = _at_orbits(part[component.places[first]], first, functions)
        for second in component.sectors[at:]:
            both = _at_orbits(rows[component.places[second]], second, functions)  # first's orbits, second's
            union = tuple(sorted({*first, *second, *rests}))
            labels = [union.index(i) for i in (*first, *second)]
            kept = [i for i in union if i not in rests]
            found = _diagonal(both, labels, [union.index(i) for i in kept])
            if union not in tables:
                tables[union] = np.zeros([shape[i] for i in union])
            place = tuple(rests.get(i, slice(None)) for i in union)
            tables[union][place] += (weight if second == first else 2.0 * weight) * found


def _diagonal(array: Array, labels: Sequence[int], kept: Sequence[int]) -> Array:
    """The entries where axes with the same label agree, an axis for each label in this order."""
    before, after = ("".join(chr(ord("a") + at) for at in own) for own in (labels, kept))
    return np.asarray(np.einsum(f"{before}->{after}", array))


def _at_orbits(part: Array, sector: Sector, functions: Sequence[Array]) -> Array:
    """Coordinates (width, …) on the contrasts of a sector to (…, orbits of each attribute)."""
    contrasts = [functions[i][:, 1:] for i in sector]
    found = part.reshape([own.shape[1] for own in contrasts] + list(part.shape[1:]))
    for own in contrasts:  # the first axis goes and comes back as the last; what was behind them stands first
        found = np.tensordot(found, own, axes=(0, 1))
    return np.asarray(found)


def at_cells(tables: ProfileTables, cells: Ints) -> Array:
    """(c,) f at cells (c, k) of orbits."""
    found = np.zeros(len(cells))
    for union, table in tables.items():
        found += table[tuple(cells[:, i] for i in union)]
    return found


def means_given(tables: ProfileTables, factors: Sequence[Array], at: int) -> list[Array]:
    """(o,) an attribute: the mean of f under the product number ``at``, given the attribute's orbit."""
    found = [np.zeros(own.shape[1]) for own in factors]
    whole = 0.0
    for union, table in tables.items():
        measures = [factors[i][at] for i in union]
        mean = float(_mean(table, measures))
        whole += mean
        for axis, i in enumerate(union):
            moved = np.moveaxis(table, axis, 0)
            found[i] += _mean(moved, measures[:axis] + measures[axis + 1 :]) - mean
    return [own + whole for own in found]


def _mean(table: Array, measures: Sequence[Array]) -> Array:
    """The table contracted with measures of its last axes."""
    return np.asarray(functools.reduce(np.matmul, reversed(measures), table))
