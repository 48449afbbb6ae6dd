"""A strategy on a row space rounded to integers; answered from marginals, never from the cells.

A row of data has indicators b' = Π [xᵢ = vᵢ], vᵢ >= 1, of the values of few attributes, and the strategy is
A = C U b' with the change U of functions; rint(2^bits C U) b' is measured. Indicators are whole numbers and a
basis of the same space: rounding only adds to variances, and estimates have no bias. The sums of b' over the
rows of a table are whole numbers, from tables of counts.

A row of data is a vector b' of indicators of classes, so that K b' is its column. In a component with rests,
where its values are in their classes, the column is K b' times s [x = v] - 1 for each value v of a class of
s, of squared length s (s - 1) ‖K b'‖². The entries of KᵀK are whole numbers below 2⁶² in size; sums for them
are taken modulo 2⁶⁴, which is exact. The squared length is then a sum of tables over few attributes; an upper
bound on its largest value is proved, and since that value is a whole number, the bound is rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase

import numpy as np

from mmopt.errors import TooLargeError
from mmopt.numerics.arrays import EPS, Array, Ints, frozen
from mmopt.privacy.rounding.integer_arithmetic import bound_by_column, integer_product, largest_entry
from mmopt.privacy.rounding.integer_dense import choose_bits, loss_of, rint, unsupported
from mmopt.privacy.rounding.integer_strategy import (
    MAX_ROWS,
    CountedTables,
    OneNoise,
    Part,
    WholeTable,
    digest,
    maximal,
)
from mmopt.sectors.functions_of_few import Rests
from mmopt.sectors.largest_of_tables import Largest, largest_of_tables
from mmopt.sectors.queries_on_sectors import RestComponent, SectorLayout, change_of_functions
from mmopt.strategies import Neighbours, SectorStrategy
from mmopt.workloads import Workload


def sums_of(layout: SectorLayout, rests: Rests, tables: CountedTables) -> Ints:
    """(r, Π s) sums over the rows of the indicators of a layout's sectors times s [x = v] - [x in the class].

    The latter are for every value v of the class, of s values, of each of ``rests``, in row-major order.
    """
    members = {i: np.flatnonzero(layout.labels[i] == o) for i, o in rests}
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
    return sums


def _by_class(table: Ints, label: Ints, axis: int) -> Ints:
    """Counts by the classes of an axis, without the first class."""
    count = int(label.max()) + 1
    if count < len(label):
        merged = np.zeros((count, *np.delete(table.shape, axis)), dtype=np.int64)
        np.add.at(merged, label, np.moveaxis(table, axis, 0))
    else:
        merged = np.moveaxis(table, axis, 0)[np.argsort(label)]
    return np.moveaxis(merged[1:], 0, axis)


SECONDS = 60.0
"""Time for ruling out cells, beyond which the largest bound that is still open counts."""

_FEW = 2**27  # entries of K on all cells, up to which columns are computed one by one
_AT_A_TIME = 2**22  # entries of K on some of them
_LIMIT = 2.0**61  # squared columns of K, as floats: far below 2⁶³ however they are rounded


@dataclass(frozen=True, eq=False)
class IntegerPart:
    """A component: ``matrix`` (r, r) on the indicators of ``layout``, for each choice of values of rests."""

    rests: Rests
    layout: SectorLayout
    matrix: Ints

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

    @property
    def real(self) -> RestComponent:
        """The component in floating point."""
        scale = float(math.prod(self.sizes))
        return RestComponent(self.rests, self.layout, scale * self.matrix.astype(np.float64))

    def answers(self, tables: CountedTables) -> Ints:
        """The exact answers of the rows of the component."""
        return np.asarray((self.matrix @ sums_of(self.layout, self.rests, tables)).ravel(), dtype=np.int64)

    def squares(self, cells: Ints) -> Ints:
        """(c,) the squared lengths of the columns at cells (c, k) of values, exactly."""
        columns = integer_product(self.matrix, np.rint(self.layout.values(cells)).astype(np.int64))
        real = columns.astype(np.float64)
        _check(self.weight * np.einsum("ij,ij->j", real, real))
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
                seen = sorted({*one, *other})
                letters = ascii_lowercase[: len(seen)]
                places = "".join(letters[seen.index(i)] for i in (*one, *other))
                union = tuple(sorted({*seen, *fixed}))
                table = tables.setdefault(union, np.zeros([shape[i] for i in union]))
                inside = tuple(fixed.get(i, slice(1, None)) for i in union)
                table[inside] += np.einsum(f"{places}->{letters}", block)
                count, size = count + 1, size + float(np.abs(block).max(initial=0.0))
        return count, size


@dataclass(frozen=True, eq=False)
class IntegerCore:
    """K on the functions of layouts of indicators. parts : the components, the one without rests first.

    Raises
    ------
    TooLargeError : columns whose squared length may reach 2⁶².
    """

    parts: tuple[IntegerPart, ...]

    def __post_init__(self) -> None:
        for part in self.parts:
            _check(part.weight * np.square(part.matrix * 1.0).sum(axis=0))

    @property
    def layout(self) -> SectorLayout:
        """The layout of the component without rests."""
        return self.parts[0].layout

    @property
    def largest_answer(self) -> int:
        """Bound on |K b'(x)| in each row."""
        return math.isqrt(self.largest_square)

    def answers(self, tables: CountedTables) -> Ints:
        """K times the sums over the rows of a table, exact where the result is below 2⁶³ in size."""
        return np.concatenate([part.answers(tables) for part in self.parts])

    @cached_property
    def largest_square(self) -> int:
        """A proved upper bound on the largest squared length of a column over all cells.

        Exact for few cells, else from tables over the attributes of two sectors.
        """
        shape = [functions.shape[1] for functions in self.layout.functions]
        if sum(len(part.matrix) for part in self.parts) * math.prod(shape) <= _FEW:
            return max(
                int(np.sum([part.squares(cells) for part in self.parts], axis=0).max())
                for cells in self._cells(shape)
            )
        return math.floor(self._largest_of_tables(shape).upper)

    def _cells(self, shape: list[int]) -> Iterator[Ints]:
        """One cell of each class, some at a time."""
        step, n = max(1, _AT_A_TIME // self.layout.size), math.prod(shape)
        firsts = [np.unique(label, return_index=True)[1] for label in self.layout.labels]
        for start in range(0, n, step):
            codes = np.unravel_index(np.arange(start, min(start + step, n)), shape)
            yield np.stack([first[code] for first, code in zip(firsts, codes, strict=True)], axis=1)

    def _largest_of_tables(self, shape: list[int]) -> Largest:
        tables: dict[tuple[int, ...], Array] = {}
        count, size = 0, 0.0
        for part in self.parts:
            terms, bound = part.add_to(tables)
            count, size = count + terms, size + bound
        # Every number is rounded twice, and is in at most as many sums as there are terms.
        return largest_of_tables(tuple(shape), tables, 1.01 * (count + 8) * EPS * size, SECONDS)


def _check(squares: Array) -> None:
    """TooLargeError for squared lengths that may reach 2⁶²."""
    longest = float(squares.max(initial=0.0))
    if not longest < _LIMIT:
        raise TooLargeError(
            f"a measured column has a squared length of about {longest:.3g}, the limit is 2^61",
            hint="use fewer bits",
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerSectors(OneNoise):
    """core : the integers, on indicators. rounded : 2^-bits times them, in floating point."""

    core: IntegerCore
    rounded: SectorStrategy

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All rows: they get the same noise."""
        rows = sum(part.rows for part in self.core.parts)
        return (Part(rows, self.squared_sensitivity, self.core.largest_answer * MAX_ROWS),)

    def squared_sensitivities(self) -> list[int]:
        """A proved bound on the largest squared column norm, and for other neighbours the one it implies."""
        return [_squared(self.core, self.neighbours)]

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of bits, the classes of values, the sectors, and the integers in row-major order."""
        layout, parts = self.core.layout, self.core.parts
        sets = [part.layout.sets for part in parts]
        heading = f"integer-sectors 1 {self.bits} DenseCore {layout.shape} {sets}\n"
        pieces = (piece for part in parts for piece in (np.array(part.rests), part.matrix))
        return digest(heading, *layout.labels, *pieces)

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """The largest sectors, with the attributes of rests."""
        each = ((part.layout.sets, [i for i, _ in part.rests]) for part in self.core.parts)
        return maximal([(*one, *rests) for sets, rests in each for one in sets])

    def answers(self, counts: Ints) -> Ints:
        """The exact answers (rows,) for a data vector (n,)."""
        return self.answers_of(WholeTable(counts, self.core.layout.shape))

    def answers_of(self, tables: CountedTables) -> Ints:
        """The exact answers (rows,), whatever the number of cells."""
        return self.core.answers(tables)

    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Estimates (m,) of the unweighted queries from noisy answers (rows,), by the integers' inverse."""
        return self.rounded.answers_from(self.workload, np.ldexp(noisy, -self.bits))


def round_sectors(strategy: SectorStrategy, workload: Workload, neighbours: Neighbours) -> IntegerSectors:
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
    core = _core(strategy, bits)
    rounded = _rounded(core, bits)
    variances = rounded.variances(workload)
    return IntegerSectors(
        workload=workload,
        neighbours=neighbours,
        norm=2,
        variances=frozen(variances),
        squared_sensitivity=_squared(core, neighbours),
        bits=bits,
        loss=loss_of(variances, strategy.variances(workload)),
        core=core,
        rounded=rounded,
    )


def _core(strategy: SectorStrategy, bits: int) -> IntegerCore:
    """rint(2^bits C U), for rests divided by the numbers of their values."""
    parts = []
    for one in strategy.components:
        layout = one.layout.indicators()
        real = strategy.scale / math.prod(one.sizes) * (one.core @ change_of_functions(one.layout, layout))
        parts.append(IntegerPart(one.rests, layout, rint(np.ldexp(real, bits))))
    return IntegerCore(tuple(parts))


def _rounded(core: IntegerCore, bits: int) -> SectorStrategy:
    largest = float(np.nextafter(np.sqrt(float(core.largest_square)), np.inf))
    whole, *rests = (part.real for part in core.parts)
    return SectorStrategy(whole.layout, whole.core, largest, 2.0**-bits, tuple(rests))


def _squared(core: IntegerCore, neighbours: Neighbours) -> int:
    return bound_by_column(core.largest_square, 2, neighbours, is_nonnegative=False)
