"""Marginals measured as counts: integers as they are, each marginal with noise of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints
from mmopt.privacy.rounding.counted_tables import CountedTables, WholeTable
from mmopt.privacy.rounding.integer_arithmetic import bound_by_column
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, InFactors, Part, digest
from mmopt.privacy.rounding.rounded_rows import unsupported
from mmopt.strategies import MarginalStrategy, Neighbours
from mmopt.strategies.marginals_strategy import attributes_of
from mmopt.workloads import Workload

__all__ = ["IntegerMarginals", "round_marginals"]

# Of the largest. Estimates of cells hold all noise, and rounding of the larger one stays in them: with this
# 1e-7 of a count was measured beside a standard error of 2, with 1e-15 more than the standard error.
_LEAST_WEIGHT = 1e-8


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerMarginals(InFactors):
    """The marginals of positive weight.

    A row of data is one count in every marginal; a replaced one may move in it, unless it has one cell only;
    θ_S is its noise, 1 / θ_S.
    """

    sizes: tuple[int, ...]
    weights: Array

    @property
    def masks(self) -> list[int]:
        """The sets of attributes that are measured, as ``MarginalStrategy``'s."""
        return [int(mask) for mask in np.flatnonzero(self.weights > 0)]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """A part for every marginal."""
        # Of a marginal of one cell a replaced row changes nothing, unless rows may be dropped.
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
        """Those of ``parts``: counts hold nothing else."""
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
        """Least-squares estimates (m,), by the subspaces that each query is on; never the data vector."""
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
