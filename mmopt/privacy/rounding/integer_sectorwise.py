"""Sets of attributes measured one by one, their attributes' matrices rounded to integers.

Every set measures the same integers K_i ≈ c_i A_i of an attribute, so that these are a strategy of the same
form: estimates have no bias and variances stay in closed form. Weights are noise, and need no bits. The
squared sensitivity of a set is the product of its attributes' exact ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.privacy.rounding.counted_tables import CountedTables, WholeTable, maximal
from mmopt.privacy.rounding.integer_arithmetic import bound_by_column, largest_entry, squared_sensitivity
from mmopt.privacy.rounding.integer_product import BITS
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, InFactors, Part, digest
from mmopt.privacy.rounding.integer_union import FACTORED_LOSS_LIMIT
from mmopt.privacy.rounding.rounded_rows import check_loss, is_one_count, rint, unsupported
from mmopt.strategies import ADD_REMOVE, Neighbours, SectorwiseStrategy
from mmopt.workloads import Workload

__all__ = ["IntegerSectorwise", "round_sectorwise"]

_SIZES_DIFFER = "ask queries of fewer attributes at a time: these share the bits of an integer"


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerSectorwise(InFactors):
    """⊗ K_i of every set.

    matrices : K_i (p_i, n_i) int64 by attribute. sets : of attributes. relatives : the noise of each set over
    that of the release.
    """

    matrices: tuple[Ints, ...]
    sets: tuple[tuple[int, ...], ...]
    relatives: tuple[float, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """A part for every set."""
        largest = [largest_entry(k) for k in self.matrices]
        counts = [is_one_count(k) for k in self.matrices]
        return tuple(
            Part(
                rows=math.prod(len(self.matrices[i]) for i in one),
                squared_sensitivity=square,
                largest_answer=math.prod(largest[i] for i in one) * MAX_ROWS,
                relative=relative,
                is_one_count=self.neighbours.is_one_row and all(counts[i] for i in one),
            )
            for one, square, relative in zip(
                self.sets, self.squared_sensitivities(), self.relatives, strict=True
            )
        )

    def squared_sensitivities(self) -> list[int]:
        """One for each set, from its attributes' integers; for replaced rows a bound."""
        own = [squared_sensitivity(k, self.norm, ADD_REMOVE) for k in self.matrices]
        signs = [not k.size or int(k.min()) >= 0 for k in self.matrices]
        return [
            bound_by_column(
                math.prod(own[i] for i in one), self.norm, self.neighbours, all(signs[i] for i in one)
            )
            for one in self.sets
        ]

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of the sets, their relative noise and the attributes' integers in row-major order."""
        shapes = [k.shape for k in self.matrices]
        heading = f"integer-sectorwise 1 {self.sets} {list(self.relatives)!r} {shapes}\n"
        return digest(heading, *self.matrices)

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """The largest sets."""
        return maximal(self.sets)

    def answers(self, counts: Ints) -> Ints:
        """The exact answers (rows,) for a data vector (n,), set by set."""
        return self.answers_of(WholeTable(counts, tuple(k.shape[1] for k in self.matrices)))

    def answers_of(self, tables: CountedTables) -> Ints:
        """The exact answers (rows,), whatever the number of cells.

        Entries and partial sums are at most the product of the largest entries times the rows of the data,
        which ``noise.check_scales`` has found to fit.
        """
        return np.concatenate([self._answers(one, tables) for one in self.sets])

    def _answers(self, one: tuple[int, ...], tables: CountedTables) -> Ints:
        table = np.asarray(tables.of(one), dtype=np.int64)
        for axis, i in enumerate(one):
            table = np.moveaxis(np.tensordot(self.matrices[i], table, axes=(1, axis)), 0, axis)
        return table.ravel()

    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Least-squares estimates (m,) of the unweighted queries, set by set; never the data vector."""
        scales = self._relatives if deviations is None else deviations
        scaled = noisy / np.repeat(scales, [part.rows for part in self.parts])
        return self.strategy(scales).answers_from(self.workload, scaled)

    def strategy(self, deviations: Array) -> SectorwiseStrategy:
        """The integers as a strategy, each set divided by its deviation."""
        return SectorwiseStrategy(self._real, self.sets, 1.0 / deviations, self.norm)

    @cached_property
    def _real(self) -> tuple[Array, ...]:
        return tuple(k.astype(np.float64) for k in self.matrices)


def round_sectorwise(
    strategy: SectorwiseStrategy, workload: Workload, neighbours: Neighbours
) -> IntegerSectorwise:
    """Round as the module says.

    Raises
    ------
    UnsuitableError : a workload from a matrix.
    WorkloadError : the strategy does not support the workload, or rounding loses more than
        FACTORED_LOSS_LIMIT of a variance at equal privacy.
    PrivacyError : neighbours for which columns have to be compared.
    """
    before = strategy.variances(workload)
    if not np.isfinite(before).all():
        raise unsupported()
    order = max(map(len, strategy.sets))
    largest = math.floor(2.0 ** (BITS / max(order, 1)))
    matrices = tuple(_rounded(matrix, largest) for matrix in strategy.matrices)
    added = IntegerSectorwise(
        workload=workload,
        neighbours=ADD_REMOVE,
        norm=strategy.norm,
        matrices=matrices,
        sets=strategy.sets,
        relatives=_relatives(strategy, matrices),
    )
    growth = (added.sensitivity / strategy.sensitivity) ** 2
    loss = check_loss(added.variances * growth, before, BITS, FACTORED_LOSS_LIMIT, _SIZES_DIFFER)
    return replace(added, neighbours=neighbours, loss=loss)


def _rounded(matrix: Array, largest: int) -> Ints:
    """Integers up to ``largest`` in size, about a multiple of the matrix."""
    size = float(np.abs(matrix).max(initial=0.0))
    return rint(matrix * (largest / size)) if size else np.zeros(matrix.shape, dtype=np.int64)


def _relatives(strategy: SectorwiseStrategy, matrices: Sequence[Ints]) -> tuple[float, ...]:
    """Noise with which each set takes the part of the privacy that it had before."""
    norm = strategy.norm
    after = [math.sqrt(squared_sensitivity(k, norm, ADD_REMOVE)) for k in matrices]
    before = [float(np.linalg.norm(a, ord=norm, axis=0).max()) if len(a) else 0.0 for a in strategy.matrices]
    grown = [new / old if old else 1.0 for new, old in zip(after, before, strict=True)]
    return tuple(
        math.prod(grown[i] for i in one) / float(weight)
        for one, weight in zip(strategy.sets, strategy.weights, strict=True)
    )
