"""The cells of a row space, a space on which programs are evaluated; neither cells nor orbits are listed.

Its coordinates are the functions of the cells that the queries are made of, by component. Not every workload
is worth such a space: ``why_not_of_few`` says why not. What programs are given there, the queries with their
targets and the roots of the moments of measures, is made here, too.

A program needs the largest entry of a diagonal several times: of a point, of it repaired, of it rounded to a
symmetric matrix, of a factor. These are nearly multiples of each other, and the bound of one serves the next:
with N = c N₀ + D, f(x) <= c max f₀ + Σ μ ‖D_κ‖ tr Q_κ(x) <= c max f₀ + max ‖D_κ‖ (Frobenius) · the longest
‖b(x)‖².

**Roots of the moments of a measure.** Let Q be the exact moments of a component, ‖Q - Q̃‖₂ <= off for the
computed ones, and J the Cholesky factor of Q̃. With e at least ‖Q - J Jᵀ‖₂ and η at most the eigenvalues of J
Jᵀ, (1 - e/η) J Jᵀ ⪯ Q ⪯ (1 + e/η) J Jᵀ.

**Queries with targets** are given in the space that they span, orbit by orbit. Let ℓ_κ (d, copies) be the
coefficients of a query on a component. The rows t of its orbit, the queries that permutations of
values make of it, have the Gram matrix Σ ℓ_κ ℓ_κᵀ over the orbit, divided by the copies. Its variance under a
covariance Σ_κ ⊗ I is Σ_κ μ_κ / size Σ_t t Σ_κ tᵀ, as in ``symmetry.workload_by_component``. An orbit is one
of rows for each attribute, by permutations of its values, and t has one number for each rest. With nothing
that can be swapped each query is its own orbit.

**Sectors in one vector.** Variances and answers of queries come from matrices on them.

**Layout.** An attribute has the constant 1 and further functions of its value; a *sector* is a set S of
attributes, with one function of each attribute of S: the products are numbered in row-major order, sector
after sector. With a sector all its subsets are there. The functions may be any: orthonormal contrasts, in
which strategies are searched, or indicators of values, in which a release counts (``indicators``).

**Rests.** Queries may tell the values of a class apart. On a class of s values the functions of sum 0 are its
*rest*. They have in general no basis of whole numbers that is orthogonal with equal lengths, but a tight
frame of s of them, [x = v] - [x in the class] / s: with Gram matrix I - 1/s. A component has the rest of one
class on each of a few attributes, and the sectors of others; a matrix on the latter is measured for every
choice of values of the former.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from scipy import linalg

from mmopt.errors import OptionError, whole
from mmopt.limits import require_memory, time_left
from mmopt.numerics import (
    EPS,
    GROW,
    Array,
    Ints,
    Level,
    Moments,
    Space,
    Spanned,
    Split,
    exact,
    frozen,
    matmul,
    norm,
    positive_eigenvalue_bound,
    sub,
)
from mmopt.sectors.functions_of_few import AttributeBasis, Mixture, Rests, SectorComponent, all_subsets
from mmopt.sectors.residual_strategies import best_residual_strategy, part_of_component
from mmopt.sectors.row_space import RowSpace
from mmopt.symmetry.attribute_queries import Piece, interchangeable, terms_of
from mmopt.symmetry.workload_by_component import row_orbits
from mmopt.workloads import (
    Implicit,
    Product,
    Workload,
    kron,
)


@dataclass(frozen=True, eq=False)
class AttributeRows:
    """Queries of one attribute.

    flat : (rows, o) their means on classes, as combinations of (1, functions). varies : (rows,) whether these
    are not constant. rest : (rows, d) what is left, of sum 0 on each class; exactly 0 where that is rounding.
    """

    flat: Array
    varies: np.typing.NDArray[np.bool_]
    rest: Array


@dataclass(frozen=True, eq=False)
class SectorLayout:
    """Functions of attributes, and the sectors of their products.

    Parameters
    ----------
    labels : (dᵢ,) an attribute: the class of each value, from 0. Functions are constant on classes.
    functions : (oᵢ - 1, oᵢ) an attribute: the functions on its classes; with 1 they are independent.
    sets : the sectors, increasing numbers of attributes each, with all their subsets, none twice.

    Raises
    ------
    OptionError : classes that are no whole numbers, functions of another shape, dependent ones, or a set
        without one of its subsets.
    """

    labels: tuple[Ints, ...]
    functions: tuple[Array, ...]
    sets: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for label, functions in zip(self.labels, self.functions, strict=True):
            if label.dtype.kind != "i" or label.ndim != 1 or label.min(initial=0) < 0 or not label.size:
                raise OptionError(
                    "the classes of an attribute's values are whole numbers from 0, one a value"
                )
            if functions.shape != (int(label.max()), int(label.max()) + 1):
                raise OptionError(
                    f"the functions of an attribute have shape {functions.shape}, expected "
                    f"{(int(label.max()), int(label.max()) + 1)} for its classes of values"
                )
        for one in self.sets:
            if not all(part in self.starts for part in itertools.combinations(one, max(len(one) - 1, 0))):
                raise OptionError(f"the sectors have {one}, but not all of its subsets")

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The attributes' numbers of values."""
        return tuple(len(label) for label in self.labels)

    @cached_property
    def starts(self) -> dict[tuple[int, ...], int]:
        """The place of each sector's first function."""
        ends = itertools.accumulate((self._count(one) for one in self.sets), initial=0)
        return dict(zip(self.sets, ends, strict=False))

    @cached_property
    def size(self) -> int:
        """Number of functions, r."""
        return sum(self._count(one) for one in self.sets)

    def _count(self, attributes: tuple[int, ...]) -> int:
        """Number of functions of a sector."""
        return math.prod(len(self.functions[i]) for i in attributes)

    def place(self, attributes: tuple[int, ...]) -> Ints:
        """Places of all products of (1, functions) of the attributes, in row-major order, (Π oᵢ,)."""
        places = np.empty([len(self.functions[i]) + 1 for i in attributes], dtype=np.int64)
        for chosen in itertools.product((False, True), repeat=len(attributes)):
            sector = tuple(i for i, one in zip(attributes, chosen, strict=True) if one)
            at = tuple(slice(1, None) if one else 0 for one in chosen)
            counts = [len(self.functions[i]) for i in sector]
            places[at] = self.starts[sector] + np.arange(math.prod(counts)).reshape(counts)
        return places.ravel()

    def values(self, codes: Ints) -> Array:
        """(r, c) all functions at cells (c, k), each a row of the attributes' values."""
        require_memory((self.size, len(codes)), "values of the functions of a row space")
        each = [
            functions[:, label[codes[:, i]]]
            for i, (functions, label) in enumerate(zip(self.functions, self.labels, strict=True))
        ]
        constant = np.ones((1, len(codes)))
        return np.concatenate(
            [reduce(linalg.khatri_rao, (each[i] for i in one), constant) for one in self.sets]
        )

    @cached_property
    def inverses(self) -> tuple[Array, ...]:
        """(oᵢ, oᵢ) an attribute, by which queries on classes become combinations of (1, functions)."""
        by_object = {id(f): np.linalg.inv(np.vstack([np.ones(f.shape[1]), f])) for f in self.functions}
        return tuple(by_object[id(functions)] for functions in self.functions)

    def attribute_rows(self, attribute: int, factor: Implicit) -> AttributeRows:
        """Queries of an attribute as combinations of (1, functions), and the rest of each."""
        entries, label = factor.matrix(), self.labels[attribute]
        # Means of d entries are off by less, relative to the largest: a larger difference is no rounding.
        size = 4 * (entries.shape[1] + 8) * EPS * np.abs(entries).max(axis=1, keepdims=True)
        member = np.equal.outer(label, np.arange(int(label.max()) + 1))
        means = entries @ (member / member.sum(axis=0))
        rest = entries - means[:, label]
        rest[np.abs(rest) <= size] = 0.0
        varies = (np.abs(means - means[:, :1]) > size).any(axis=1)
        return AttributeRows(means @ self.inverses[attribute], varies, rest)

    def indicators(self) -> SectorLayout:
        """These sectors of indicators [class = v], v >= 1: whole numbers, nonnegative, the same span."""
        indicators = {id(f): frozen(np.eye(len(f), f.shape[1], 1)) for f in self.functions}
        return SectorLayout(
            self.labels, tuple(indicators[id(functions)] for functions in self.functions), self.sets
        )

    def change(self, attribute: int, other: SectorLayout) -> Array:
        """(oᵢ, oᵢ) T with (1, functions) here = T (1, functions) of another layout on the same classes."""
        functions = self.functions[attribute]
        return np.vstack([np.ones(functions.shape[1]), functions]) @ other.inverses[attribute]


def change_of_functions(layout: SectorLayout, other: SectorLayout) -> Array:
    """U (r, r) with the functions of one layout = U times those of another, of the same classes and sets."""
    require_memory((layout.size, layout.size), "change of functions of a row space")
    change = np.zeros((layout.size, layout.size))
    for one in layout.sets:
        block = kron([np.ones((1, 1)), *(layout.change(i, other)[1:] for i in one)])
        start = layout.starts[one]
        change[start : start + len(block), other.place(one)] = block
    return change


@dataclass(frozen=True, eq=False)
class RestComponent:
    """``core`` (r, r) on the functions of ``layout``, for each choice of values of ``rests``: (r, Π s).

    layout : its sets have none of the attributes of ``rests``.
    """

    rests: Rests
    layout: SectorLayout
    core: Array

    @cached_property
    def members(self) -> tuple[Ints, ...]:
        """The values of each rest's class."""
        return tuple(np.flatnonzero(self.layout.labels[i] == o) for i, o in self.rests)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of values of each rest's class."""
        return tuple(map(len, self.members))

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        return self.layout.size * math.prod(self.sizes)

    @cached_property
    def inverse(self) -> Array:
        """The inverse of the core; ``numpy.linalg.LinAlgError`` where there is none."""
        return np.asarray(np.linalg.inv(self.core), dtype=np.float64)

    @cached_property
    def covariance(self) -> Array:
        """(CᵀC)⁻¹ of the core C."""
        return np.asarray(self.inverse @ self.inverse.T)

    def matrix(self, codes: Ints) -> Array:
        """(rows, c) the measured queries at cells (c, k) of values."""
        values = self.core @ self.layout.values(codes)
        for (i, _), members in zip(self.rests, self.members, strict=True):
            inside = np.equal.outer(members, codes[:, i]).astype(np.float64)
            inside -= inside.sum(axis=0) / len(members)
            values = linalg.khatri_rao(values, inside)
        return values


def along(tensor: Array, matrices: Sequence[Array]) -> Array:
    """A matrix times each axis of a tensor."""
    for matrix in matrices:  # the first axis goes, and its result comes last
        tensor = np.tensordot(tensor, matrix, axes=(0, 1))
    return tensor


#: For each attribute of a product: the class of its rest, or None for its functions of classes.
Choice = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class QueriesOnSectors:
    """Variances and answers from ``components``, by rests, all on the classes and functions of ``layout``."""

    layout: SectorLayout
    components: Mapping[Rests, RestComponent]
    _computed: dict[Hashable, Array] = field(init=False, repr=False, default_factory=dict)
    _rows_by_factor: dict[tuple[int, int, Implicit], AttributeRows] = field(
        init=False, repr=False, default_factory=dict
    )

    def variances(self, product: Product) -> Array:
        """Variances (m,) of a product's queries; those of equal factors are computed once."""
        place = (product.looked_at, tuple(product.factors[i].plain for i in product.looked_at))
        if place not in self._computed:
            self._computed[place] = self._variances_of(product)
        return self._computed[place]

    def _choices(
        self, looked_at: tuple[int, ...], each: list[AttributeRows]
    ) -> Iterator[tuple[Choice, Rests]]:
        """The rests on which a product's queries are not all zero: one class of an attribute or none."""
        options: list[list[int | None]] = [
            [None, *np.unique(label[(queries.rest != 0).any(axis=0)]).tolist()]
            for queries, label in zip(each, [self.layout.labels[i] for i in looked_at], strict=True)
        ]
        for choice in itertools.product(*options):
            yield choice, tuple((i, o) for i, o in zip(looked_at, choice, strict=True) if o is not None)

    def _rows_of(self, product: Product) -> list[AttributeRows]:
        """A product's queries on each attribute that it looks at."""
        return [self._attribute_rows(i, product.factors[i].plain) for i in product.looked_at]

    def _attribute_rows(self, i: int, factor: Implicit) -> AttributeRows:
        """``layout.attribute_rows``, once for equal factors of attributes of one layout."""
        key = (id(self.layout.functions[i]), id(self.layout.labels[i]), factor)
        if key not in self._rows_by_factor:
            self._rows_by_factor[key] = self.layout.attribute_rows(i, factor)
        return self._rows_by_factor[key]

    def _variances_of(self, product: Product) -> Array:
        """The sum over components, computed together for rows that look at the same attributes."""
        looked_at, each = product.looked_at, self._rows_of(product)
        variances = np.zeros([len(queries.flat) for queries in each])
        for choice, rests in self._choices(looked_at, each):
            squares = [  # squared lengths of the rows on rests; None where there is no rest
                None if o is None else np.square(queries.rest[:, self.layout.labels[i] == o]).sum(axis=1)
                for i, o, queries in zip(looked_at, choice, each, strict=True)
            ]
            options = [  # whether rows look at an attribute: those that do not have its constant alone
                [True] if square is not None else sorted(set(queries.varies.tolist()))
                for square, queries in zip(squares, each, strict=True)
            ]
            free = [at for at, square in enumerate(squares) if square is None]
            for looks in itertools.product(*options):
                rows = [  # those that look so, and are not zero on the rests
                    np.flatnonzero(queries.varies == look if square is None else square)
                    for queries, look, square in zip(each, looks, squares, strict=True)
                ]
                seen = tuple(looked_at[at] for at in free if looks[at])
                parts = [each[at].flat[rows[at]] for at in free]
                parts = [part if looks[at] else part[:, :1] for part, at in zip(parts, free, strict=True)]
                value = self._lengths(rests, seen, parts).reshape(
                    [
                        len(chosen) if square is None else 1
                        for chosen, square in zip(rows, squares, strict=True)
                    ]
                )
                for at, square in enumerate(squares):
                    if square is not None:
                        value = value * np.expand_dims(
                            square[rows[at]], [a for a in range(len(rows)) if a != at]
                        )
                variances[np.ix_(*rows)] += value
        return variances.ravel()

    def _lengths(self, rests: Rests, attributes: tuple[int, ...], parts: list[Array]) -> Array:
        """diag(L Σ Lᵀ) for L the Kronecker product of ``parts``, Σ the covariance in these sectors.

        Infinity where they are not measured.
        """
        component = self.components.get(rests)
        count = math.prod(map(len, parts))
        if component is None or attributes not in component.layout.starts:
            return np.full(count, np.inf)
        place = component.layout.place(attributes)
        block = component.covariance[np.ix_(place, place)]
        require_memory((count, len(block)), "queries of a product on their sectors")
        rows = kron([np.ones((1, 1)), *parts])
        return np.asarray(np.einsum("ij,ij->i", rows @ block, rows))

    def answers(self, product: Product, sums: Mapping[Rests, Array]) -> Array:
        """(m,) a product's answers from the sums (r, Π s) of each component's functions.

        Raises
        ------
        OptionError : a query that is on a component that is not there.
        """
        looked_at = product.looked_at
        each, answers = self._rows_of(product), np.zeros(())
        for choice, rests in self._choices(looked_at, each):
            free = [at for at, o in enumerate(choice) if o is None]
            at_rest = [at for at, o in enumerate(choice) if o is not None]
            seen = tuple(looked_at[at] for at in free if each[at].varies.any())
            component = self.components.get(rests)
            if component is None or seen not in component.layout.starts:
                raise OptionError("the strategy does not support the queries whose answers are requested")
            flats = [each[at].flat if looked_at[at] in seen else each[at].flat[:, :1] for at in free]
            within = [
                each[at].rest[:, members] for at, members in zip(at_rest, component.members, strict=True)
            ]
            matrices = [*flats, *within]
            table = sums[rests][component.layout.place(seen)].reshape(
                [matrix.shape[1] for matrix in matrices]
            )
            answers = answers + np.transpose(along(table, matrices), np.argsort([*free, *at_rest]))
        return answers.ravel()


#: Attributes that a query may look at: its functions are formed.
MOST_OF_A_ROW_SPACE = 4
# A row space of more than this part of the cells saves nothing: matrices are as large, its maxima dearer.
MOST_FUNCTIONS_PER_CELL = 0.25
#: Up to which they are counted for a message.
MOST_SECTORS = 10**6


def why_not_of_few(workload: Workload, most: int = MOST_OF_A_ROW_SPACE) -> str:
    """Why programs of a workload cannot be evaluated on the space of its queries; "" where they can.

    most : attributes that a query may look at.
    """
    if workload.products is None:
        return "its queries are a matrix"
    sets = {product.looked_at for product in workload.products}
    order = max(map(len, sets))
    if order > most:
        why = f"a query looks at {order} attributes, more than {most}"
        if sum(2 ** len(attributes) for attributes in sets) > MOST_SECTORS:
            return why
        functions = _count_of_functions(workload, sets)
        gigabytes = whole(round(8 * functions**2 / 2**30))
        return f"{why}, and {whole(functions)} functions span its queries, a matrix of {gigabytes} GiB"
    functions = _count_of_functions(workload, sets)
    if functions > MOST_FUNCTIONS_PER_CELL * workload.n:
        return f"its queries span {functions:,} functions of {workload.n:,} cells"
    return ""


def _count_of_functions(workload: Workload, sets: set[tuple[int, ...]]) -> int:
    """Functions of the cells by which all queries of these attributes are spanned."""
    return sum(math.prod(workload.domain.shape[i] - 1 for i in sector) for sector in all_subsets(sets))


SECONDS_OF_LARGEST = 60.0  # for the largest entry of a diagonal
LEAST_SECONDS = 1.0  # when the time is over
# A diagonal so near to a multiple of a proved one is not searched again; relative to its largest entry.
NEAR_MULTIPLE = 1e-9
MOST_PROVED = 8  # largest entries that are remembered


@dataclass(frozen=True, eq=False, repr=False)
class RowSpaceCells(Spanned):
    """The n = ``total`` cells of a workload, as far as its row space tells them apart.

    rows : the row space, of ``workload``. seconds : that the largest entry of a diagonal may be searched for.
    """

    rows: RowSpace = field(kw_only=True)
    workload: Workload = field(kw_only=True)
    seconds: float = SECONDS_OF_LARGEST
    _proved: list[tuple[tuple[Array, ...], float]] = field(default_factory=list, init=False)

    @staticmethod
    def of(rows: RowSpace, workload: Workload, seconds: float = SECONDS_OF_LARGEST) -> RowSpaceCells:
        """The cells of a workload with this row space."""
        return RowSpaceCells(
            rows.space.multiplicities,
            rows.space.dims,
            total=workload.n,
            rows=rows,
            workload=workload,
            seconds=seconds,
        )

    @property
    def first_strategy(self) -> tuple[Array, ...]:
        """N of the best residual strategy, which takes little time."""
        spaces = best_residual_strategy(self.workload).spaces
        return tuple(part_of_component(self.rows, component, spaces) for component in self.rows.components)

    @property
    def words(self) -> str:
        """The sizes in words: "406 functions of the cells, 1 component of size up to 406"."""
        count = f"{self.count:,} component{'' if self.count == 1 else 's'}"
        return f"{self.kept:,} functions of the cells, {count} of size up to {self.largest:,}"

    @property
    def rounding(self) -> float:
        return self.rows.root_rounding

    @cached_property
    def longest(self) -> float:
        return self.rows.longest

    def takes(self, mixture: Mixture) -> bool:
        return tuple(factor.shape[1] for factor in mixture.factors) == self.rows.shape

    def moments(self, mixture: Mixture) -> Moments:
        return moments_of(self.rows, mixture)

    def note(self, parts: Sequence[Array], upper: float) -> None:
        """Keep an upper end for these parts that ``rows.largest`` has proved."""
        del self._proved[: max(0, len(self._proved) + 1 - MOST_PROVED)]
        self._proved.append((tuple(parts), upper))

    def largest_entry(self, parts: Sequence[Array]) -> float:
        largest = min((self._from_multiple(*entry, parts) for entry in self._proved), default=math.inf)
        if not largest < math.inf:
            largest = self.rows.largest(parts, min(self.seconds, max(time_left(), LEAST_SECONDS))).upper
            self.note(parts, largest)
        return largest

    def _from_multiple(self, base: Sequence[Array], upper: float, parts: Sequence[Array]) -> float:
        """At least the largest entry, from that of ``base``; infinity where ``parts`` is no near multiple."""
        often, pairs = self.multiplicities, list(zip(base, parts, strict=True))
        # The multiple by least squares: N = c N₀ + D, see above.
        size = float(often @ np.array([float(np.vdot(part, part)) for part, _ in pairs]))
        factor = float(often @ np.array([float(np.vdot(*pair)) for pair in pairs])) / size if size else 0.0
        if not 0 < factor < math.inf:
            return math.inf
        offs = [np.abs(new - factor * old) + EPS * (np.abs(new) + np.abs(factor * old)) for old, new in pairs]
        off = max(float(np.linalg.norm(each)) for each in offs) * self.longest * GROW
        return (factor * upper + off) * (1 + 4 * EPS) if off <= NEAR_MULTIPLE * factor * upper else math.inf


# -- queries with targets

#: Rows t of each component with the number of each row's orbit; sizes of the orbits; their targets.
QueryOrbits = tuple[list[tuple[Array, Ints]], Array, Array]


def as_targets(workload: Workload) -> Workload:
    """The queries unweighted, each product with the weight 1 / target: swaps then keep targets, too."""
    return Workload.from_products(
        workload.domain, [replace(p.unweighted(), weight=1.0 / p.target) for p in workload.products or ()]
    )


def sources_with_targets(rows: RowSpace, cells: Space, workload: Workload) -> dict[str, Split | Level] | str:
    """Sources of a workload with targets for programs, on ``cells`` of its row space; or why there are none.

    rows : the row space of ``as_targets(workload)``.

    Raises
    ------
    TooLargeError : more queries than fit in memory.
    """
    if not workload.has_all_targets:
        return "queries without a target are not known there"
    orbits = _orbits_of(rows, as_targets(workload), [p.target for p in workload.products or ()])
    if isinstance(orbits, str):
        return orbits
    inner = cells.abstract(cells.dims)
    queries = _space_of_queries(orbits, cells, workload)
    return {
        "workload.representation": Split(queries, inner, tuple(part for part, _ in orbits[0])),
        "workload.basis": Split(inner, cells, tuple(np.eye(d) for d in cells.dims)),
        "workload.targets": Level(queries, orbits[2]),
    }


def matrix_of(rows: RowSpace, cells: Space, workload: Workload) -> Split | str:
    """The queries, weighted, on ``cells`` of their row space ``rows``; or why they are not known.

    A query of weight w is one times √w, as is one whose target is 1 / w divided by the root of its target.

    Raises
    ------
    TooLargeError : more queries than fit in memory.
    """
    weighed = workload.weighed
    orbits = _orbits_of(rows, weighed, [1.0 / p.weight for p in weighed.products or ()])
    if isinstance(orbits, str):
        return orbits
    scales = 1.0 / np.sqrt(orbits[2])
    return Split(
        _space_of_queries(orbits, cells, workload),
        cells,
        tuple(part * scales[label, None] for part, label in orbits[0]),
    )


def _space_of_queries(orbits: QueryOrbits, cells: Space, workload: Workload) -> Space:
    """The queries of ``workload`` as a space, orbit by orbit."""
    parts, sizes, _ = orbits
    return Space(
        cells.multiplicities,
        tuple(len(part) for part, _ in parts),
        labels=tuple(label for _, label in parts),
        sizes=sizes,
        total=workload.m,
    )


@dataclass(frozen=True, eq=False)
class _FactorOrbits:
    """Orbits of the rows of a factor: how many rows each has, and t on each kind of function.

    flat : (q, o) on the constant and the contrasts. rests : by orbit of values (q,).
    """

    counts: Array
    flat: Array
    rests: Mapping[int, Array]

    @staticmethod
    def of(basis: AttributeBasis, piece: Piece) -> _FactorOrbits:
        """The orbits of a factor's rows under the swaps of ``basis``."""
        orbits = row_orbits(basis.symmetry, piece)
        # Where a factor has weights of its rows, these tell them apart.
        scale = np.sqrt(orbits.targets / basis.size)
        even = orbits.on_parts.rows.get(0, np.zeros((orbits.size, basis.orbits)))
        parts = basis.symmetry.parts
        return _FactorOrbits(
            orbits.counts.astype(np.float64),
            basis.turned(scale[:, None] * even),
            {int(parts[k].labels[0]): scale * rows[:, 0] for k, rows in orbits.on_parts.rows.items() if k},
        )


def _orbits_of(rows: RowSpace, workload: Workload, targets: Sequence[float]) -> QueryOrbits | str:
    """The rows of the products that ``rows`` is the space of, with their targets; or why they are not known.

    An orbit of a product is one orbit of rows of each factor, its row t the product of theirs. The weight of
    a product is one divided by its target.
    """
    _, terms = terms_of(workload, with_targets=False)
    looked = [{i: p for i, p in enumerate(term.pieces) if p.kind != "total"} for term in terms]
    orbits: dict[tuple[int, int], _FactorOrbits] = {}
    for i, piece in {(i, id(p)): (i, p) for pieces in looked for i, p in pieces.items()}.values():
        basis = rows.bases[i]
        if basis.orbits < basis.size:  # else each class is one value
            pairs = np.stack([basis.symmetry.classes, interchangeable(piece, by_rows=True)], axis=1)
            if len(np.unique(pairs, axis=0)) > basis.orbits:  # a class is in several of the query by query
                return "values can be swapped in the sum of the queries' squares, and not query by query"
        orbits[i, id(piece)] = _FactorOrbits.of(basis, piece)
    factors = [{i: orbits[i, id(p)] for i, p in pieces.items()} for pieces in looked]
    counts = [kron([np.ones(1), *(f.counts for f in by_attribute.values())]) for by_attribute in factors]
    starts = np.cumsum([0, *map(len, counts)])
    entries = sum(
        sum(len(counts[at]) for at in component.products) * component.dim for component in rows.components
    )
    require_memory((entries,), "queries in the space that they span")
    parts = []
    for component in rows.components:
        stacked = np.vstack(
            [_on_component(component, factors[at], rows.products[at].factors) for at in component.products]
        )
        labels = np.concatenate([np.arange(starts[at], starts[at + 1]) for at in component.products])
        has_any = stacked.any(axis=1)
        parts.append((stacked[has_any], labels[has_any]))
    each = [np.full(len(sizes), target) for sizes, target in zip(counts, targets, strict=True)]
    return parts, np.concatenate(counts), np.concatenate(each)


def _on_component(
    component: SectorComponent, factors: Mapping[int, _FactorOrbits], varying: Mapping[int, Any]
) -> Array:
    """(q, dim) rows t of the orbits of a product; ``varying``: attributes of which it tells values apart."""
    rests = dict(component.rests)
    rows = np.zeros((math.prod(len(orbits.counts) for orbits in factors.values()), component.dim))
    for sector, place in component.places.items():
        if not set(sector) <= set(varying):
            continue
        each = [np.ones((1, 1))]
        for i, orbits in factors.items():
            if i in rests:
                each.append(orbits.rests.get(rests[i], np.zeros(len(orbits.counts)))[:, None])
            else:
                each.append(orbits.flat[:, 1:] if i in sector else orbits.flat[:, :1])
        rows[:, place] = kron(each)
    return rows


# -- moments of measures


def moments_of(space: RowSpace, mixture: Mixture) -> Moments:
    """Proved roots of the moments of a measure, whose weights need not have sum 1."""
    computed = zip(space.moments(mixture), space.moments_rounding(mixture), strict=True)
    pairs = [root_of_moments((q + q.T) / 2, off + 2 * EPS * float(np.linalg.norm(q))) for q, off in computed]
    roots, offs = zip(*pairs, strict=True)
    return Moments(roots, offs, mixture.mass)


def root_of_moments(moments: Array, off: float) -> tuple[Array, float]:
    """J (d, d) and e/η of one component, its moments symmetric; 0 and infinity where nothing is proved."""
    nothing = np.zeros_like(moments), math.inf
    if not (np.isfinite(moments).all() and math.isfinite(off)):
        return nothing
    if moments.shape == (1, 1):
        value = float(moments[0, 0])
        return (np.sqrt(moments), (off / value + 4 * EPS) * GROW) if value > off else nothing
    lower, failed = linalg.lapack.dpotrf(moments, lower=1, clean=1)
    if failed:
        return nothing
    wrong = (off + norm(sub(exact(moments), matmul(exact(lower), exact(lower.T))))) * GROW
    least = positive_eigenvalue_bound(exact(moments), lower) - wrong
    return (lower, wrong / least * GROW) if least > wrong else nothing
