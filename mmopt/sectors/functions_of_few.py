"""Functions of few attributes: bases, products of them by component, and coefficients of queries.

**One attribute.** An attribute has d values, in o orbits of values that can be swapped in every query, s of
them in one orbit. Its functions, orthonormal under the uniform probability on the values, are

- the constant 1;
- o - 1 *contrasts*: constant on orbits, with mean zero;
- per orbit with s > 1 a *rest*: functions on that orbit with sum zero, s - 1 of them, all alike.

A query with the row F on the attribute has the coefficient F b / d on the function b. A measure that is
uniform within orbits has the mean δ (d / s) μ(orbit) of the product of two functions of one rest, and 0 of a
rest and any other function.

**Products.** A component of the row space has a rest on each attribute of a set T, and on the others products
of one contrast of each attribute of a set U, its *sector*. Sectors come from the largest sets to the empty
one, the last; in a sector the last attribute's contrast varies fastest.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.errors import TooLargeError
from mmopt.limits import fits_memory
from mmopt.numerics.arrays import Array, Ints
from mmopt.symmetry.attribute_queries import Piece, interchangeable
from mmopt.symmetry.components import MOST_COMPONENTS, AttributeSymmetry
from mmopt.workloads.blocks.combined_blocks import row_products
from mmopt.workloads.blocks.query_matrices import refine


@dataclass(frozen=True, eq=False)
class AttributeBasis:
    """The orbits of an attribute's values and the functions of them."""

    symmetry: AttributeSymmetry

    @property
    def size(self) -> int:
        """d, the number of values."""
        return len(self.symmetry.classes)

    @property
    def orbits(self) -> int:
        """o, the number of orbits."""
        return len(self.sizes)

    @property
    def sizes(self) -> Ints:
        """(o,) values in each orbit."""
        return self.symmetry.sizes

    @property
    def uniform(self) -> Array:
        """(o,) the uniform probability of each orbit."""
        return self.sizes / self.size

    @cached_property
    def functions(self) -> Array:
        """(o, o) at each orbit the values of the constant, which are 1, and of the contrasts."""
        return orthonormal_functions(self.uniform)

    @cached_property
    def squares(self) -> Array:
        """(o,) d / s: the square of a function of the orbit's rest, in the mean over the orbit."""
        return np.asarray(self.size / self.sizes, dtype=np.float64)

    def turned(self, coordinates: Array) -> Array:
        """(r, o) on the constant and the contrasts, from rows (r, o) on the orbits' unit vectors."""
        return np.asarray(coordinates @ _reflection(self.uniform))


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of a factor on the functions of an attribute, up to rotation of its rows.

    flat : (r, o) rows on the constant and the contrasts; where the factor is constant (1, 1): no contrast.
    rests : by orbit the one coefficient on its rest; orbits on which the factor has none are left out.
    """

    flat: Array
    rests: Mapping[int, float]

    @cached_property
    def constant(self) -> float:
        """The length of the coefficients on the constant."""
        return float(np.linalg.norm(self.flat[:, 0]))

    @property
    def is_constant(self) -> bool:
        """Whether the factor is the same for all values."""
        return self.flat.shape[1] == 1 and not self.rests


def orthonormal_functions(measure: Array) -> Array:
    """(o, o) values of the constant 1 and of o - 1 functions, orthonormal under a positive measure."""
    values = _reflection(measure) / np.sqrt(measure)[:, None]
    values[:, 0] = 1.0
    return np.asarray(values)


def _reflection(measure: Array) -> Array:
    """(o, o) the reflection that exchanges the first unit vector and the roots of the measure.

    Orthogonal and symmetric; these roots are its first column.
    """
    normal = -np.sqrt(measure)
    normal[0] += 1.0
    length = float(normal @ normal)
    identity = np.eye(len(measure))
    return identity if length == 0.0 else identity - np.outer(2.0 / length * normal, normal)


def basis_of(size: int, pieces: Sequence[Piece]) -> AttributeBasis:
    """The functions of an attribute with these queries; values are swapped where each piece allows it."""
    classes = refine([np.zeros(size, dtype=np.int64), *map(interchangeable, pieces)])
    return AttributeBasis(AttributeSymmetry.of(classes, reversal=False))


def coefficients(basis: AttributeBasis, piece: Piece) -> Coefficients:
    """The coefficients of a piece on the functions of its attribute.

    The squared coefficients of a total are 1, of an identity 1 / d, exactly; else from the root of the rows.

    Raises
    ------
    TooLargeError : a root that does not fit in memory.
    """
    symmetry, scale = basis.symmetry, 1.0 / np.sqrt(basis.size)
    if piece.kind == "total":
        return Coefficients(np.ones((1, 1)), {})
    several = np.flatnonzero(basis.sizes > 1).tolist()
    if piece.kind == "identity":
        return Coefficients(scale * np.eye(basis.orbits), dict.fromkeys(several, float(scale)))
    root = piece.root()
    # Whether all values are the same in every query is decided by the rows themselves: the root is rounded.
    if (root == root[:, :1]).all() and all((rows == rows[:, :1]).all() for rows in piece.blocks()):
        return Coefficients(np.array([[float(np.linalg.norm(root[:, 0]))]]), {})
    sums = symmetry.sums(root)
    even, *rests = (symmetry.root(part, root, sums, piece.blocks, mean=False) for part in symmetry.parts)
    on_rests = {o: float(scale * rest[0, 0]) for o, rest in zip(several, rests, strict=True) if len(rest)}
    return Coefficients(basis.turned(scale * even), on_rests)


Sector = tuple[int, ...]
#: Pairs of an attribute, ascending, and an orbit of its values.
Rests = tuple[tuple[int, int], ...]
#: The attributes that a product looks at, each with the orbits of its rests and whether it has contrasts.
Looked = tuple[tuple[int, tuple[int, ...], bool], ...]

#: Matrices of the size of the largest component that the work has in memory at the same time.
ARRAYS_AT_ONCE = 6


@dataclass(frozen=True, eq=False)
class ProductCoefficients:
    """A product of the workload on the attributes that it looks at: coefficients by each, ``scale`` times.

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
    #: Functions of each sector: the product of its attributes' numbers of contrasts.
    widths: tuple[int, ...]
    #: The numbers of the workload's products that have all its rests; all others are zero on it.
    products: tuple[int, ...]

    @property
    def dim(self) -> int:
        """Number of functions, each of which occurs once for every copy of the rests."""
        return sum(self.widths)

    @cached_property
    def places(self) -> dict[Sector, slice]:
        """The place of each sector among the functions."""
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
        values = np.empty((len(cells), self.dim))
        for sector, place in self.places.items():
            values[:, place] = row_products((at[i] for i in sector), len(cells))
        return values


def all_subsets(attributes: Iterable[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """All subsets of the given sets of attributes, each once: small ones first, then by number."""
    subsets = {
        part for one in attributes for w in range(len(one) + 1) for part in itertools.combinations(one, w)
    }
    return tuple(sorted(subsets, key=lambda one: (len(one), one)))


def components_of(
    bases: Sequence[AttributeBasis], products: Iterable[ProductCoefficients]
) -> list[SectorComponent]:
    """The components on which some product is not zero, in the order of their rests.

    Raises
    ------
    TooLargeError : too many components.
    """
    alike: dict[Looked, list[int]] = {}  # products that look alike have the same components
    for at, product in enumerate(products):
        looked = tuple((i, tuple(f.rests), f.flat.shape[1] > 1) for i, f in sorted(product.factors.items()))
        alike.setdefault(looked, []).append(at)
    sectors: dict[Rests, set[Sector]] = {}
    members: dict[Rests, list[int]] = {}
    for looked, numbers in alike.items():
        options = [[(), *(((i, o),) for o in orbits)] for i, orbits, _ in looked]
        for picked in itertools.product(*options):  # at most one orbit an attribute
            rests = tuple(itertools.chain.from_iterable(picked))
            free = [i for i, _, has_contrasts in looked if has_contrasts and i not in dict(rests)]
            sectors.setdefault(rests, set()).update(all_subsets([tuple(free)]))
            members.setdefault(rests, []).extend(numbers)
            if len(sectors) > MOST_COMPONENTS:
                raise TooLargeError(
                    f"the row space splits into more than {MOST_COMPONENTS:,} components",
                    hint="group values of the attributes, or ask for queries of fewer attributes",
                )
    return [
        _component(bases, rests, sectors[rests], members[rests])
        for rests in sorted(sectors, key=lambda r: (len(r), r))
    ]


def _component(
    bases: Sequence[AttributeBasis], rests: Rests, sectors: set[Sector], products: list[int]
) -> SectorComponent:
    """A component of these sectors, in order; ``products``: the numbers of those that have all its rests."""
    ordered = tuple(sorted(sectors, key=lambda s: (-len(s), s)))
    widths = tuple(math.prod(bases[i].orbits - 1 for i in sector) for sector in ordered)
    return SectorComponent(rests, ordered, widths, tuple(products))


def components_that_fit(
    bases: Sequence[AttributeBasis], products: Sequence[ProductCoefficients]
) -> list[SectorComponent]:
    """``components_of``, if the matrices of the largest fit in memory.

    Raises
    ------
    TooLargeError : they do not; with the number of functions, the memory, and the order that would fit.
    """
    components = components_of(bases, products)
    most = max(component.dim for component in components)
    if fits_memory((most, most), ARRAYS_AT_ONCE):
        return components
    # Only orders that some product has: others are not counted.
    orders = sorted({len(product.factors) for product in products}, reverse=True)[1:]
    order = next(
        (count for count in orders if blocks_fit(bases, [p for p in products if len(p.factors) <= count])), 0
    )
    raise TooLargeError(
        "the row space of these queries has "
        f"{sum(one.dim * copies(bases, one.rests) for one in components):,} dimensions, "
        f"{most:,} of them in one block: "
        f"{ARRAYS_AT_ONCE} matrices of {8 * most**2 / 2**30:,.1f} GiB each are more than fits",
        hint=(
            f"those of at most {order} attribute{'s' * (order > 1)} fit; or group values of the attributes"
            if order
            else "group values of the attributes"
        ),
    )


def blocks_fit(bases: Sequence[AttributeBasis], products: Sequence[ProductCoefficients]) -> bool:
    """Whether the matrices of the largest component fit in memory. Raises as ``components_of``."""
    most = max((component.dim for component in components_of(bases, products)), default=0)
    return fits_memory((most, most), ARRAYS_AT_ONCE)


def copies(bases: Sequence[AttributeBasis], rests: Rests) -> int:
    """The number of times that the row space contains a component: the product of s - 1 over its rests."""
    return math.prod(int(bases[i].sizes[o]) - 1 for i, o in rests)
