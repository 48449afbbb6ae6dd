"""Functions of few attributes: bases, products by component, coefficients of queries, measures and moments.

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

**Measures** on the cells have moments and give squared lengths of columns. A measure is a mixture of products
of one measure for each attribute.

**Moments** are computed for all products of a mixture at once, by matrix products of pairs of sectors. Entry
(s, t) of the moments of one product is Πᵢ over the attributes of both sectors: the mean of two contrasts
where both have the attribute, of one contrast where one has. Summed over products these are matrix products
with as many inner terms as there are products.

**Rounding of moments** has a proved, small bound. A measure of an attribute is a row of floats p̃ that stands
for p = p̃ / Σp̃, so |p̃ᵥ - pᵥ| <= δ pᵥ with δ = |Σp̃ - 1|. The basis B̃ is that of floats, the exact one B is
orthonormal and B̃ = (I + Δ) B.

Of one product, an entry of the moments in B̃ is a product of entries Gᵢ[a, b] = Σᵥ pᵥ b̃ₐ(v) b̃_b(v) of at
most 2w attributes (w the order), each off by at most γ Σᵥ pᵥ |b̃ₐ b̃_b| <= γ √(Gᵢ[a, a] Gᵢ[b, b]), with γ of
o terms and three roundings of each, and by δ. So all are off by at most g √(Q[a, a] Q[b, b]),
g = (1 + δ + γ)²ʷ - 1 and the γ of a sum of J products, by Cauchy and Schwarz also over these; ‖E‖₂ <= g tr Q.

From B to B̃ contrasts move by combinations of contrasts and of the constant, each at most ‖Δ‖ =: δ. So the
products of sector S move to those of S less j attributes by C(w, j) blocks in a row at most, C(k, j) in a
column, each at most δʲ (1 + δ)ʷ⁻ʲ. A matrix of blocks is no larger than the root of the largest row times
the largest column, √(C(w, j) C(k, j)) <= C(w, j) √k ʲ, and the sum over j is (1 + δ + √k δ)ʷ. Hence
‖Q̃ - Q‖ <= ((1 + (1 + √k) δ)²ʷ - 1) ‖Q‖. A rest's factor, an orbit's share times d / s, is of the same kind.

**Profiles.** The squared length of a strategy's columns, f(x) = b(x)ᵀ N b(x) with functions of at most w
attributes each, is Σ_U tables[U][x_U] over sets U of at most 2w attributes. Its values and means are sums
over the tables, however many cells there are.

**Coordinates** of a profile are orthonormal under a product measure. In the functions of each attribute a
profile has one array of coordinates for each set U, on the products of one contrast of each attribute of U.
A density h of the same kind has the marginals μ_U Σ_{V in U} h_V on sets U, μ the
measure; these make up all moments of the (signed) measure with this density.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from mmopt.errors import TooLargeError
from mmopt.limits import fits_memory
from mmopt.numerics import EPS, GROW, Array, Ball, Ints, gamma, grouped
from mmopt.symmetry.attribute_queries import Piece, interchangeable
from mmopt.symmetry.components import MOST_COMPONENTS, AttributeSymmetry
from mmopt.workloads import (
    refine,
    row_products,
)


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
    alike = grouped(  # products that look alike have the same components
        (tuple((i, tuple(f.rests), f.flat.shape[1] > 1) for i, f in sorted(product.factors.items())), at)
        for at, product in enumerate(products)
    )
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


@dataclass(frozen=True, eq=False)
class Mixture:
    """Σⱼ weightsⱼ ⊗ᵢ factorsᵢ[j]: J products; a cell is a product of indicators.

    weights : (J,), nonnegative. factors : one (J, oᵢ) an attribute, rows nonnegative with sum 1, over the
    orbits of its values; within an orbit the measure is uniform.
    """

    weights: Array
    factors: tuple[Array, ...]

    @property
    def count(self) -> int:
        """Number of products, J."""
        return len(self.weights)

    @property
    def total(self) -> float:
        """The mass, by the weights."""
        return math.fsum(self.weights)

    @property
    def mass(self) -> Ball:
        """The exact mass of the measure whose factors are divided by their exact sums."""
        return Ball(np.asarray(self.total), np.asarray(EPS * self.total))

    def times(self, weights: Array) -> Mixture:
        """The products with other weights; those of weight 0 are left out."""
        kept = weights > 0
        return Mixture(weights[kept], tuple(f[kept] for f in self.factors))

    def scaled(self, by: float) -> Mixture:
        """Everything times a positive number."""
        return self.times(by * self.weights)

    def joined(self, other: Mixture) -> Mixture:
        """The products of both mixtures."""
        factors = tuple(np.vstack(pair) for pair in zip(self.factors, other.factors, strict=True))
        return Mixture(np.concatenate([self.weights, other.weights]), factors)

    def with_cells(self, cells: Ints) -> Mixture:
        """The mixture with single cells (c, k) of orbit numbers added, of weight 0."""
        added = tuple(np.eye(f.shape[1])[numbers] for f, numbers in zip(self.factors, cells.T, strict=True))
        return self.joined(Mixture(np.zeros(len(cells)), added))


def mixture_moments(component: SectorComponent, seconds: Mapping[int, Array], scales: Array) -> Array:
    """(dim, dim) Σ_j scales_j times the means of the products of two of the component's functions.

    seconds : (J, o, o) of each attribute of the component: means of products of two of the constant and the
    contrasts. scales : (J,).
    """
    means = {i: second[:, 0, 1:] for i, second in seconds.items()}
    moments = np.empty((component.dim,) * 2)
    for one, other in itertools.combinations_with_replacement(component.sectors, 2):
        block = _block(one, other, seconds, means, scales)
        rows, columns = component.places[one], component.places[other]
        moments[rows, columns] = block
        moments[columns, rows] = block.T
    return moments


def _block(
    one: Sector, other: Sector, seconds: Mapping[int, Array], means: Mapping[int, Array], scales: Array
) -> Array:
    """The moments of the functions of a sector with those of another; arguments as for ``mixture_moments``.

    ``means``: (J, o - 1) of each attribute the means of its contrasts.
    """
    both = [i for i in one if i in other]
    arrays = [seconds[i][:, 1:, 1:] for i in both]
    arrays += [means[i] for sector in (one, other) for i in sector if i not in both]
    axes = [axis for i in both for axis in ((0, i), (1, i))]
    axes += [(side, i) for side, sector in enumerate((one, other)) for i in sector if i not in both]
    sizes = [math.prod(array.shape[1:]) for array in arrays]
    halves = [max(math.prod(sizes[:at]), math.prod(sizes[at:])) for at in range(len(sizes) + 1)]
    at = halves.index(min(halves))
    left, right = (row_products(part, len(scales)) for part in (arrays[:at], arrays[at:]))
    block = (left * scales[:, None]).T @ right
    shape = [size for array in arrays for size in array.shape[1:]]
    wanted = [(side, i) for side, sector in enumerate((one, other)) for i in sector]
    turned = block.reshape(shape).transpose([axes.index(axis) for axis in wanted])
    return turned.reshape(math.prod(seconds[i].shape[1] - 1 for i in one), -1)


def basis_rounding(basis: Array, sizes: Array) -> float:
    """At least ‖Δ‖₂ of one attribute's basis, constant and contrasts (o, o), on orbits of ``sizes`` values.

    With G = B̃ P B̃ᵀ, P the uniform measure, the constant exact: contrasts are freed of the constant and then
    orthonormalised by (G')^{-1/2}, which moves them by at most ‖G - I‖ each.
    """
    shares = sizes / sizes.sum()
    off = float(np.linalg.norm((basis * shares) @ basis.T - np.eye(len(basis))))
    lost = (gamma(len(sizes) + 6) + 4 * EPS) * float(np.linalg.norm(basis * np.sqrt(shares))) ** 2
    return 2 * (off + lost) * GROW


def products_rounding(mixture: Mixture, order: int) -> float:
    """g: computed moments in the basis of floats are off by at most g √(Q[a, a] Q[b, b]) each.

    order : w, the most attributes of a query; an entry is a product over twice as many at most.
    """
    most = max(f.shape[1] for f in mixture.factors)
    sums = [float(np.abs(f.sum(axis=1) - 1.0).max(initial=0.0)) for f in mixture.factors]
    each = max(sums) + 2 * gamma(most + 2) + gamma(most + 6)  # of the moments of one attribute: δ + γ
    return float(np.expm1(2 * order * np.log1p(each)) + gamma(mixture.count + 2)) * GROW


def component_rounding(moments: Array, products: float, basis: float, order: int) -> float:
    """At least ‖Q̃ - Q‖₂ of a component's computed ``moments``: see **Rounding of moments** above.

    products : g, by ``products_rounding``. basis : (1 + √k) ‖Δ‖ of k attributes. order : w.
    """
    trace = float(np.trace(moments)) * (1.0 + products) + EPS * len(moments)
    norm = min(trace, float(np.abs(moments).sum(axis=1).max(initial=0.0)) + products * trace)
    return float(products * trace / (1.0 - products) + np.expm1(2 * order * np.log1p(basis)) * norm) * GROW


#: By attributes, which ascend, an array over their orbits; attributes of one orbit are left out.
ProfileTables = Mapping[tuple[int, ...], Array]


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
    shape = [len(values) for values in functions]
    rests = {i: o for i, o in component.rests if shape[i] > 1}
    for at, first in enumerate(component.sectors):
        rows = _at_orbits(part[component.places[first]], first, functions)
        for second in component.sectors[at:]:
            both = _at_orbits(rows[component.places[second]], second, functions)  # first's orbits, second's
            union = tuple(sorted({*first, *second, *rests}))
            labels = [union.index(i) for i in (*first, *second)]
            # Where axes with the same label agree, an axis for each label.
            kept = [union.index(i) for i in union if i not in rests]
            entries = np.einsum(both, labels, kept)  # type: ignore[arg-type]
            if union not in tables:
                tables[union] = np.zeros([shape[i] for i in union])
            place = tuple(rests.get(i, slice(None)) for i in union)
            tables[union][place] += (weight if second == first else 2.0 * weight) * entries


def _at_orbits(part: Array, sector: Sector, functions: Sequence[Array]) -> Array:
    """Values (…, orbits of each attribute) of coordinates (width, …) on the contrasts of a sector."""
    contrasts = [functions[i][:, 1:] for i in sector]
    values = part.reshape([contrast.shape[1] for contrast in contrasts] + list(part.shape[1:]))
    for contrast in contrasts:  # the first axis goes and comes back as the last; further axes end up first
        values = np.tensordot(values, contrast, axes=(0, 1))
    return np.asarray(values)


def means_given(tables: ProfileTables, factors: Sequence[Array], at: int) -> list[Array]:
    """(o,) an attribute: the mean of f given its orbit, under a product of a mixture.

    factors : of the mixture. at : the product's number.
    """
    means = [np.zeros(factor.shape[1]) for factor in factors]
    total = 0.0
    for union, table in tables.items():
        measures = [factors[i][at] for i in union]
        mean = float(_mean(table, measures))
        total += mean  # a table without the attribute has its mean whatever the orbit
        for axis, i in enumerate(union):
            means[i] += _mean(np.moveaxis(table, axis, 0), measures[:axis] + measures[axis + 1 :]) - mean
    return [part + total for part in means]


def _mean(table: Array, measures: Sequence[Array]) -> Array:
    """The table contracted with measures of its last axes."""
    return np.asarray(reduce(np.matmul, reversed(measures), table))


def component_moments(
    component: SectorComponent, marginals: ProfileTables, functions: Sequence[Array]
) -> Array:
    """(dim, dim) means of products of two of the component's functions, its rests where they are.

    marginals : arrays over the orbits of the attributes of two sectors and of the rests, those of one orbit
    left out.
    functions : (o, o) an attribute, the constant first. Adjoint to ``add_component``.
    """
    moments = np.empty((component.dim,) * 2)
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
            moments[component.places[first], component.places[second]] = block
            moments[component.places[second], component.places[first]] = block.T
    return moments
