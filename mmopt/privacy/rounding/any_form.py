"""Rounding to integers, whatever the strategy's form and noise."""

from __future__ import annotations

from typing import get_args

from mmopt.errors import OptionError, WorkloadError
from mmopt.numerics.arrays import MOST_CELLS
from mmopt.privacy.rounding.by_component import IntegerComponents, round_components
from mmopt.privacy.rounding.dense import IntegerStrategy, round_strategy
from mmopt.privacy.rounding.factors import IntegerFactors
from mmopt.privacy.rounding.marginals import IntegerMarginals, round_marginals
from mmopt.privacy.rounding.product import round_factored
from mmopt.privacy.rounding.protocol import Neighbours, check_type
from mmopt.privacy.rounding.rows import round_rows
from mmopt.strategies.by_component import AnyStrategy, ComponentStrategy, as_dense
from mmopt.strategies.dense import Strategy
from mmopt.strategies.factored import FactoredStrategy
from mmopt.strategies.marginals import MarginalStrategy
from mmopt.workloads.workload import Workload

__all__ = ["Measured", "check_arguments", "round_any"]

Measured = IntegerStrategy | IntegerComponents | IntegerFactors | IntegerMarginals
"""An integer matrix (rows, n) that is measured, and the way back to the queries. All have

rows : number of measured queries; ``parts`` : them, by the noise that they get.
bits : the matrix stands for 2^bits times one of unit noise; may be negative.
norm : 1 for Laplace noise, 2 for Gaussian noise.
neighbours : what the sensitivity refers to.
sensitivity : in the norm, rounded up (units of the matrix; each part over its relative noise).
variances : (m,) of the queries at unit noise on 2^-bits times the matrix.
bias : largest error of the rounded row space, in units of the queries' largest entry.
loss : largest factor by which rounding multiplied the variance of a query.
hash : sha256 (hex) of what is measured.
standard_errors(deviations) : of the queries, (m,), at noise of these on the parts, (parts,).
answers(counts) : the exact answers (rows,) for a data vector (n,).
estimate(noisy, deviations) : least-squares estimates (m,) of the unweighted queries from noisy answers
    (rows,); by default the deviations are as the parts' relative noise.
"""


def check_arguments(strategy: object, workload: object, neighbours: object) -> None:
    """OptionError for other types than ``round_any`` takes, and for unknown neighbours."""
    check_type("the workload", workload, Workload, "a Workload")
    check_type("the strategy", strategy, AnyStrategy | FactoredStrategy, "a strategy, as solution.strategy")
    if neighbours not in get_args(Neighbours):
        raise OptionError(f"neighbours is {neighbours!r}, expected 'add-remove' or 'replace-one'")


def round_any(
    strategy: AnyStrategy | FactoredStrategy, workload: Workload, neighbours: Neighbours = "add-remove"
) -> Measured:
    """Round a strategy: a matrix, by component, or in factors.

    Errors as ``round_strategy``, ``round_rows``, ``round_components``, ``round_factored`` and
    ``round_marginals``, and ``check_arguments``.
    """
    check_arguments(strategy, workload, neighbours)
    if isinstance(strategy, Strategy):
        round_matrix = round_rows if strategy.norm == 1 else round_strategy
        return round_matrix(strategy, workload, neighbours)
    if isinstance(strategy, ComponentStrategy):
        return _round_components(strategy, workload, neighbours)
    if isinstance(strategy, MarginalStrategy):
        return round_marginals(strategy, workload, neighbours)
    return round_factored(strategy, workload, neighbours)


def _round_components(strategy: ComponentStrategy, workload: Workload, neighbours: Neighbours) -> Measured:
    """By component; up to ``MOST_CELLS`` cells as a matrix where that cannot be, or is cheaper.

    By component what a replaced row changes is only bounded, and queries need small integers.
    """
    few = strategy.n <= MOST_CELLS
    if few and (neighbours != "add-remove" or strategy.is_better_dense):
        return round_any(as_dense(strategy), workload, neighbours)
    try:
        return round_components(strategy, workload, neighbours)
    except WorkloadError:
        if not few:
            raise
    return round_any(as_dense(strategy), workload, neighbours)
