"""The privacy cost at which a strategy meets the targets of a workload."""

from __future__ import annotations

import math

from mmopt.numerics.arrays import Array
from mmopt.strategies.by_component import AnyStrategy
from mmopt.workloads.workload import Workload

__all__ = ["largest_ratio", "privacy_cost"]


def largest_ratio(variances: Array, workload: Workload) -> float | None:
    """The largest ratio of a query's variance (m,) to its target; None where no query has one.

    Infinity where a query with a target is not supported. What has no target counts as met.
    """
    if not workload.has_targets:
        return None
    asked = workload.targets < math.inf
    return float((variances[asked] / workload.targets[asked]).max())


def privacy_cost(strategy: AnyStrategy, workload: Workload) -> float | None:
    """The least Δ at which every query meets its target: sensitivity times the largest √(variance / target).

    With sensitivity in the L2 norm, Δ² is what fitness_for_use minimizes over all strategies (α of PVLDB
    2021, Problem 1); under Laplace noise of unit variance it is no less. None where no query has a target.

    Raises
    ------
    TooLargeError : more queries than fit in memory.
    """
    if not workload.has_targets:
        return None
    ratio = largest_ratio(strategy.variances(workload), workload)
    assert ratio is not None
    return strategy.sensitivity * math.sqrt(ratio)
