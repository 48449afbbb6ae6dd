"""A strategy on a row space rounded to integers; answered from marginals, never from the cells.

A row of data has indicators b' = Π [xᵢ = vᵢ], vᵢ >= 1, of the values of few attributes, and the strategy is
A = C U b' with the change U of functions; rint(2^bits C U) b' is measured. Indicators are whole numbers and a
basis of the same space: nothing is lost but what rounding adds to variances, and estimates have no bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array, Ints, frozen
from mmopt.privacy.rounding.counted_tables import CountedTables, WholeTable, maximal
from mmopt.privacy.rounding.integer_arithmetic import bound_by_column
from mmopt.privacy.rounding.integer_cores import IntegerCore, IntegerPart
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, OneNoise, Part, digest
from mmopt.privacy.rounding.rounded_rows import choose_bits, loss_of, rint, unsupported
from mmopt.sectors.measured.sector_layout import change_of_functions
from mmopt.strategies import Neighbours, SectorStrategy
from mmopt.workloads import Workload

__all__ = ["IntegerSectors", "round_sectors"]


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
        """A proved bound on the largest squared column norm, and for other neighbours one that it implies."""
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
    """Round a strategy on a row space as the module says.

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
    """rint(2^bits C U), of rests over the numbers of their values."""
    parts = []
    for one in strategy.components:
        own = one.layout.indicators()
        real = strategy.scale / math.prod(one.sizes) * (one.core @ change_of_functions(one.layout, own))
        parts.append(IntegerPart(one.rests, own, rint(np.ldexp(real, bits))))
    return IntegerCore(tuple(parts))


def _rounded(core: IntegerCore, bits: int) -> SectorStrategy:
    largest = float(np.nextafter(np.sqrt(float(core.largest_square)), np.inf))
    whole, *rests = (part.real for part in core.parts)
    return SectorStrategy(whole.layout, whole.core, largest, 2.0**-bits, tuple(rests))


def _squared(core: IntegerCore, neighbours: Neighbours) -> int:
    return bound_by_column(core.largest_square, 2, neighbours, is_nonnegative=False)
