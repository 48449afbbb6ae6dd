"""Rounding to integers, whatever the strategy's form and noise."""

from __future__ import annotations

from mmopt.mechanism.measured import Measured, Neighbours
from mmopt.mechanism.rounding import round_strategy
from mmopt.mechanism.rounding_by_component import round_components
from mmopt.mechanism.rounding_rows import round_rows
from mmopt.queries.component_strategy import AnyStrategy, ComponentStrategy
from mmopt.queries.workload import Workload

__all__ = ["round_any"]


def round_any(strategy: AnyStrategy, workload: Workload, neighbours: Neighbours = "add-remove") -> Measured:
    """Round a strategy, as a matrix or by component; errors as ``round_strategy``, ``round_rows``."""
    if isinstance(strategy, ComponentStrategy):
        return round_components(strategy, workload, neighbours)
    round_matrix = round_rows if strategy.norm == 1 else round_strategy
    return round_matrix(strategy, workload, neighbours)
