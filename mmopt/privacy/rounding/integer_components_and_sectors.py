"""Strategies by component, rounded to integers, never as a matrix over the cells.

**Strategies that split by symmetry.** On each component the strategy has a matrix C in a basis of whole
numbers, and rint(2^bits C) is measured for every copy of the component. All components get the same noise.

The workload has an integer basis B (``symmetry.workload_by_component``), and the strategy a covariance Σ
of the estimates of B x: rint(2^bits Σ^(-1/2)) B is measured, as for a matrix (``integer_dense.py``). A
component is measured from counts by few attributes. On the part of an attribute that it chooses, the counts x
of the cells are mapped to integers: on an even or odd part by sums over orbits (1_O, 1_C - 1_σ(C)); on a rest
by s e_v - 1_C for each value v of its classes C of size s. The latter are s rows for a space of s - 1
dimensions: their Gram matrix is s² times its projection, so that with noise they are as good as an
orthonormal basis times s, which has no integers.

**Strategies on the row space of queries of few attributes**, by component (sector). One is answered from
marginals, never from the cells. A row of data has indicators b' = Π [xᵢ = vᵢ], vᵢ >= 1, of the classes of
values of few attributes, and the strategy is A = C U b' with the change U of functions; K b' with K =
rint(2^bits C U) is measured. Indicators are whole numbers and a basis of the same space: rounding only adds
to variances, and estimates have no bias. The sums of b' over the rows of a table are whole numbers, from
tables of counts. K b' is the column of a row of data; in a component with rests, where its values are in
their classes, the column is K b' times s [x = v] - 1 for each value v of a class of s, of squared length s (s
- 1) ‖K b'‖².

The entries of KᵀK are whole numbers below 2⁶² in size; sums for them are taken modulo 2⁶⁴, which is exact.
The squared length is then a sum of tables over few attributes; an upper bound on its largest value is proved,
and since that value is a whole number, the bound is rounded down.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from string import ascii_lowercase
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import EPS, MOST_CELLS, AnyInts, Array, Ints, frozen, grouped, pinv, pseudo_factors
from mmopt.numerics.component_arrays import Split
from mmopt.privacy.rounding.integer_dense import (
    COLUMN_BITS,
    check_rank,
    choose_bits,
    closest,
    inverse_root,
    loss_of,
    rint,
    round_dense,
    unsupported,
)
from mmopt.privacy.rounding.norms_and_measured_integers import (
    MAX_ROWS,
    CountedTables,
    Measured,
    OneNoise,
    Part,
    bound_by_column,
    digest,
    exactly,
    integer_product,
    is_small,
    largest_entry,
    maximal_sets,
    small_product,
)
from mmopt.sectors.functions_of_few import Rests
from mmopt.sectors.largest_of_tables import largest_of_tables
from mmopt.sectors.row_space_cells_and_targets import RestComponent, SectorLayout, change_of_functions
from mmopt.strategies import ComponentStrategy, Neighbours, RowSpaceStrategy, as_dense
from mmopt.symmetry.components import AttributePart, AttributeSymmetry, Chosen, Joint
from mmopt.symmetry.workload_by_component import spanning_rows
from mmopt.workloads import (
    Workload,
    answers_of_product,
)


@dataclass(frozen=True, eq=False)
class Component:
    """The measured rows of a component, in the order (row of ``matrix``, values of the rests).

    ``joint``, ``chosen`` : the attributes with their symmetries, and which part of each the component is
    (``symmetry.components``). ``matrix`` (k, kept), on the sums and differences over orbits, times the whole
    matrices of the rests.
    """

    joint: Joint
    chosen: Chosen
    matrix: Ints

    @cached_property
    def _parts(self) -> list[tuple[AttributeSymmetry, AttributePart]]:
        """The chosen part of each attribute."""
        return [(a, a.parts[k]) for a, k in zip(self.joint.attributes, self.chosen.key, strict=True)]

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The attributes of which the component has more than the sum over all values."""
        sums = [part.kind == "even" and part.dim == 1 for _, part in self._parts]
        return tuple(i for i, is_sum in enumerate(sums) if not is_sum)

    @cached_property
    def _maps(self) -> tuple[LinearOperator, ...]:
        """The integer matrix of each of the ``axes``."""
        return tuple(_integer_map(*self._parts[i]) for i in self.axes)

    @cached_property
    def centred(self) -> frozenset[int]:
        """The attributes over which its part of the data vector sums to zero."""
        return frozenset(i for i in self.axes if self._parts[i][1].kind != "even")

    @cached_property
    def rest_sizes(self) -> list[int]:
        """The sizes of the classes of the rests."""
        rests = [(a, a.orbit_of_class == part.labels[0]) for a, part in self._parts if part.kind == "rest"]
        return [int(a.class_sizes[classes][0]) for a, classes in rests]

    @cached_property
    def orbit_sizes(self) -> list[int]:
        """The numbers of values of the orbits of the rests."""
        return [int(a.sizes[part.labels[0]]) for a, part in self._parts if part.kind == "rest"]

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        return len(self.matrix) * math.prod(self.orbit_sizes)

    @property
    def orbits(self) -> Ints:
        """(kept,) the orbit of cells of each column of ``matrix``."""
        return self.joint.labels(self.chosen.key)[self.chosen.kept]

    @property
    def norms(self) -> Array:
        """(kept,) the L2 length of the vector of each column of ``matrix``."""
        return np.asarray(np.sqrt(self.joint.sizes[self.orbits] / math.prod(map(float, self.orbit_sizes))))

    @property
    def largest_entry(self) -> int:
        """Bound on the entries over the cells, and on all sums on the way to an answer for one cell."""
        return max(largest_entry(self.matrix), 1) * math.prod(self.rest_sizes)

    def answers(self, counts: CountedTables) -> AnyInts:
        """The exact answers (rows,) of its measured queries."""

        def linear(tensor: Any) -> Any:
            """The answers as a linear function of the table of counts, in its number type."""
            for axis, one in enumerate(self._maps):
                tensor = _along(one, tensor, axis)
            split = tensor.transpose(self._order).reshape(self.joint.dim(self.chosen.key), -1)
            return (self.matrix @ split[self.chosen.kept]).ravel()

        return exactly(linear, counts.of(self.axes), self.largest_entry * MAX_ROWS)

    def least_squares(self, noisy: Array, attributes: tuple[int, ...]) -> Array:
        """The sums, over all but these attributes, of the shortest x̂ (n,) that fits the answers best.

        An array of the sizes of ``attributes``, or of 1 for those where it is the same at all values. All
        ``centred`` ones have to be among them: otherwise the sums are zero.
        """
        values = noisy.reshape(len(self.matrix), -1)
        sizes = [len(a.classes) for a in self.joint.attributes]
        summed = set(range(len(sizes))).difference(attributes, self.axes)
        cells_summed = float(math.prod(sizes[i] for i in summed))  # all alike
        norms = self.norms
        estimates = pinv(self.matrix * norms) @ values
        estimates *= (cells_summed / norms / math.prod(float(s) ** 2 for s in self.rest_sizes))[:, None]
        full = np.zeros((self.joint.dim(self.chosen.key), values.shape[1]))
        full[self.chosen.kept] = estimates
        shape = [self._maps[axis].shape[0] for axis in self._order]
        tensor = full.reshape(shape).transpose(np.argsort(self._order))
        for axis, (attribute, one) in enumerate(zip(self.axes, self._maps, strict=True)):
            sums = one if attribute in attributes else (one @ np.ones(one.shape[1]))[:, None]
            tensor = _along(sums.T, tensor, axis)
        return np.asarray(tensor.reshape([sizes[i] if i in self.axes else 1 for i in attributes]))

    @cached_property
    def _order(self) -> list[int]:
        """The places of the ``axes``, those of rests last: the order in matrices (sums, rests)."""
        return sorted(range(len(self.axes)), key=lambda at: self._parts[self.axes[at]][1].kind == "rest")


def _along(matrix: Array | LinearOperator, tensor: Any, axis: int) -> Any:
    """The matrix times the tensor along an axis, in the number type of the tensor."""
    moved = np.moveaxis(tensor, axis, 0)
    product = matrix @ moved.reshape(moved.shape[0], -1)
    return np.moveaxis(np.asarray(product).reshape(matrix.shape[0], *moved.shape[1:]), 0, axis)


def _integer_map(attribute: AttributeSymmetry, part: AttributePart) -> LinearOperator:
    """The integer matrix (rows, size) of a part; that of a rest, which is dense, by its factors."""
    n = len(attribute.classes)
    values, ones = np.arange(n), np.ones(n, dtype=np.int64)
    if part.kind == "even":
        return aslinearoperator(
            scipy.sparse.csr_array((ones, (attribute.orbit_of, values)), shape=(part.dim, n))
        )
    member = scipy.sparse.csr_array((ones, (attribute.classes, values)))
    if part.kind == "odd":
        first, second = attribute.pairs.T
        return aslinearoperator(scipy.sparse.csr_array(member[first] - member[second]))
    classes = member[np.flatnonzero(attribute.orbit_of_class == part.labels[0])]
    # The rows of one class after the other.
    rows = scipy.sparse.csr_array(
        (ones[: classes.nnz], (values[: classes.nnz], classes.indices)), shape=(classes.nnz, n)
    )
    of_class = rows @ classes.T
    sizes = scipy.sparse.diags_array(of_class @ classes.sum(axis=1), dtype=np.int64) @ rows
    return aslinearoperator(sizes) - aslinearoperator(of_class) @ aslinearoperator(classes)


@dataclass(frozen=True, eq=False, kw_only=True)
class OnComponents(OneNoise):
    """Integers on the components of a space, which answer from tables; all rows get the same noise."""

    components: tuple[Any, ...]

    @property
    @abstractmethod
    def largest_answer(self) -> int:
        """A bound on the answers for one row of data."""

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All rows: they get the same noise."""
        return (
            Part(
                sum(component.rows for component in self.components),
                self.squared_sensitivity,
                self.largest_answer * MAX_ROWS,
            ),
        )

    def answers_of(self, tables: CountedTables) -> AnyInts:
        """The exact answers (rows,), component by component."""
        return np.concatenate([component.answers(tables) for component in self.components])


def squared_sensitivity_from(largest_square: int, neighbours: Neighbours) -> int:
    """The squared L2 sensitivity, or a bound on it, where no column has a larger squared length."""
    return bound_by_column(largest_square, 2, neighbours, is_nonnegative=False)


MOST_HELD = 2**22  # cells up to which one estimate of the data vector is cheaper than an estimate per product


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerComponents(OnComponents):
    """An integer strategy on the components of the cells."""

    components: tuple[Component, ...]

    @property
    def largest_answer(self) -> int:
        """The largest of the components' bounds."""
        return max(component.largest_entry for component in self.components)

    def squared_sensitivities(self) -> list[int]:
        """The largest squared column norm; a bound where rows are replaced."""
        return [squared_sensitivity_from(_largest_square(self.components), self.neighbours)]

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of bits, the symmetries, and each component with its matrix in row-major order."""
        symmetries = [part for a in self.components[0].joint.attributes for part in (a.classes, a.mirror)]
        components = [
            piece
            for c in self.components
            for piece in (f"{c.chosen.key} {c.matrix.shape}\n", c.chosen.kept, c.matrix)
        ]
        return digest(f"integer-components 1 {self.bits} {len(self.components)}\n", *symmetries, *components)

    @property
    def tables(self) -> tuple[tuple[int, ...], ...] | None:
        """The tables of the components, where the workload consists of products."""
        sets = (component.axes for component in self.components)
        return None if self.workload.products is None else maximal_sets(sets)

    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (rows,).

        ``deviations`` are not read: all rows have one noise, at which least squares is the same. All
        estimates are made from one estimate of the data vector, up to ``MOST_HELD`` cells or where the
        workload has no products; else from a table for each product, made of the components whose ``centred``
        attributes are all among its own.

        Raises
        ------
        TooLargeError : a table over the attributes of a product does not fit in memory.
        """
        ends = np.cumsum([component.rows for component in self.components])
        noisy = np.asarray(noisy, dtype=np.float64)
        parts = list(zip(self.components, np.split(noisy, ends[:-1]), strict=True))
        shape, products = self.workload.domain.shape, self.workload.products

        def table(attributes: tuple[int, ...]) -> Array:
            """The sums of the estimated data vector over all but these attributes."""
            sizes = tuple(shape[i] for i in attributes)
            require_memory(
                sizes,
                "estimate of the data vector",
                "group values of the attributes, so that there are fewer cells",
            )
            total = np.zeros(sizes)
            for component, part in parts:
                if component.centred.issubset(attributes):
                    total += component.least_squares(part, attributes)
            return total

        if products is None or self.workload.n <= MOST_HELD:
            return self.workload.answers(table(tuple(range(len(shape)))).ravel())
        cached = cache(table)
        return np.concatenate([answers_of_product(product, cached) for product in products])


def round_by_component(
    strategy: ComponentStrategy, workload: Workload, neighbours: Neighbours, *, uses_total: bool = True
) -> Measured:
    """Round by component, or as a matrix where that is better or the only way.

    A matrix is rounded up to ``MOST_CELLS`` cells, where it is cheaper, where neighbours need columns to be
    compared (by component they are only bounded), or where rounding by component fails. Errors as
    ``round_components`` and ``round_dense``.
    """
    is_small = strategy.n <= MOST_CELLS
    if not (is_small and (neighbours.times is None or strategy.is_better_dense)):
        try:
            return round_components(strategy, workload, neighbours)
        except WorkloadError:
            if not is_small:
                raise
    return round_dense(as_dense(strategy), workload, neighbours, uses_total=uses_total)


def round_components(
    strategy: ComponentStrategy, workload: Workload, neighbours: Neighbours
) -> IntegerComponents:
    """Round a strategy by component as described above.

    Raises
    ------
    WorkloadError : the strategy does not support the workload or measures some queries with next to no
        noise; queries have no small integer basis; or rounding loses rank or a query, or is too large.
    """
    if not strategy.supports(workload):
        raise unsupported()
    cells = strategy.cells
    bases = spanning_rows(cells.joint, workload, cells.chosen)
    unrounded, roots = [], []  # the components on their integer bases, and Σ^(-1/2) of each
    for chosen, basis, part in zip(cells.chosen, bases, strategy.split.parts, strict=True):
        if basis is None:
            raise _no_integers()
        if len(basis):
            unrounded.append(Component(cells.joint, chosen, basis))
            roots.append(_scaled_root(unrounded[-1], part))
    lengths = [
        np.square(root @ component.matrix).sum(axis=0)
        for root, component in zip(roots, unrounded, strict=True)
    ]
    largest, before = math.sqrt(_largest_sum(unrounded, lengths)), strategy.variances(workload)

    def rounded(most: int) -> IntegerComponents:
        """The integers whose columns have norms of up to 2^most."""
        bits = choose_bits(largest, most)
        integers = _rounded(unrounded, roots, bits)
        integer_strategy = _as_strategy(integers, bits)
        if not integer_strategy.supports(workload):
            raise _no_integers()
        variances = integer_strategy.variances(workload)
        return IntegerComponents(
            workload=workload,
            neighbours=neighbours,
            norm=2,
            variances=frozen(variances),
            squared_sensitivity=squared_sensitivity_from(_largest_square(integers), neighbours),
            bits=bits,
            bias=integer_strategy.missed(workload),
            loss=loss_of(variances, before),
            components=integers,
        )

    return closest(rounded, COLUMN_BITS)


def _rounded(unrounded: Sequence[Component], roots: Sequence[Array], bits: int) -> tuple[Component, ...]:
    """The components with rint(2^bits root) times their integer bases."""
    cores = [rint(np.ldexp(root, bits)) for root in roots]
    for core in cores:
        check_rank(core, bits)
    return tuple(
        replace(one, matrix=integer_product(core, one.matrix))
        for one, core in zip(unrounded, cores, strict=True)
    )


def _scaled_root(component: Component, part: Array) -> Array:
    """Σ^(-1/2) of the basis under the strategy's part, over the lengths of the rests' matrices."""
    inverse, _ = pseudo_factors(part)
    image = (component.matrix * component.norms) @ inverse
    return inverse_root(image @ image.T) / math.prod(component.rest_sizes)


def _largest_square(components: Sequence[Component]) -> int:
    """The largest squared norm of a column, exactly."""
    return int(_largest_sum(components, [(c.matrix.astype(object) ** 2).sum(axis=0) for c in components]))


def _largest_sum(components: Sequence[Component], squares: Sequence[Any]) -> Any:
    """The largest squared norm of a column over the cells, from those of the kept columns by component."""
    by_orbit = grouped(  # of cells
        (orbit, math.prod(s * (s - 1) for s in component.rest_sizes) * square)
        for component, each in zip(components, squares, strict=True)
        for orbit, square in zip(component.orbits.tolist(), each.tolist(), strict=True)
    )
    return max(map(sum, by_orbit.values()))


def _as_strategy(components: Sequence[Component], bits: int) -> ComponentStrategy:
    """The integer matrix at unit noise, in the orthonormal coordinates of its components."""
    cells = components[0].joint.space([component.chosen for component in components])
    parts = tuple(np.ldexp(c.matrix * c.norms * math.prod(c.rest_sizes), -bits) for c in components)
    return ComponentStrategy(Split(cells.abstract(tuple(map(len, parts))), cells, parts))


def _no_integers() -> WorkloadError:
    """The error for queries without a small integer basis on the components."""
    return WorkloadError(
        "the queries have no small integer basis on the components of the strategy",
        hint="write the queries with small integers (multiply them by a common denominator)",
    )


def _by_class(table: Ints, label: Ints, axis: int) -> Ints:
    """Counts by the classes of an axis, without the first class."""
    count = int(label.max()) + 1
    if count < len(label):
        merged = np.zeros((count, *np.delete(table.shape, axis)), dtype=np.int64)
        np.add.at(merged, label, np.moveaxis(table, axis, 0))
    else:
        merged = np.moveaxis(table, axis, 0)[np.argsort(label)]
    return np.moveaxis(merged[1:], 0, axis)


# Time for ruling out cells, beyond which the largest bound that is still open counts.
SECONDS_OF_SEARCH = 60.0

_MOST_ENTRIES = 2**27  # entries of K on all cells, up to which columns are computed one by one
_ENTRIES_AT_A_TIME = 2**22  # entries of K on some of them
_LARGEST_SQUARE = 2.0**61  # squared columns of K, as floats: far below 2⁶³ however they are rounded


@dataclass(frozen=True, eq=False)
class IndicatorComponent:
    """A component: ``matrix`` K (r, r) on the indicators of ``layout``, for each choice of values of rests.

    rests : for each the attribute, and the class whose values it tells apart.

    Raises
    ------
    TooLargeError : columns whose squared length may reach 2⁶².
    """

    rests: Rests
    layout: SectorLayout
    matrix: Ints

    def __post_init__(self) -> None:
        _check_lengths(self.weight * np.square(self.matrix * 1.0).sum(axis=0))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of values of the classes of the rests."""
        return tuple(int((self.layout.labels[i] == o).sum()) for i, o in self.rests)

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        return len(self.matrix) * math.prod(self.sizes)

    @property
    def weight(self) -> int:
        """The squared length of the factors of the rests at a value, Π s (s - 1)."""
        return math.prod(s * (s - 1) for s in self.sizes)

    def answers(self, tables: CountedTables) -> Ints:
        """The exact answers of the rows of the component: ``matrix`` times sums over the rows of data.

        The sums (r, Π s) are those of the indicators of the sectors times s [x = v] - [x in the class]; the
        latter for every value v of the class, of s values, of each of the rests, in row-major order.
        """
        layout = self.layout
        members = {i: np.flatnonzero(layout.labels[i] == o) for i, o in self.rests}
        copies = math.prod(map(len, members.values()))
        sums = np.empty((layout.size, copies), dtype=np.int64)
        for one in layout.sets:
            attributes = tuple(sorted({*one, *members}))
            table = np.asarray(tables.of(attributes), dtype=np.int64)
            for axis, i in enumerate(attributes):
                if i in members:
                    inside = table.take(members[i], axis)
                    table = len(members[i]) * inside - inside.sum(axis=axis, keepdims=True)
                else:
                    table = _by_class(table, layout.labels[i], axis)
            order = [attributes.index(i) for i in (*one, *members)]
            start, block = layout.starts[one], np.transpose(table, order).reshape(-1, copies)
            sums[start : start + len(block)] = block
        return np.asarray((self.matrix @ sums).ravel(), dtype=np.int64)

    def squares(self, cells: Ints) -> Ints:
        """(c,) the squared lengths of the columns at cells (c, k) of values, exactly."""
        columns = integer_product(self.matrix, np.rint(self.layout.values(cells)).astype(np.int64))
        real = columns.astype(np.float64)
        _check_lengths(self.weight * np.einsum("ij,ij->j", real, real))
        squares = self.weight * np.einsum("ij,ij->j", columns, columns)
        for i, o in self.rests:
            squares = squares * (self.layout.labels[i][cells[:, i]] == o)
        return np.asarray(squares, dtype=np.int64)

    @cached_property
    def gram(self) -> Ints:
        """KᵀK, modulo 2⁶⁴."""
        if is_small(self.matrix):
            return small_product(self.matrix.T, self.matrix)
        return np.asarray(self.matrix.T @ self.matrix, dtype=np.int64)

    def add_to(self, tables: dict[tuple[int, ...], Array]) -> tuple[int, float]:
        """Add the squared length to tables over classes; the number of terms, and a bound on their sum."""
        sets, starts, fixed = self.layout.sets, self.layout.starts, dict(self.rests)
        shape = [functions.shape[1] for functions in self.layout.functions]
        count, size = 0, 0.0
        for at, one in enumerate(sets):
            for other in sets[at:]:
                counts = [[shape[i] - 1 for i in sector] for sector in (one, other)]
                rows, columns = (
                    slice(starts[sector], starts[sector] + math.prod(c))
                    for sector, c in zip((one, other), counts, strict=True)
                )
                often = self.weight * (1.0 if one == other else 2.0)
                block = often * self.gram[rows, columns].astype(np.float64).reshape([*counts[0], *counts[1]])
                attributes = sorted({*one, *other})
                letters = ascii_lowercase[: len(attributes)]
                places = "".join(letters[attributes.index(i)] for i in (*one, *other))
                union = tuple(sorted({*attributes, *fixed}))
                table = tables.setdefault(union, np.zeros([shape[i] for i in union]))
                inside = tuple(fixed.get(i, slice(1, None)) for i in union)
                table[inside] += np.einsum(f"{places}->{letters}", block)
                count, size = count + 1, size + float(np.abs(block).max(initial=0.0))
        return count, size


def _proved_square(parts: Sequence[IndicatorComponent]) -> int:
    """A proved upper bound on the largest squared length of a column over all cells.

    Exact for few cells, else from tables over the attributes of two sectors.
    """
    layout = parts[0].layout
    shape = [functions.shape[1] for functions in layout.functions]
    if sum(len(part.matrix) for part in parts) * math.prod(shape) <= _MOST_ENTRIES:
        return max(
            int(np.sum([part.squares(cells) for part in parts], axis=0).max())
            for cells in _cells(layout, shape)
        )
    tables: dict[tuple[int, ...], Array] = {}
    count, size = 0, 0.0
    for part in parts:
        terms, bound = part.add_to(tables)
        count, size = count + terms, size + bound
    # Every number is rounded twice, and is in at most as many sums as there are terms.
    largest = largest_of_tables(tuple(shape), tables, 1.01 * (count + 8) * EPS * size, SECONDS_OF_SEARCH)
    return math.floor(largest.upper)


def _cells(layout: SectorLayout, shape: list[int]) -> Iterator[Ints]:
    """One cell of each class, some at a time."""
    step, n = max(1, _ENTRIES_AT_A_TIME // layout.size), math.prod(shape)
    firsts = [np.unique(label, return_index=True)[1] for label in layout.labels]
    for start in range(0, n, step):
        codes = np.unravel_index(np.arange(start, min(start + step, n)), shape)
        yield np.stack([first[code] for first, code in zip(firsts, codes, strict=True)], axis=1)


def _check_lengths(squares: Array) -> None:
    """TooLargeError for squared lengths that may reach 2⁶²."""
    longest = float(squares.max(initial=0.0))
    if not longest < _LARGEST_SQUARE:
        raise TooLargeError(
            f"a measured column has a squared length of about {longest:.3g}, the limit is 2^61",
            hint="use fewer bits",
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerSectors(OnComponents):
    """Integers on indicators, the component without rests first.

    largest_square : a proved upper bound on the largest squared length of a column over all cells.
    rounded : 2^-bits times the integers, in floating point.
    """

    components: tuple[IndicatorComponent, ...]
    largest_square: int
    rounded: RowSpaceStrategy

    @property
    def largest_answer(self) -> int:
        """The largest length of a column, rounded down: answers for a row are whole."""
        return math.isqrt(self.largest_square)

    def squared_sensitivities(self) -> list[int]:
        """A proved bound on the largest squared column norm, and for other neighbours the one it implies."""
        return [squared_sensitivity_from(self.largest_square, self.neighbours)]

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of bits, the classes of values, the sectors, and the integers in row-major order."""
        layout, parts = self.components[0].layout, self.components
        sets = [part.layout.sets for part in parts]
        return digest(
            f"integer-sectors 1 {self.bits} DenseCore {layout.shape} {sets}\n",
            *layout.labels,
            *(piece for part in parts for piece in (np.array(part.rests), part.matrix)),
        )

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """The largest sectors, with the attributes of rests."""
        sectors_and_rests = ((part.layout.sets, [i for i, _ in part.rests]) for part in self.components)
        return maximal_sets([(*one, *rests) for sets, rests in sectors_and_rests for one in sets])

    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Estimates (m,) of the unweighted queries from noisy answers (rows,), by the integers' inverse."""
        return self.rounded.answers_from(self.workload, np.ldexp(noisy, -self.bits))


def round_sectors(strategy: RowSpaceStrategy, workload: Workload, neighbours: Neighbours) -> IntegerSectors:
    """Round a strategy on a row space as described above.

    Raises
    ------
    WorkloadError : a strategy that does not support the workload; functions too far apart in size for
        64-bit integers.
    PrivacyError : neighbours for which columns have to be compared.
    """
    if not strategy.supports(workload):
        raise unsupported()
    # A column of K is a sum of 2^w columns of cells, with signs: its squared length stays below 2^60.
    order = max(len(one) for component in strategy.components for one in component.layout.sets)
    bits = choose_bits(strategy.largest_column * 2.0 ** max(order - 1, 0))
    parts = tuple(_on_indicators(one, strategy.scale, bits) for one in strategy.components)
    square = _proved_square(parts)
    rounded = RowSpaceStrategy(
        tuple(
            RestComponent(one.rests, one.layout, float(math.prod(one.sizes)) * one.matrix.astype(np.float64))
            for one in parts
        ),
        float(np.nextafter(np.sqrt(float(square)), np.inf)),
        2.0**-bits,
    )
    variances = rounded.variances(workload)
    return IntegerSectors(
        workload=workload,
        neighbours=neighbours,
        norm=2,
        variances=frozen(variances),
        squared_sensitivity=squared_sensitivity_from(square, neighbours),
        bits=bits,
        loss=loss_of(variances, strategy.variances(workload)),
        components=parts,
        largest_square=square,
        rounded=rounded,
    )


def _on_indicators(one: RestComponent, scale: float, bits: int) -> IndicatorComponent:
    """rint(2^bits C U), for rests divided by the numbers of their values."""
    layout = one.layout.indicators()
    return IndicatorComponent(
        one.rests,
        layout,
        rint(
            np.ldexp(
                (scale / math.prod(one.sizes) * (one.core @ change_of_functions(one.layout, layout))), bits
            )
        ),
    )
