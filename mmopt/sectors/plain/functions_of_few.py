"""Functions of few attributes: a component of the row space as products of contrasts, sector by sector.

A component has a rest on each attribute of a set T, and on the others products of one contrast of each
attribute of a set U, its *sector*. Sectors come from the largest sets to the empty one, the last; in a sector
the last attribute's contrast varies fastest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.errors import TooLargeError
from mmopt.numerics.arrays import Array, Ints, fits_memory
from mmopt.sectors.plain.attribute_bases import AttributeBasis, Coefficients
from mmopt.symmetry.joint_components import MOST_COMPONENTS

__all__ = [
    "ProductCoefficients",
    "Rests",
    "Sector",
    "SectorComponent",
    "components_of",
    "copies",
    "require_blocks",
]

Sector = tuple[int, ...]
Rests = tuple[tuple[int, int], ...]
"""Pairs of an attribute, ascending, and an orbit of its values."""
Looked = tuple[tuple[int, tuple[int, ...], bool], ...]
"""The attributes that a product looks at, each with the orbits of its rests and whether it has contrasts."""

ARRAYS_AT_ONCE = 6
"""Matrices of the size of the largest block that the work holds at the same time."""


@dataclass(frozen=True, eq=False)
class ProductCoefficients:
    """A product of the workload by what it looks at: coefficients by attribute, ``scale`` times.

    rounding : of all coefficients, relative to their length (Frobenius).
    """

    factors: Mapping[int, Coefficients]
    scale: float
    rounding: float


@dataclass(frozen=True, eq=False)
class SectorComponent:
    """Rests on some attributes, as pairs of attribute and orbit, and the sectors of the others."""

    rests: Rests
    sectors: tuple[Sector, ...]
    widths: tuple[int, ...]
    """Functions of each sector: the product of its attributes' numbers of contrasts."""
    products: tuple[int, ...]
    """Which products of the workload, by number, have all its rests; no other has anything on it."""

    @property
    def dim(self) -> int:
        """Number of functions, each of which stands for as many as the rests have copies."""
        return sum(self.widths)

    @cached_property
    def places(self) -> dict[Sector, slice]:
        """Where each sector stands among the functions."""
        ends = itertools.accumulate(self.widths)
        return {
            s: slice(end - width, end) for s, width, end in zip(self.sectors, self.widths, ends, strict=True)
        }

    @cached_property
    def attributes(self) -> tuple[int, ...]:
        """Attributes with a contrast in some sector."""
        return tuple(sorted(set(itertools.chain.from_iterable(self.sectors))))

    def values(self, functions: Sequence[Array], cells: Ints) -> Array:
        """(c, dim) the products of contrasts at cells (c, k) of orbits; the rests are left out."""
        at = {i: functions[i][cells[:, i], 1:] for i in self.attributes}
        found = np.empty((len(cells), self.dim))
        for sector, place in self.places.items():
            own = np.ones((len(cells), 1))
            for i in sector:
                own = np.einsum("ca,cb->cab", own, at[i]).reshape(len(cells), own.shape[1] * at[i].shape[1])
            found[:, place] = own
        return found


def components_of(
    bases: Sequence[AttributeBasis], asked: Iterable[ProductCoefficients]
) -> list[SectorComponent]:
    """The components on which a product has something, in the order of their rests.

    Raises
    ------
    TooLargeError : too many components.
    """
    alike: dict[Looked, list[int]] = {}
    for at, product in enumerate(asked):
        looked = tuple((i, tuple(f.rests), f.flat.shape[1] > 1) for i, f in sorted(product.factors.items()))
        alike.setdefault(looked, []).append(at)
    sectors: dict[Rests, set[Sector]] = {}
    products: dict[Rests, list[int]] = {}
    for looked, numbers in alike.items():
        for rests in _choices(looked):
            taken = {i for i, _ in rests}
            free = [i for i, _, has_contrasts in looked if has_contrasts and i not in taken]
            sectors.setdefault(rests, set()).update(_subsets(free))
            products.setdefault(rests, []).extend(numbers)
            if len(sectors) > MOST_COMPONENTS:
                raise TooLargeError(
                    f"the row space splits into more than {MOST_COMPONENTS:,} components",
                    hint="group values of the attributes, or ask for queries of fewer attributes",
                )
    return [
        _component(bases, rests, sectors[rests], products[rests])
        for rests in sorted(sectors, key=lambda r: (len(r), r))
    ]


def _choices(looked: Looked) -> Iterator[Rests]:
    """Every choice of rests: at most one orbit an attribute."""
    options = [[(), *(((i, o),) for o in orbits)] for i, orbits, _ in looked]
    for picked in itertools.product(*options):
        yield tuple(itertools.chain.from_iterable(picked))


def _subsets(free: Sequence[int]) -> Iterator[Sector]:
    return itertools.chain.from_iterable(itertools.combinations(free, n) for n in range(len(free) + 1))


def _component(
    bases: Sequence[AttributeBasis], rests: Rests, sectors: set[Sector], products: list[int]
) -> SectorComponent:
    ordered = tuple(sorted(sectors, key=lambda s: (-len(s), s)))
    widths = tuple(math.prod(bases[i].orbits - 1 for i in sector) for sector in ordered)
    return SectorComponent(rests, ordered, widths, tuple(products))


def require_blocks(
    bases: Sequence[AttributeBasis], asked: Sequence[ProductCoefficients]
) -> list[SectorComponent]:
    """``components_of``, if the matrices of the largest fit in memory.

    Raises
    ------
    TooLargeError : they do not; with the number of functions, the memory, and the order that would fit.
    """
    found = components_of(bases, asked)
    most = max(own.dim for own in found)
    if fits_memory((most, most), ARRAYS_AT_ONCE):
        return found
    # Of the orders that are asked: of others nothing is counted.
    orders = sorted({len(product.factors) for product in asked}, reverse=True)[1:]
    fitting = (own for own in orders if blocks_fit(bases, [p for p in asked if len(p.factors) <= own]))
    order = next(fitting, 0)
    raise TooLargeError(
        f"the row space of these queries has {sum(_count(bases, own) for own in found):,} dimensions, "
        f"{most:,} of them in one block: "
        f"{ARRAYS_AT_ONCE} matrices of {8 * most**2 / 2**30:,.1f} GiB each are more than fits",
        hint=(
            f"those of at most {order} attribute{'s' * (order > 1)} fit; or group values of the attributes"
            if order
            else "group values of the attributes"
        ),
    )


def blocks_fit(bases: Sequence[AttributeBasis], asked: Sequence[ProductCoefficients]) -> bool:
    """Whether the matrices of the largest component fit in memory. Raises as ``components_of``."""
    most = max((own.dim for own in components_of(bases, asked)), default=0)
    return fits_memory((most, most), ARRAYS_AT_ONCE)


def _count(bases: Sequence[AttributeBasis], component: SectorComponent) -> int:
    return component.dim * copies(bases, component.rests)


def copies(bases: Sequence[AttributeBasis], rests: Rests) -> int:
    """How often a component stands in the row space: the product of s - 1 over its rests."""
    return math.prod(int(bases[i].sizes[o]) - 1 for i, o in rests)
