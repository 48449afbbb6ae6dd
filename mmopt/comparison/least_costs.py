"""What it costs that every query meets its target, at unit noise: the least of the outcomes, and a bound.

The privacy cost is Δ, sensitivity times the largest √(variance / target), where queries have targets: at
less, some query misses its target. Its square is what fitness_for_use minimizes over all strategies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmopt.comparison.compared_outcome import Outcome
from mmopt.errors import ContradictionError, TooLargeError
from mmopt.language import program_names, shipped
from mmopt.results.rows_and_json import finite
from mmopt.strategies import privacy_cost
from mmopt.strategies.baselines import Cost
from mmopt.workloads import Workload

__all__ = ["COST_ROUNDING", "LeastCosts", "PrivacyFactors", "least_costs", "named", "ratio"]

BOUNDING_PROGRAM = "fitness_for_use"
COST_ROUNDING = 1e-8  # by which error and cost of a baseline, in floating point, may be too small, relatively
SAME_COST = 1e-6  # relative difference of two privacy costs that says nothing


@dataclass(frozen=True)
class PrivacyFactors:
    """cost : Δ of a baseline. against : the outcome of the same norm with the least one, and that.

    bound : the largest certified lower bound on Δ over all strategies, of either norm; NaN where no
        outcome has one. over_best, over_bound : the factors to both; NaN or infinity where there is none.
    """

    cost: float = math.nan
    against: Outcome | None = None
    least: float = math.nan
    bound: float = math.nan

    @property
    def over_best(self) -> float:
        return ratio(self.cost, self.least)

    @property
    def over_bound(self) -> float:
        return ratio(self.cost, self.bound)

    @property
    def best_over_bound(self) -> float:
        return ratio(self.least, self.bound)

    def summary(self) -> dict[str, Any]:
        """Fields of a JSON object."""
        return {
            "privacy_cost": finite(self.cost),
            "privacy_against": None if self.against is None else named(self.against),
            "privacy_factor": finite(self.over_best),
            "privacy_bound_factor": finite(self.over_bound),
        }


@dataclass(frozen=True)
class LeastCosts:
    """best : for each norm the outcome with the least privacy cost, and that; empty without targets."""

    best: Mapping[int, tuple[float, Outcome]]
    bound: float

    def beside(self, name: str, cost: Cost) -> PrivacyFactors | None:
        """A baseline; ContradictionError where it has less than the bound."""
        if cost.privacy_cost is None or cost.norm not in self.best:
            return None
        if cost.privacy_cost < self.bound * (1.0 - COST_ROUNDING):
            raise ContradictionError(
                f"the baseline '{name}' meets all targets at privacy cost {cost.privacy_cost:.10g}, less "
                f"than the certified bound {self.bound:.10g} of all strategies",
                hint="one of the two is a bug in mmopt: please report it with the workload",
            )
        least, against = self.best[cost.norm]
        return PrivacyFactors(cost.privacy_cost, against, least, self.bound)


def least_costs(outcomes: Sequence[Outcome], workload: Workload) -> LeastCosts:
    """What the solved outcomes cost where all targets are met, and the bound that they prove.

    An outcome with more queries than fit in memory is passed over.
    """
    by_norm: dict[int, list[tuple[float, Outcome]]] = {}
    bounds = []
    for outcome in outcomes if workload.has_targets else ():
        if outcome.solution is None:
            continue
        try:
            cost = privacy_cost(outcome.solution.strategy, workload)
        except TooLargeError:
            continue
        if cost is not None and cost < math.inf:
            by_norm.setdefault(outcome.solution.strategy.norm, []).append((cost, outcome))
        bounds.append(_bound(outcome))
    best = {norm: _least(costs) for norm, costs in by_norm.items()}
    return LeastCosts(best, max((bound for bound in bounds if bound is not None), default=math.nan))


def _least(costs: Sequence[tuple[float, Outcome]]) -> tuple[float, Outcome]:
    """The least, or fitness_for_use where that is as little up to the gap of a solver."""
    least = min(cost for cost, _ in costs)
    return min(
        costs,
        key=lambda one: (one[0] > least * (1.0 + SAME_COST), one[1].program != BOUNDING_PROGRAM, one[0]),
    )


def _bound(outcome: Outcome) -> float | None:
    """On Δ, from a shipped program whose bound is one on fitness_for_use, as it stands."""
    solution = outcome.solution
    if (
        solution is None
        or solution.bound is None
        or solution.givens
        or outcome.program not in program_names()
    ):
        return None
    program = shipped(outcome.program).written
    # It minimizes, on the same scale, what fitness_for_use does, or is bounded by that.
    is_one = BOUNDING_PROGRAM in (program.name, program.formulation_of, program.bound)
    is_least = program.sense == "minimize" and program.value is None
    if solution.program_text != program.text or not (is_one and is_least):
        return None
    return math.sqrt(max(solution.bound, 0.0))


def named(outcome: Outcome) -> dict[str, Any]:
    """The outcome in a JSON object."""
    return {"program": outcome.program, "solver": outcome.solver, "tolerance": outcome.tolerance}


def ratio(one: float, other: float) -> float:
    """Infinity where the other is zero."""
    return one / other if other != 0 else math.inf
