"""Functions of few attributes in coordinates that are orthonormal under a product measure.

A profile f(x) = Σ_U tables[U][x_U] is a function of at most 2w attributes at a time. In the
functions of each attribute it has one array of coordinates for each set U, on the products of one contrast of
each attribute of U. A density h of the same kind has the marginals μ_U Σ_{V in U} h_V on sets U, μ the
measure; these make up all moments of the (signed) measure with this density.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array
from mmopt.sectors.plain.functions_of_few import SectorComponent
from mmopt.sectors.plain.profile_tables import ProfileTables

__all__ = ["ProfileFunctions", "component_moments"]

Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ProfileFunctions:
    """Coordinates of functions of these sets of attributes."""

    unions: tuple[Axes, ...]
    """The sets of the tables."""
    measures: tuple[Array, ...]
    """(o,) an attribute: of its orbits, positive, of mass 1."""
    functions: tuple[Array, ...]
    """(o, o) an attribute: values of the constant and of others, orthonormal under its measure."""

    @cached_property
    def sets(self) -> tuple[Axes, ...]:
        """Those of the tables and all their subsets, the empty one first."""
        found = {v for u in self.unions for n in range(len(u) + 1) for v in itertools.combinations(u, n)}
        return tuple(sorted(found, key=lambda u: (len(u), u)))

    @cached_property
    def places(self) -> dict[Axes, slice]:
        """Where the coordinates of each set stand."""
        widths = [math.prod(len(self.measures[i]) - 1 for i in own) for own in self.sets]
        ends = list(itertools.accumulate(widths))
        return {u: slice(end - width, end) for u, width, end in zip(self.sets, widths, ends, strict=True)}

    @property
    def size(self) -> int:
        """Number of coordinates; the first is the mean."""
        return int(self.places[self.sets[-1]].stop)

    def coordinates(self, tables: ProfileTables) -> Array:
        """(size,) those of a sum of tables."""
        found = np.zeros(self.size)
        for union, table in tables.items():
            for i in union:  # the first axis goes, and comes back as the last
                weighed = self.measures[i][:, None] * self.functions[i]
                table = np.tensordot(table, weighed, axes=(0, 0))
            for own, has in _subsets(union):
                found[self.places[own]] += table[_slices(has)].ravel()
        return found

    def marginal(self, coordinates: Array, union: Axes) -> Array:
        """The marginal on one of the ``unions`` of the measure with this density, over its orbits."""
        shape = [len(self.measures[i]) for i in union]
        found = np.empty(shape)
        for own, has in _subsets(union):
            inside = [n - 1 if there else 1 for n, there in zip(shape, has, strict=True)]
            found[_slices(has, keep=True)] = coordinates[self.places[own]].reshape(inside)
        for i in union:
            found = np.tensordot(found, self.measures[i][:, None] * self.functions[i], axes=(0, 1))
        return np.asarray(found)


def _subsets(union: Axes) -> Iterable[tuple[Axes, tuple[bool, ...]]]:
    for has in itertools.product((False, True), repeat=len(union)):
        yield tuple(i for i, there in zip(union, has, strict=True) if there), has


def _slices(has: Sequence[bool], keep: bool = False) -> tuple[slice | int, ...]:
    return tuple(slice(1, None) if there else slice(0, 1) if keep else 0 for there in has)


def component_moments(
    component: SectorComponent, marginals: ProfileTables, functions: Sequence[Array]
) -> Array:
    """(dim, dim) means of products of two of the component's functions, its rests where they are.

    marginals : arrays over the orbits of the attributes of two sectors and of the rests, those of one orbit
    left out.
    functions : (o, o) an attribute, the constant first. Adjoint to ``profile_tables.add_component``.
    """
    found = np.empty((component.dim,) * 2)
    rests = {i: o for i, o in component.rests if len(functions[i]) > 1}
    contrasts = {i: functions[i][:, 1:] for i in component.attributes}
    squares = {i: (f[:, :, None] * f[:, None, :]).reshape(len(f), -1) for i, f in contrasts.items()}
    for at, first in enumerate(component.sectors):
        for second in component.sectors[at:]:
            union = tuple(sorted({*first, *second, *rests}))
            part = marginals[union][tuple(rests.get(i, slice(None)) for i in union)]
            kept = [i for i in union if i not in rests]
            shape, names = [], []
            for i in kept:  # the first axis goes; contrasts of the first, of the second or of both come last
                both = i in first and i in second
                part = np.tensordot(part, squares[i] if both else contrasts[i], axes=(0, 0))
                width = contrasts[i].shape[1]
                shape += [width, width] if both else [width]
                names += [(0, i), (1, i)] if both else [(0 if i in first else 1, i)]
            order = [names.index((0, i)) for i in first] + [names.index((1, i)) for i in second]
            block = np.transpose(part.reshape(shape), order).reshape(
                component.widths[at], component.widths[component.sectors.index(second)]
            )
            found[component.places[first], component.places[second]] = block
            found[component.places[second], component.places[first]] = block.T
    return found
