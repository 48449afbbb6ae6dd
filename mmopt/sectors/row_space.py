"""The row space of products of few attributes; values of an attribute that can be swapped form an orbit.

**Queries** on a component are, up to rotation, a triangle R with RᵀR their Gram matrix. A product's rows are
nonzero on the sectors inside its attributes only. So the factorisation goes from the largest sectors to the
empty one (as multifrontal QR of sparse matrices: Davis, Direct Methods for Sparse Linear Systems, 2006,
section 7): rows that touch a sector are stacked, one QR leaves as many rows as the sector has functions, and
what remains touches later sectors only. Rows of pairs of attributes are never stacked with each other until
little is left of them. No Gram matrix is formed.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce

import numpy as np
import scipy.linalg

from mmopt.limits import require_time
from mmopt.numerics import EPS, Array, Ints, Space, Split, grouped, qr, rounding_of_qr
from mmopt.sectors.functions_of_few import (
    AttributeBasis,
    Coefficients,
    Mixture,
    ProductCoefficients,
    ProfileTables,
    Sector,
    SectorComponent,
    add_component,
    all_subsets,
    basis_of,
    basis_rounding,
    coefficients,
    component_moments,
    component_rounding,
    components_that_fit,
    copies,
    means_given,
    mixture_moments,
    orthonormal_functions,
    products_rounding,
)
from mmopt.sectors.largest_of_tables import Axes, Largest, largest_of_tables, values_of
from mmopt.symmetry.attribute_queries import terms_of
from mmopt.workloads import Implicit, Workload

Mask = np.typing.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RowSpace:
    """The row space of a workload by components; a basis that is orthonormal under the uniform measure.

    It contains component κ of dimension d = ``space.dims[κ]`` μ = ``space.multiplicities[κ]`` times: N and Q
    are ⊕ N_κ ⊗ I_μ, given by tuples of symmetric matrices (d, d). A cell is represented by the mean of its
    orbit: Q(x) the mean of b bᵀ, f(x) = Σ μ tr(N_κ Q_κ(x)). Of the uniform measure all Q_κ are identities.

    root : the queries L up to rotation, from abstract rows to ``space``: LᵀL by component, weighted.
    root_rounding : at least ‖root - an exact one‖ / ‖root‖ (Frobenius, all components), in an exact basis
        near ours. shape : orbits of the values of each attribute.
    bases : the functions of each attribute. components : in the order of ``space``, one for each choice of
        rests, its functions products of contrasts. products : those of the workload.
    """

    space: Space
    root: Split
    root_rounding: float
    shape: tuple[int, ...]
    bases: tuple[AttributeBasis, ...]
    components: tuple[SectorComponent, ...]
    products: tuple[ProductCoefficients, ...]

    def rest_square(self, component: SectorComponent) -> float:
        """The square of a function of the component's rests, in the mean over the orbits where they are."""
        return math.prod(float(self.bases[i].squares[o]) for i, o in component.rests)

    @property
    def uniform(self) -> tuple[Array, ...]:
        """(o,) an attribute: the share of its values that each orbit has."""
        return tuple(basis.uniform for basis in self.bases)

    @cached_property
    def functions(self) -> list[Array]:
        """(o, o) an attribute: the values of the constant and of the contrasts at each orbit."""
        return [basis.functions for basis in self.bases]

    def moments(self, mixture: Mixture) -> tuple[Array, ...]:
        """Q_κ (d, d) of each component: Σ over the cells of their measure times Q_κ(x).

        Products that are cells as squares of their functions, all at once.
        """
        are_cells = np.all([(factor == 1.0).any(axis=1) for factor in mixture.factors], axis=0)
        cells = np.stack([factor[are_cells].argmax(axis=1) for factor in mixture.factors], axis=1)
        scales = self._rest_scales(mixture) * mixture.weights[:, None]
        return tuple(
            self._component_moments(component, mixture, scale, are_cells, cells)
            for component, scale in zip(self.components, scales.T, strict=True)
        )

    def moments_rounding(self, mixture: Mixture) -> tuple[float, ...]:
        """At least ‖Q_κ - exact‖₂ of each component.

        Exact are the moments of the measure whose factors are divided by their exact sums, in an orthonormal
        basis near the computed one. An entry is made of at most 2 ``order`` moments of one attribute,
        ``order`` the most attributes of a query: see **Rounding of moments** in
        ``functions_of_few.py``.
        """
        order = max(len(component.rests) + len(component.sectors[0]) for component in self.components)
        products = products_rounding(mixture, order)
        each = [basis_rounding(b.functions.T, b.sizes.astype(np.float64)) for b in self.bases]
        basis = max(each) * (1.0 + math.sqrt(len(self.bases)))  # 1 + √k: see there
        return tuple(component_rounding(moments, products, basis, order) for moments in self.moments(mixture))

    def _component_moments(
        self, component: SectorComponent, mixture: Mixture, scales: Array, are_cells: Mask, cells: Ints
    ) -> Array:
        """Q_κ of a component; ``scales`` (J,): the weights times the squares of its rests."""
        if component.dim == 1:
            return np.array([[scales.sum()]])
        values = component.values(self.functions, cells)
        moments = values.T @ (scales[are_cells, None] * values)
        others = ~are_cells & (scales != 0)
        if others.any():
            seconds = {
                i: np.stack([f.T @ (measure[:, None] * f) for measure in mixture.factors[i][others]])
                for i, f in enumerate(self.functions)
                if i in component.attributes
            }
            moments += mixture_moments(component, seconds, scales[others])
        return np.asarray((moments + moments.T) / 2)

    def _rest_scales(self, mixture: Mixture) -> Array:
        """(J, components): the mean of the square of a function of the component's rests."""
        rests = sorted({rest for component in self.components for rest in component.rests})
        place = {rest: at for at, rest in enumerate(rests)}
        squares = [mixture.factors[i][:, o] * self.bases[i].squares[o] for i, o in rests]
        each = np.stack([*squares, np.ones(mixture.count)], axis=1)
        most = max(len(component.rests) for component in self.components)
        padded = [
            [*(place[rest] for rest in component.rests), *[len(rests)] * (most - len(component.rests))]
            for component in self.components
        ]
        return np.asarray(each[:, np.array(padded, dtype=np.int64).reshape(len(padded), most)].prod(axis=2))

    def profile_tables(self, parts: Sequence[Array]) -> ProfileTables:
        """f as a sum of tables over at most twice as many attributes as a product looks at."""
        tables: dict[tuple[int, ...], Array] = {}
        for component, part, often in zip(
            self.components, parts, self.space.multiplicities.tolist(), strict=True
        ):
            add_component(tables, component, part, self.functions, often * self.rest_square(component))
        return tables

    def tables_rounding(self, parts: Sequence[Array]) -> float:
        """How far the sum of the tables at a cell may be off, with N and functions as they are in floats.

        Each cell's value is Σ_κ μ_κ b_κᵀ N_κ b_κ, summed in an order in which a term has no more than c
        roundings: c = the orbits of a pair of sectors' attributes, the products of functions and rests, and
        the pairs of sectors of all components. So it is off by γ_c Σ μ_κ |b_κ|ᵀ |N_κ| |b_κ| (Higham, Accuracy
        and Stability of Numerical Algorithms, 2002, section 3.1), at most γ_c Σ μ_κ ‖N_κ‖_F ‖b_κ‖².
        """
        sizes = [float(np.linalg.norm(part)) for part in parts]
        return 2.0 * self._roundings * EPS * float(self._largest_squares @ sizes)

    @cached_property
    def _roundings(self) -> int:
        """The most roundings of a term of f, or of ‖b(x)‖²."""
        order = max(len(component.rests) + len(component.sectors[0]) for component in self.components)
        pairs = sum(
            len(component.sectors) * (len(component.sectors) + 1) // 2 for component in self.components
        )
        return pairs + 2 * order * (max(self.shape) + 4) + 8

    @cached_property
    def _largest_squares(self) -> Array:
        """(components,) at least the largest μ_κ ‖b_κ(x)‖², but for rounding: of each contrast's largest."""
        each = [float(np.square(values[:, 1:]).sum(axis=1).max(initial=0.0)) for values in self.functions]
        sums = [
            sum(math.prod(each[i] for i in s) for s in component.sectors) for component in self.components
        ]
        squares = [self.rest_square(component) for component in self.components]
        return np.asarray(self.space.multiplicities * squares * sums)

    @property
    def longest(self) -> float:
        """At least the largest Σ μ_κ ‖b_κ(x)‖²: at a cell the rests of given attributes are of one choice."""
        squares = grouped(
            (tuple(i for i, _ in component.rests), square)
            for component, square in zip(self.components, self._largest_squares.tolist(), strict=True)
        )
        return math.fsum(map(max, squares.values())) * (1.0 + 2.0 * self._roundings * EPS)

    def means(self, mixture: Mixture, parts: Sequence[Array]) -> tuple[Array, ...]:
        """(J, oᵢ) an attribute: the mean of f under each product, given the attribute's orbit."""
        tables = self.profile_tables(parts)
        each = [means_given(tables, mixture.factors, at) for at in range(mixture.count)]
        return tuple(np.stack(means) for means in zip(*each, strict=True))

    def profile(self, parts: Sequence[Array]) -> Callable[[Ints], Array]:
        """f as a function of cells (c, k), each a row of orbit numbers."""
        return partial(values_of, self.profile_tables(parts))

    def vectors(self, cells: Ints) -> tuple[Array, ...]:
        """(c, d) per component: Q_κ(x) is the square v vᵀ of a vector."""
        vectors = []
        for component in self.components:
            scale = np.ones(len(cells))
            for i, o in component.rests:
                scale *= np.where(cells[:, i] == o, np.sqrt(self.bases[i].squares[o]), 0.0)
            vectors.append(scale[:, None] * component.values(self.functions, cells))
        return tuple(vectors)

    def largest(self, parts: Sequence[Array], seconds: float) -> Largest:
        """The largest f over all cells, proved from its tables; rounded up."""
        return largest_of_tables(self.shape, self.profile_tables(parts), self.tables_rounding(parts), seconds)


@dataclass(frozen=True, eq=False)
class Profiles:
    """The squared lengths f in coordinates, orthonormal under the product of ``measures``, positive.

    Sums of tables over the sets of attributes of two sectors and the rests.
    """

    space: RowSpace
    measures: tuple[Array, ...]

    @cached_property
    def functions(self) -> tuple[Array, ...]:
        """(o, o) an attribute: values of the constant and of others, orthonormal under its measure."""
        return tuple(map(orthonormal_functions, self.measures))

    @cached_property
    def unions(self) -> tuple[Axes, ...]:
        """The sets of the tables."""
        unions = {
            tuple(sorted({*one, *two, *(i for i, _ in component.rests if self.space.shape[i] > 1)}))
            for component in self.space.components
            for one, two in itertools.combinations_with_replacement(component.sectors, 2)
        }
        return tuple(sorted(unions))

    @cached_property
    def places(self) -> dict[Axes, slice]:
        """The place of the coordinates of each set of the tables and each subset, the empty one first."""
        sets = all_subsets(self.unions)
        widths = [math.prod(len(self.measures[i]) - 1 for i in axes) for axes in sets]
        ends = itertools.accumulate(widths)
        return {axes: slice(end - width, end) for axes, width, end in zip(sets, widths, ends, strict=True)}

    def coordinates(self, parts: Sequence[Array]) -> Array:
        """The coordinates of f; the first is its mean."""
        coordinates = np.zeros(max(place.stop for place in self.places.values()))
        for union, table in self.space.profile_tables(parts).items():
            for i in union:  # the first axis goes, and comes back as the last
                table = np.tensordot(table, self.measures[i][:, None] * self.functions[i], axes=(0, 0))
            for axes, has in _subsets(union):
                coordinates[self.places[axes]] += table[_slices(has)].ravel()
        return coordinates

    def marginal(self, coordinates: Array, union: Axes) -> Array:
        """The marginal on one of the ``unions`` of the measure with this density, over its orbits."""
        shape = [len(self.measures[i]) for i in union]
        marginal = np.empty(shape)
        for axes, has in _subsets(union):
            inside = [n - 1 if there else 1 for n, there in zip(shape, has, strict=True)]
            marginal[_slices(has, keep=True)] = coordinates[self.places[axes]].reshape(inside)
        for i in union:
            marginal = np.tensordot(marginal, self.measures[i][:, None] * self.functions[i], axes=(0, 1))
        return np.asarray(marginal)

    def moments(self, coordinates: Array) -> tuple[Array, ...]:
        """Q_κ of the signed measure with this density."""
        marginals = {union: self.marginal(coordinates, union) for union in self.unions}
        return tuple(
            self.space.rest_square(component) * component_moments(component, marginals, self.space.functions)
            for component in self.space.components
        )


def _subsets(union: Axes) -> Iterable[tuple[Axes, tuple[bool, ...]]]:
    """Each subset of a set of attributes, and whether it has each of them."""
    for has in itertools.product((False, True), repeat=len(union)):
        yield tuple(i for i, there in zip(union, has, strict=True) if there), has


def _slices(has: Sequence[bool], keep: bool = False) -> tuple[slice | int, ...]:
    """The contrasts of the attributes that a subset has, the constant of others, with ``keep`` as an axis."""
    return tuple(slice(1, None) if there else slice(0, 1) if keep else 0 for there in has)


def bases_and_products(
    workload: Workload,
) -> tuple[tuple[AttributeBasis, ...], tuple[ProductCoefficients, ...]]:
    """The functions of each attribute, and the weighted products in these functions.

    Raises
    ------
    TooLargeError : a factor whose root does not fit in memory.
    """
    sizes, terms = terms_of(workload, with_targets=False)
    columns = list(zip(*(term.pieces for term in terms), strict=True))
    bases = tuple(
        basis_of(size, list({id(p): p for p in pieces}.values()))
        for size, pieces in zip(sizes, columns, strict=True)
    )
    factors_of: list[Sequence[Workload | Implicit]] = (  # a matrix is its own only factor
        [[workload]]
        if workload.products is None
        else [product.weighed().factors for product in workload.products]
    )
    coefficients_of: dict[tuple[int, int], Coefficients] = {}
    expressed = []
    for term, blocks in zip(terms, factors_of, strict=True):
        factors, scale, lost = {}, math.sqrt(term.weight), 16 * EPS
        for i, piece in enumerate(term.pieces):
            if piece.kind == "total":
                continue
            if (i, id(piece)) not in coefficients_of:
                coefficients_of[i, id(piece)] = coefficients(bases[i], piece)
            factor = coefficients_of[i, id(piece)]
            # Rounding of the root; of sums over orbits and of the turn into the basis.
            lost += blocks[i].root_rounding + (piece.size + 8) * math.sqrt(piece.size) * EPS
            if factor.is_constant:
                scale *= factor.constant
            else:
                factors[i] = factor
        expressed.append(ProductCoefficients(factors, scale, lost * 1.01))
    return bases, tuple(expressed)


def row_space_of(workload: Workload) -> RowSpace:
    """The row space of a workload's products, each query weighted by the root of its weight.

    Raises
    ------
    TooLargeError : a component, or their list, that does not fit in memory; before any of it is made.
    """
    bases, products = bases_and_products(workload)
    components = tuple(components_that_fit(bases, products))
    roots, losses = zip(*(component_root(component, products) for component in components), strict=True)
    rounding = 1.01 * (max(product.rounding for product in products) + max(losses))
    often = np.array([float(copies(bases, component.rests)) for component in components])
    space = Space(often, tuple(component.dim for component in components), total=workload.n)
    rows = space.abstract(tuple(len(root) for root in roots))
    shape = tuple(basis.orbits for basis in bases)
    return RowSpace(space, Split(rows, space, roots), rounding, shape, bases, components, products)


#: Rows that touch these sectors only, in the component's order, and their columns side by side.
Rows = tuple[tuple[Sector, ...], Array]

#: Reciprocal condition number of a triangle below which its rank is looked at.
LEAST_DIAGONAL = 1e-11


def component_root(
    component: SectorComponent, products: Sequence[ProductCoefficients]
) -> tuple[Array, float]:
    """R (r, dim) of full row rank, r <= dim, with RᵀR the Gram matrix of the queries on the component.

    Returned with at least ‖R - QᵀW‖ / ‖R‖ for the computed coefficients W and some orthonormal Q: each QR
    adds its own rounding (``rounding_of_qr``) times rows that are no longer than all.

    A triangle where the queries span the component. Else rows that are orthogonal, as long as the singular
    values; those within rounding of zero are left out.
    """
    if component.dim == 1:
        number = math.hypot(*(_length_on_rests(component, products[at]) for at in component.products))
        return np.array([[number]]), 4 * EPS
    triangle, lost = _eliminated(
        component, [_product_rows(component, products[at]) for at in component.products]
    )
    if len(triangle) == component.dim and scipy.linalg.lapack.dtrcon(triangle)[0] > LEAST_DIAGONAL:
        return triangle, lost
    _, lengths, directions = np.linalg.svd(triangle, full_matrices=False)
    kept = lengths > 8 * component.dim * EPS * lengths.max(initial=0.0)
    lost += 16 * component.dim**1.5 * EPS  # of the decomposition, and of the rows left out
    return np.asarray(lengths[kept, None] * directions[kept]), lost


def _length_on_rests(component: SectorComponent, product: ProductCoefficients) -> float:
    """The length of a product's coefficients on a component without contrasts."""
    rests = dict(component.rests)
    return product.scale * math.prod(
        f.rests[rests[i]] if i in rests else f.constant for i, f in product.factors.items()
    )


def _product_rows(component: SectorComponent, product: ProductCoefficients) -> Rows:
    """The rows of a product that has the component's rests: a Kronecker product over its attributes."""
    rests = dict(component.rests)
    scale = product.scale * math.prod(product.factors[i].rests[o] for i, o in component.rests)
    free = sorted(i for i in product.factors if i not in rests)
    flats = [product.factors[i].flat for i in free]
    rows = reduce(np.kron, flats, np.full((1, 1), scale))
    columns = np.arange(rows.shape[1]).reshape([flat.shape[1] for flat in flats])
    parts: dict[Sector, Array] = {}
    for has in itertools.product((False, True), repeat=len(free)):
        if all(flat.shape[1] > 1 for flat, chosen in zip(flats, has, strict=True) if chosen):
            sector = tuple(i for i, chosen in zip(free, has, strict=True) if chosen)
            parts[sector] = rows[:, columns[tuple(slice(1, None) if chosen else 0 for chosen in has)].ravel()]
    ordered = tuple(sorted(parts, key=component.sectors.index))
    return ordered, np.hstack([parts[sector] for sector in ordered])


def _eliminated(component: SectorComponent, rows: Sequence[Rows]) -> tuple[Array, float]:
    """The stacked rows' triangle, one sector after the other, and the relative rounding of all steps."""
    lost = 0.0
    waiting = grouped((block[0][0], block) for block in rows)  # by the first sector that they touch
    triangles = []
    for sector, width in zip(component.sectors, component.widths, strict=True):
        require_time()
        front = waiting.pop(sector, [])
        touched, triangle = _front(component, front)
        lost += rounding_of_qr(sum(len(block) for _, block in front), triangle.shape[1])
        done = np.zeros((min(width, len(triangle)), component.dim))
        ends = itertools.accumulate(component.widths[component.sectors.index(s)] for s in touched)
        for s, end in zip(touched, ends, strict=True):
            place = component.places[s]
            done[:, place] = triangle[:width, end - (place.stop - place.start) : end]
        triangles.append(done)
        if len(triangle) > width:
            waiting.setdefault(touched[1], []).append((touched[1:], triangle[width:, width:]))
    return np.vstack(triangles), lost * 1.01


def _front(component: SectorComponent, rows: Sequence[Rows]) -> Rows:
    """All rows that touch a sector first, over the sectors that any of them touches, as a triangle."""
    if not rows:
        return (), np.zeros((0, 0))
    touched = tuple(sorted({s for sectors, _ in rows for s in sectors}, key=component.sectors.index))
    widths = [component.places[s].stop - component.places[s].start for s in touched]
    starts = dict(zip(touched, itertools.accumulate(widths, initial=0), strict=False))
    stacked = np.zeros((sum(len(block) for _, block in rows), sum(widths)))
    top = 0
    for sectors, block in rows:
        left = 0
        for s in sectors:
            width = component.places[s].stop - component.places[s].start
            stacked[top : top + len(block), starts[s] : starts[s] + width] = block[:, left : left + width]
            left += width
        top += len(block)
    return touched, qr(stacked, overwrite=True)
