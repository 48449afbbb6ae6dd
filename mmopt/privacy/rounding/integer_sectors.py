"""A strategy on a row space rounded to integers; answered from marginals, never from the cells.

A row of data has indicators b' = Π [xᵢ = vᵢ], vᵢ >= 1, of the values of few attributes, and the strategy is
A = C U b' with the change U of functions; rint(2^bits C U) b' is measured. Indicators are whole numbers and a
basis of the same space: nothing is lost but what rounding adds to variances, and estimates have no bias.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array, Ints, frozen
from mmopt.privacy.rounding.counted_tables import CountedTables, WholeTable, maximal
from mmopt.privacy.rounding.integer_arithmetic import bound_by_column
from mmopt.privacy.rounding.integer_cores import DenseCore, IntegerCore
from mmopt.privacy.rounding.integer_equal_core import EqualCore
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, OneNoise, Part, digest
from mmopt.privacy.rounding.rounded_rows import check_loss, choose_bits, rint, unsupported
from mmopt.sectors.equal_operators import EqualOperator, change_of_equal, symmetrised
from mmopt.sectors.sector_layout import SectorLayout
from mmopt.sectors.sector_operators import DenseOperator, change_of_functions
from mmopt.strategies import Neighbours, SectorStrategy
from mmopt.workloads import Workload

__all__ = ["IntegerSectors", "indicator_sums", "round_sectors"]


def indicator_sums(layout: SectorLayout, tables: CountedTables) -> Ints:
    """(r,) the sums over the rows of a table of the indicators of a layout's sectors, exactly."""
    found = np.empty(layout.size, dtype=np.int64)
    for one in layout.sets:
        table = tables.of(one)
        for axis, i in enumerate(one):
            if (label := layout.labels[i]).max() + 1 < len(label):
                merged = np.zeros((int(label.max()) + 1, *np.delete(table.shape, axis)), dtype=np.int64)
                np.add.at(merged, label, np.moveaxis(table, axis, 0))
                table = np.moveaxis(merged, 0, axis)
        kept = np.asarray(table)[(slice(1, None),) * len(one)].ravel()
        found[layout.starts[one] : layout.starts[one] + len(kept)] = kept
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerSectors(OneNoise):
    """core : the integers, on indicators."""

    core: IntegerCore

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All rows: they get the same noise."""
        return (Part(self.core.layout.size, self.squared_sensitivity, self.core.largest_answer * MAX_ROWS),)

    def squared_sensitivities(self) -> list[int]:
        """A proved bound on the largest squared column norm, and for other neighbours one that it implies."""
        return [_squared(self.core, self.neighbours)]

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of bits, the classes of values, the sectors, and the integers in row-major order."""
        layout, kind = self.core.layout, type(self.core).__name__
        heading = f"integer-sectors 1 {self.bits} {kind} {layout.shape} {layout.sets}\n"
        return digest(heading, *layout.labels, *self.core.pieces)

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """The largest sectors."""
        return maximal(self.core.layout.sets)

    def answers(self, counts: Ints) -> Ints:
        """The exact answers (rows,) for a data vector (n,)."""
        return self.answers_of(WholeTable(counts, self.core.layout.shape))

    def answers_of(self, tables: CountedTables) -> Ints:
        """The exact answers (rows,), whatever the number of cells."""
        return self.core.apply(indicator_sums(self.core.layout, tables))

    @cached_property
    def rounded(self) -> SectorStrategy:
        """2^-bits times the integers, in floating point."""
        return _rounded(self.core, self.bits)

    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Estimates (m,) of the unweighted queries from noisy answers (rows,), by the integers' inverse."""
        return self.rounded.answers_from(self.workload, np.ldexp(noisy, -self.bits))


def round_sectors(strategy: SectorStrategy, workload: Workload, neighbours: Neighbours) -> IntegerSectors:
    """Round a strategy on a row space as the module says.

    Raises
    ------
    WorkloadError : a strategy that does not support the workload; functions too far apart in size for
        64-bit integers.
    PrivacyError : neighbours for which columns have to be compared.
    """
    if not strategy.supports(workload):
        raise unsupported()
    layout = strategy.layout.indicators()
    # A column of K is a sum of 2^w columns of cells, with signs: its squared length stays below 2^60.
    order = max(map(len, layout.sets))
    bits = choose_bits(strategy.largest_column * 2.0 ** max(order - 1, 0))
    core = _core(strategy, layout, bits)
    rounded = _rounded(core, bits)
    variances = rounded.variances(workload)
    return IntegerSectors(
        workload=workload,
        neighbours=neighbours,
        norm=2,
        variances=frozen(variances),
        squared_sensitivity=_squared(core, neighbours),
        bits=bits,
        loss=check_loss(variances, strategy.variances(workload), bits),
        core=core,
    )


def _core(strategy: SectorStrategy, layout: SectorLayout, bits: int) -> IntegerCore:
    """rint(2^bits C U)."""
    scaled: Callable[[Array], Array] = lambda real: np.ldexp(strategy.scale * real, bits)  # noqa: E731
    if isinstance(strategy.core, EqualOperator):
        real = strategy.core.times(change_of_equal(strategy.layout, layout))
        blocks = symmetrised(real.blocks)
        return EqualCore(layout, {kind: rint(scaled(block)) for kind, block in blocks.items()})
    change = change_of_functions(strategy.layout, layout)
    assert isinstance(strategy.core, DenseOperator)
    return DenseCore(layout, rint(scaled(strategy.core.matrix @ change.matrix)))


def _rounded(core: IntegerCore, bits: int) -> SectorStrategy:
    largest = float(np.nextafter(np.sqrt(float(core.largest_square)), np.inf))
    return SectorStrategy(core.layout, core.operator, largest, 2.0**-bits)


def _squared(core: IntegerCore, neighbours: Neighbours) -> int:
    return bound_by_column(core.largest_square, 2, neighbours, is_nonnegative=False)
