"""Measures on the cells, their moments, and squared lengths of columns, by functions of few attributes.

A measure is a mixture of products of one measure for each attribute.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.numerics.balls import GROW, Ball, gamma
from mmopt.sectors.functions_of_few import Sector, SectorComponent
from mmopt.workloads.blocks.combined_blocks import row_products


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
