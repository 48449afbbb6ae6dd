"""Rounding to integers, whatever the strategy's form and noise."""

from __future__ import annotations

from typing import get_args

from mmopt.errors import OptionError, WorkloadError
from mmopt.mechanism.integer_marginals import round_marginals
from mmopt.mechanism.measured import Measured, Neighbours, check_type
from mmopt.mechanism.rounding import round_strategy
from mmopt.mechanism.rounding_by_component import round_components
from mmopt.mechanism.rounding_factored import round_factored
from mmopt.mechanism.rounding_rows import round_rows
from mmopt.queries.arrays import MOST_CELLS
from mmopt.queries.component_strategy import AnyStrategy, ComponentStrategy, as_dense
from mmopt.queries.factored_strategy import FactoredStrategy
from mmopt.queries.marginal_strategy import MarginalStrategy
from mmopt.queries.strategy import Strategy
from mmopt.queries.workload import Workload

__all__ = ["check_arguments", "round_any"]


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
