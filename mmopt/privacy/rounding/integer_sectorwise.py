"""Sets of attributes and marginals, measured as counts in integers.

The sets are measured one by one, with the matrices of their attributes rounded to integers. Every set
measures the same integers K_i ≈ c_i A_i of an attribute, so that these are a strategy of the same form:
estimates have no bias and variances stay in closed form. Weights are noise, and need no bits; all bits of a
set go where rounding costs most. Its squared sensitivity is the product of its attributes' exact ones.

Marginals are counts: integers without rounding, each marginal with different noise.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import AnyInts, Array, Ints
from mmopt.privacy.rounding.integer_arithmetic import (
    bound_by_column,
    exactly,
    largest_entry,
    squared_sensitivity,
)
from mmopt.privacy.rounding.integer_dense import closest, is_one_count, loss_of, unsupported
from mmopt.privacy.rounding.integer_product import (
    BITS,
    RoundedFactor,
    choices_by_size,
    least_singular,
    too_many,
)
from mmopt.privacy.rounding.integer_strategy import (
    MAX_ROWS,
    CountedTables,
    InFactors,
    Part,
    WholeTable,
    digest,
    maximal,
)
from mmopt.strategies import ADD_REMOVE, MarginalStrategy, Neighbours, SectorwiseStrategy, Strategy
from mmopt.strategies.marginals_strategy import attributes_of
from mmopt.workloads import Workload


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerSectorwise(InFactors):
    """Sets of attributes in integers: ⊗ K_i for every set.

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
        """One for each set, from its attributes' integers; a bound for replaced rows."""
        squares = [squared_sensitivity(k, self.norm, ADD_REMOVE) for k in self.matrices]
        signs = [not k.size or int(k.min()) >= 0 for k in self.matrices]
        return [
            bound_by_column(
                math.prod(squares[i] for i in one), self.norm, self.neighbours, all(signs[i] for i in one)
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

    def answers(self, counts: Ints) -> AnyInts:
        """The exact answers (rows,) for a data vector (n,), set by set."""
        return self.answers_of(WholeTable(counts, tuple(k.shape[1] for k in self.matrices)))

    def answers_of(self, tables: CountedTables) -> AnyInts:
        """The exact answers (rows,), whatever the number of cells.

        Entries and partial sums are at most the product of the largest entries times the rows of the data.
        """
        parts = zip(self.sets, self.parts, strict=True)
        return np.concatenate(
            [exactly(partial(self._answers, one), tables.of(one), p.largest_answer) for one, p in parts]
        )

    def _answers(self, one: tuple[int, ...], table: Any) -> Any:
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
    """Round sets of attributes as described above.

    Raises
    ------
    UnsuitableError : a workload from a matrix.
    WorkloadError : the strategy does not support the workload, or the matrices of a set do not fit together.
    PrivacyError : neighbours for which columns have to be compared.
    """
    before = strategy.variances(workload)
    if not np.isfinite(before).all():
        raise unsupported()
    cached = cache(_choices)
    choices = [cached(a.tobytes(), a.shape, strategy.norm) for a in strategy.matrices]

    def rounded(bits: int) -> IntegerSectorwise:
        matrices = _fitting(choices, strategy.sets, bits)
        added = IntegerSectorwise(
            workload=workload,
            neighbours=ADD_REMOVE,
            norm=strategy.norm,
            matrices=matrices,
            sets=strategy.sets,
            relatives=_relatives(strategy, matrices),
        )
        growth = (added.sensitivity / strategy.sensitivity) ** 2
        return replace(added, loss=loss_of(added.variances * growth, before))

    return replace(closest(rounded, BITS), neighbours=neighbours)


def _choices(entries: bytes, shape: tuple[int, int], norm: int) -> list[RoundedFactor]:
    """An attribute's matrix in integers, as ``rounded_choices``: only its variation counts."""
    matrix = np.frombuffer(entries).reshape(shape)
    if not len(matrix):
        return [RoundedFactor(matrix.astype(np.int64), 1.0, 0.0, 0.0, 0)]
    varies = np.linalg.pinv(np.vstack([np.ones(shape[1]), matrix]))[:, 1:]
    cells = np.eye(shape[1], dtype=np.int64)
    return choices_by_size(
        matrix, cells, Strategy(matrix, norm), lambda core: least_singular(core.astype(np.float64) @ varies)
    )


def _fitting(
    choices: Sequence[list[RoundedFactor]], sets: Sequence[tuple[int, ...]], bits: int
) -> tuple[Ints, ...]:
    """The integers of each attribute: of the least loss at which those of every set fit so many bits."""

    def within(loss: float) -> list[RoundedFactor]:
        return [next((one for one in options if one.loss <= loss), options[-1]) for options in choices]

    def fits(loss: float) -> bool:
        chosen = within(loss)
        return all(sum(chosen[i].bits for i in one) <= bits for one in sets)

    losses = sorted(one.loss for options in choices for one in options)
    at = bisect_left(losses, True, key=fits) if all(choices) else len(losses)
    if at == len(losses):
        raise too_many(max(map(len, sets)), bits)
    return tuple(one.matrix for one in within(losses[at]))


def _relatives(strategy: SectorwiseStrategy, matrices: Sequence[Ints]) -> tuple[float, ...]:
    """The noise at which each set keeps its share of the privacy."""
    norm = strategy.norm
    after = [math.sqrt(squared_sensitivity(k, norm, ADD_REMOVE)) for k in matrices]
    before = [float(np.linalg.norm(a, ord=norm, axis=0).max()) if len(a) else 0.0 for a in strategy.matrices]
    grown = [new / old if old else 1.0 for new, old in zip(after, before, strict=True)]
    return tuple(
        math.prod(grown[i] for i in one) / float(weight)
        for one, weight in zip(strategy.sets, strategy.weights, strict=True)
    )


# Over the largest. Estimates of cells contain all noise, and the rounding errors of the larger one: with this
# limit 1e-7 of a count was measured at a standard error of 2, with 1e-15 more than the standard error.
_LEAST_WEIGHT = 1e-8


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerMarginals(InFactors):
    """The marginals of positive weight, in integers.

    A row of data is one count in every marginal; a replaced one may move in it, unless it has only one cell.
    The weight θ_S is its noise, 1 / θ_S.
    """

    sizes: tuple[int, ...]
    weights: Array

    @property
    def masks(self) -> list[int]:
        """The sets of attributes that are measured, as bit masks like those of ``MarginalStrategy``."""
        return [int(mask) for mask in np.flatnonzero(self.weights > 0)]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """A part for every marginal."""
        # A replaced row does not change a marginal of one cell, unless rows may be dropped.
        moved = bound_by_column(1, self.norm, self.neighbours, is_nonnegative=True)
        alone = moved if self.neighbours.times else int(self.changes.may_drop)
        return tuple(
            Part(
                rows=(rows := math.prod(n for i, n in enumerate(self.sizes) if mask >> i & 1)),
                squared_sensitivity=moved if rows > 1 else alone,
                largest_answer=MAX_ROWS,
                relative=1.0 / float(self.weights[mask]),
                is_one_count=self.neighbours.is_one_row,
            )
            for mask in self.masks
        )

    def squared_sensitivities(self) -> list[int]:
        """The squared sensitivities of ``parts``: nothing else is in counts."""
        return [part.squared_sensitivity for part in self.parts]

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of the sizes, the sets and their relative noise."""
        relatives = [part.relative for part in self.parts]
        return digest(f"integer-marginals 1 {self.sizes} {self.masks} {relatives}\n")

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """The attributes of each marginal."""
        return tuple(map(attributes_of, self.masks))

    def answers(self, counts: Ints) -> Ints:
        """The marginals of a data vector (n,), one after the other: (rows,)."""
        return self.answers_of(WholeTable(counts, self.sizes))

    def answers_of(self, tables: CountedTables) -> Ints:
        """The marginals, one after the other: (rows,)."""
        return np.concatenate([tables.of(attributes).ravel() for attributes in self.tables])

    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Least-squares estimates (m,), from the subspaces of each query; never the data vector."""
        scales = self._relatives if deviations is None else deviations
        scaled = noisy / np.repeat(scales, [part.rows for part in self.parts])
        return self.strategy(scales).answered(self.workload, scaled)

    def strategy(self, deviations: Array) -> MarginalStrategy:
        """Marginals whose weights are one over the deviations."""
        weights = np.zeros(len(self.weights))
        weights[self.masks] = 1.0 / deviations
        return MarginalStrategy(self.sizes, weights, self.norm)


def round_marginals(
    strategy: MarginalStrategy, workload: Workload, neighbours: Neighbours
) -> IntegerMarginals:
    """The counts of the marginals: nothing is rounded.

    Raises
    ------
    UnsuitableError : a workload from a matrix.
    WorkloadError : another domain, weights too far apart, or a strategy that does not support the workload.
    """
    weights = strategy.weights[strategy.weights > 0]
    if weights.min() < weights.max() * _LEAST_WEIGHT:
        raise WorkloadError(
            f"the weights of the marginals go from {weights.min():.3g} to {weights.max():.3g}, "
            f"the least may be {_LEAST_WEIGHT:g} of the largest",
            hint="leave out marginals of next to no weight",
        )
    if not strategy.supports(workload):
        raise unsupported()
    return IntegerMarginals(
        workload=workload,
        neighbours=neighbours,
        norm=strategy.norm,
        sizes=strategy.sizes,
        weights=strategy.weights,
    )
