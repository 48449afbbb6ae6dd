"""What mechanisms without ``fitness_for_use`` cost when every target is to be met.

The cost of a strategy is sensitivity² times the largest ratio of a query's variance to its target. Over the
optimum α of ``fitness_for_use`` that is the ratio which the tables of PVLDB 2021 print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from mmopt.driver import solve
from mmopt.results import Solution
from mmopt.strategies import AnyStrategy, Strategy, largest_ratio
from mmopt.workloads import Workload
from mmopt.workloads.blocks.trees import Hierarchy

__all__ = ["POWERS", "branching", "cost", "costs", "hierarchical", "input_perturbation"]

POWERS: Mapping[str, float] = MappingProxyType({"CA": 0.0, "wCA-I": 1.0, "wCA-II": 0.5})
"""The power of the target by which ``weighted_l2`` divides a query."""


def cost(strategy: AnyStrategy, w: Workload) -> float:
    """Privacy cost when the noise is scaled until every query meets its target."""
    found = largest_ratio(strategy.variances(w), w)
    assert found is not None
    return strategy.sensitivity**2 * found


def input_perturbation(w: Workload) -> float:
    """IP, independent noise on every cell: the largest squared length over its target."""
    found = largest_ratio(w.squared_norms(), w)
    assert found is not None
    return found


def branching(n: int) -> int:
    """The branching of HM: least (b - 1) h³ - 2 (b + 1) h²/3 with h = ⌈log n / log b⌉ levels, two at least.

    The average error of a range under consistent estimates (Qardaji, Yang, Li: PVLDB 2013, section 3).
    """
    found = {}
    for b in range(2, max(3, n)):
        h = next(h for h in range(1, n + 1) if b**h >= n)
        if h > 1 or n <= 2:
            found[b] = (b - 1) * h**3 - 2 * (b + 1) * h**2 / 3
    return min(found, key=lambda b: found[b])


def hierarchical(w: Workload) -> float:
    """HM, the tree of ``branching`` over the cells in their order, its root asked as well."""
    return cost(Strategy(Hierarchy(w.n, branching(w.n)).matrix()), w)


def costs(w: Workload, names: Sequence[str]) -> dict[str, float]:
    """The cost of each mechanism named; with equal targets CA and its weighted forms are solved once."""
    found: dict[str, float] = {}
    solved: dict[float, Solution] = {}
    equal = bool((w.targets == w.targets[0]).all())
    for name in names:
        if name == "IP":
            found[name] = input_perturbation(w)
        elif name == "HM":
            found[name] = hierarchical(w)
        else:
            power = 0.0 if equal else POWERS[name]
            if power not in solved:
                solved[power] = solve(w, "weighted_l2", givens={"power": power})
            found[name] = cost(solved[power].strategy, w)
    return found
