"""Marginals measured as counts: integers as they are, each marginal with noise of its own."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.privacy.rounding.factors import sensitivity_of
from mmopt.privacy.rounding.lattice import unsupported
from mmopt.privacy.rounding.protocol import MAX_ROWS, Floats, Integers, Neighbours, Part, replaced
from mmopt.strategies.marginals import MarginalStrategy
from mmopt.workloads.workload import Workload

__all__ = ["IntegerMarginals", "round_marginals"]

_LEAST_WEIGHT = 1e-100  # of the largest: variances, in its square, are doubles


@dataclass(frozen=True, eq=False)
class IntegerMarginals:
    """The marginals of positive weight; the attributes are those of ``mechanism.rounding_any.Measured``.

    A row of data is one count in every marginal; a replaced one may move in it, unless it has one cell only;
    θ_S is its noise, 1 / θ_S.
    """

    workload: Workload
    strategy: MarginalStrategy
    neighbours: Neighbours = "add-remove"

    bits = 0
    bias = 0.0
    loss = 1.0

    @property
    def norm(self) -> int:
        """1 for Laplace noise, 2 for Gaussian noise."""
        return self.strategy.norm

    @property
    def masks(self) -> list[int]:
        """The sets of attributes that are measured, as ``MarginalStrategy``'s."""
        return [int(mask) for mask in np.flatnonzero(self.strategy.weights > 0)]

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        return sum(part.rows for part in self.parts)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """A part for every marginal."""
        # Of a marginal of one cell a replaced row changes nothing, unless rows may be dropped.
        alone = int(self.neighbours == "add-remove" or self.workload.domain.may_drop)
        moved = 1 if self.neighbours == "add-remove" else replaced(1, self.norm, is_nonnegative=True)
        return tuple(
            Part(
                rows=(rows := math.prod(n for i, n in enumerate(self.strategy.sizes) if mask >> i & 1)),
                squared_sensitivity=moved if rows > 1 else alone,
                largest_answer=MAX_ROWS,
                relative=1.0 / float(self.strategy.weights[mask]),
                is_one_count=self.neighbours == "add-remove",
            )
            for mask in self.masks
        )

    @property
    def sensitivity(self) -> float:
        """Σ θ or √Σ θ², rounded up."""
        return sensitivity_of(self.parts, self.norm)

    @property
    def variances(self) -> Floats:
        """(m,) of the queries at noise of a unit times the parts' relative one."""
        return self.strategy.variances(self.workload)

    def standard_errors(self, deviations: Floats) -> Floats:
        """Of the queries, (m,), at noise of these standard deviations on the marginals."""
        return np.sqrt(self._strategy(deviations).variances(self.workload))

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of the sizes, the sets and their relative noise."""
        relatives = [part.relative for part in self.parts]
        text = f"integer-marginals 1 {self.strategy.sizes} {self.masks} {relatives}\n"
        return hashlib.sha256(text.encode()).hexdigest()

    def answers(self, counts: Integers) -> Integers:
        """The marginals of a data vector (n,), one after the other: (rows,)."""
        table = counts.reshape(self.strategy.sizes)
        d = len(self.strategy.sizes)
        return np.concatenate(
            [table.sum(axis=tuple(i for i in range(d) if not mask >> i & 1)).ravel() for mask in self.masks]
        )

    def estimate(self, noisy: Floats | Integers, deviations: Floats | None = None) -> Floats:
        """Least-squares estimates (m,) of the unweighted queries, in closed form.

        Raises
        ------
        TooLargeError : as many numbers as cells do not fit in memory.
        """
        known = np.array([part.relative for part in self.parts]) if deviations is None else deviations
        scaled = noisy / np.repeat(known, [part.rows for part in self.parts])
        return self.workload.answers(self._strategy(known).estimate(scaled))

    def _strategy(self, deviations: Floats) -> MarginalStrategy:
        weights = np.zeros(len(self.strategy.weights))
        weights[self.masks] = 1.0 / deviations
        return MarginalStrategy(self.strategy.sizes, weights, self.norm)


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
    return IntegerMarginals(workload, strategy, neighbours)
