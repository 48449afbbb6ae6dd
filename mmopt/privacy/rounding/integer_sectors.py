"""A strategy on the row space of queries of few attributes, by component (sector), rounded to integers.

It is answered from marginals, never from the cells. A row of data has indicators b' = Π [xᵢ = vᵢ], vᵢ >= 1,
of the classes of values of few attributes, and the strategy is A = C U b' with the change U of functions;
K b' with K = rint(2^bits C U) is measured. Indicators are whole numbers and a basis of the same space:
rounding only adds to variances, and estimates have no bias. The sums of b' over the rows of a table are whole
numbers, from tables of counts. K b' is the column of a row of data; in a component with rests, where its
values are in their classes, the column is K b' times s [x = v] - 1 for each value v of a class of s, of
squared length s (s - 1) ‖K b'‖².

The entries of KᵀK are whole numbers below 2⁶² in size; sums for them are taken modulo 2⁶⁴, which is exact.
The squared length is then a sum of tables over few attributes; an upper bound on its largest value is proved,
and since that value is a whole number, the bound is rounded down.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase

import numpy as np

from mmopt.errors import TooLargeError
from mmopt.numerics.arrays import EPS, Array, Ints, frozen
from mmopt.privacy.rounding.integer_components import OnComponents, squared_sensitivity_from
from mmopt.privacy.rounding.integer_dense import choose_bits, loss_of, rint, unsupported
from mmopt.privacy.rounding.integer_norms_and_sensitivity import integer_product, largest_entry
from mmopt.privacy.rounding.measured_strategy_and_counts import CountedTables, digest, maximal_sets
from mmopt.sectors.functions_of_few import Rests
from mmopt.sectors.largest_of_tables import largest_of_tables
from mmopt.sectors.row_space_cells_and_targets import RestComponent, SectorLayout, change_of_functions
from mmopt.strategies import Neighbours, RowSpaceStrategy
from mmopt.workloads import Workload


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
        """KᵀK, modulo 2⁶⁴, from limbs whose products are exact in floats."""
        if largest_entry(self.matrix) >= 2**30 or len(self.matrix) >= 2**22:
            return np.asarray(self.matrix.T @ self.matrix, dtype=np.int64)
        high, low = (self.matrix >> 15).astype(np.float64), (self.matrix & (2**15 - 1)).astype(np.float64)
        mixed = (high.T @ low).astype(np.int64)
        squares = ((high.T @ high).astype(np.int64) << 30) + (low.T @ low).astype(np.int64)
        return np.asarray(squares + ((mixed + mixed.T) << 15), dtype=np.int64)

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
