"""Baselines beside what was compared: by which factor their errors, and their privacy costs, are larger.

The privacy cost is Δ, sensitivity times the largest √(variance / target), where queries have targets: at
less, some query misses its target. Its square is what fitness_for_use minimizes over all strategies.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmopt.comparison.compare import TIME_LIMIT
from mmopt.comparison.compared_outcome import Costed, Outcome
from mmopt.comparison.isolate import Isolated
from mmopt.comparison.predicted_errors import Predicted, Stated
from mmopt.comparison.worker_processes import Costing, allowed
from mmopt.errors import ContradictionError, ResultError, TooLargeError
from mmopt.language import program_names, shipped
from mmopt.results.rows_and_json import finite
from mmopt.solvers import Options
from mmopt.strategies import privacy_cost
from mmopt.strategies.baselines import NOISES, Cost, baseline_names, read
from mmopt.workloads import Workload

__all__ = [
    "Factors",
    "LeastCosts",
    "PrivacyFactors",
    "baseline_factors",
    "least_costs",
    "named",
    "ratio",
    "standards",
]


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
    found: dict[int, list[tuple[float, Outcome]]] = {}
    bounds = []
    for outcome in outcomes if workload.has_targets else ():
        if outcome.solution is None:
            continue
        try:
            cost = privacy_cost(outcome.solution.strategy, workload)
        except TooLargeError:
            continue
        if cost is not None and cost < math.inf:
            found.setdefault(outcome.solution.strategy.norm, []).append((cost, outcome))
        bounds.append(_bound(outcome))
    best = {norm: _least(costs) for norm, costs in found.items()}
    return LeastCosts(best, max((bound for bound in bounds if bound is not None), default=math.nan))


def _least(found: Sequence[tuple[float, Outcome]]) -> tuple[float, Outcome]:
    """The least, or fitness_for_use where that is as little up to the gap of a solver."""
    least = min(cost for cost, _ in found)
    return min(
        found,
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


@dataclass(frozen=True)
class Factors:
    """A baseline under one noise, beside the best that was compared for the same noise.

    name, title, detail : as in ``Evaluated``.
    cost : its errors, in the units of ``Solution.error``; None where it has none, for the ``reason`` given.
    against : the outcome beside which it stands: of the same norm, solved, with the least total error; None
        where there is none.
    bound : the largest certified lower bound of all outcomes; no strategy of either norm has less total
        error, as the largest L1 norm of a column is never less than the largest L2 norm.
    error, rmse, over_bound : the baseline's total error and rmse over those of the outcome, and its total
        error over the bound; infinity where that is zero.
    privacy : the same for the privacy cost at which all targets are met; None where no query has a target.
    predicted : what its release would be like at the privacy stated; None for one without a cost.
    """

    name: str
    title: str
    detail: str = ""
    reason: str = ""
    cost: Cost | None = None
    against: Outcome | None = None
    bound: float = math.nan
    error: float = math.nan
    rmse: float = math.nan
    over_bound: float = math.nan
    privacy: PrivacyFactors | None = None
    predicted: Predicted | None = None

    @property
    def noise(self) -> str:
        """As ``Outcome.noise``."""
        return "" if self.cost is None else NOISES[self.cost.norm]

    @property
    def errors_rmse(self) -> float | None:
        """As ``Outcome.rmse``: ``rmse`` is a factor."""
        if self.cost is None:
            return None
        return (self.predicted or Predicted()).error(self.cost.rmse)

    def summary(self) -> dict[str, Any]:
        """One JSON object, of the kind "baseline"."""
        against = None if self.against is None else named(self.against)
        return {
            "kind": "baseline",
            "name": self.name,
            "title": self.title,
            "detail": self.detail,
            "reason": self.reason,
            **{
                name: getattr(self.cost, name, None)
                for name in ("norm", "rows", "sensitivity", "error")
            },
            "noise": self.noise or None,
            "rmse": self.errors_rmse,
            "unit_rmse": None if self.cost is None else self.cost.rmse,
            **(self.predicted or Predicted()).summary(),
            "against": against,
            "error_factor": finite(self.error),
            "rmse_factor": finite(self.rmse),
            "bound_factor": finite(self.over_bound),
            **(PrivacyFactors() if self.privacy is None else self.privacy).summary(),
        }


def standards(outcomes: Sequence[Outcome]) -> dict[int, Outcome]:
    """The solved outcome with the least total error for each norm that has one; Gaussian noise (2) first.

    Among formulations that are equally good but for rounding the first one asked for is taken.
    """
    best: dict[int, tuple[float, Outcome]] = {}
    for outcome in outcomes:
        if outcome.solution is not None:
            norm, error = outcome.solution.strategy.norm, outcome.solution.error
            if norm not in best or error < (1 - COST_ROUNDING) * best[norm][0]:
                best[norm] = error, outcome
    return {norm: best[norm][1] for norm in sorted(best, reverse=True)}


def baseline_factors(
    outcomes: Sequence[Outcome],
    workload: Workload,
    names: Sequence[str] | None = None,
    *,
    stated: Stated | None = None,
    time_limit: float = TIME_LIMIT,
    memory_limit: float | None = None,
    isolated: Isolated | None = None,
    begin: Callable[[str], None] | None = None,
) -> list[Factors]:
    """Baselines beside the outcomes of ``compare``, for each noise that a solved one is for.

    At a privacy, for each noise that it allows, also where nothing is solved for that.

    Each is evaluated in a process of its own, with the limits and the Ctrl-C of ``compare``. One that does
    not apply, is too large or takes too long is there with the reason.

    Parameters
    ----------
    workload : that of the outcomes.
    names : of baselines, with parameters if wanted: ``hierarchical(branching=16)``; by default all.
    stated : the privacy that errors are predicted for, as that of the outcomes.
    time_limit, memory_limit : seconds and GiB for each.
    isolated : whose processes are used; by default new ones.
    begin : called with each name before it is evaluated.

    Returns
    -------
    list of Factors : in the order of the names, one for each noise; empty when nothing was solved.

    Raises
    ------
    OptionError : an unknown name or parameter, or a limit out of range.
    ResultError : the outcomes are for another workload.
    ContradictionError : a baseline with less error, or less privacy cost, than a certified bound says is
        possible.
    SolverError : no process can be started.
    """
    chosen = [str(read(name)) for name in (baseline_names() if names is None else names)]
    Options(time_limit=time_limit)
    size = allowed(memory_limit)
    for solution in (o.solution for o in outcomes if o.solution is not None):
        theirs, ours = solution.workload_hash[:16], workload.hash[:16]
        if theirs != ours:
            raise ResultError(
                f"the outcomes are for another workload: its hash is {theirs}…, that of the one given {ours}…"
            )
    best = standards(outcomes)
    bound = max((o.solution.error_bound for o in outcomes if o.solution is not None), default=0.0)
    least = least_costs(outcomes, workload)
    tasks = [
        Costing(
            workload=workload,
            baseline=name,
            norms=tuple(best) if stated is None else stated.norms,
            stated=stated,
            time_limit=time_limit,
            memory_limit=size,
        )
        for name in chosen
        if best
    ]
    found: list[Factors] = []
    with Isolated() if isolated is None else contextlib.nullcontext(isolated) as processes:
        for task in tasks:
            if begin is not None and not processes.interrupted:
                begin(task.baseline)
            if processes.interrupted:
                title = read(task.baseline).baseline.title
                found.append(
                    Factors(task.baseline, title, reason="not evaluated: the comparison was interrupted")
                )
            else:
                found += _beside(processes.cost(task), best, bound, least)
    return found


def _beside(costed: Costed, best: dict[int, Outcome], bound: float, least: LeastCosts) -> Iterator[Factors]:
    found = costed.evaluated
    if found.reason is not None:
        yield Factors(found.name, found.title, found.detail, found.reason)
    for cost in found.costs:
        against = best.get(cost.norm)
        solution = None if against is None else against.solution
        if not math.isfinite(cost.error):
            yield Factors(found.name, found.title, found.detail, "what it measures does not tell the answers")
            continue
        if cost.error < bound * (1.0 - COST_ROUNDING):
            raise ContradictionError(
                f"the baseline '{found.name}' has total error {cost.error:.10g}, less than the certified "
                f"bound {bound:.10g} of all strategies",
                hint="one of the two is a bug in mmopt: please report it with the workload",
            )
        yield Factors(
            found.name,
            found.title,
            found.detail,
            cost=cost,
            against=against,
            bound=bound,
            error=math.nan if solution is None else ratio(cost.error, solution.error),
            rmse=math.nan if solution is None else ratio(cost.rmse, solution.rmse),
            over_bound=ratio(cost.error, bound),
            privacy=least.beside(found.name, cost),
            predicted=costed.predicted.get(cost.norm),
        )
