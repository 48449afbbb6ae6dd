"""Baselines compared with programs: the factors by which their errors and privacy costs are larger.

The privacy cost is Δ, sensitivity times the largest √(variance / target), where queries have targets: at
less, some query misses its target. Its square is the objective of fitness_for_use over all strategies.
``least_costs`` finds the least of the outcomes at unit noise, and a bound.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmopt.comparison.isolated_tasks import Costed, Isolated, Outcome, limit_in_bytes
from mmopt.comparison.predicted_errors import NOT_PREDICTED, Predicted, Stated, predicted_baseline
from mmopt.comparison.program_comparison import TIME_LIMIT, TabledRows
from mmopt.comparison.worker import Costing
from mmopt.display_base_classes import Displayed
from mmopt.errors import ContradictionError, ResultError, TooLargeError
from mmopt.language import program_names, shipped
from mmopt.results.solution_rows_and_json import finite
from mmopt.solvers import Options
from mmopt.strategies import privacy_cost
from mmopt.strategies.baselines import NOISE_NAMES, Cost, Evaluated, baseline_call, baseline_names
from mmopt.workloads import Workload

BOUNDING_PROGRAM = "fitness_for_use"  # its bounds are bounds on the square of the privacy cost
COST_ROUNDING = 1e-8  # relative: error and cost of a baseline, in floating point, may be too small by this
SAME_COST = 1e-6  # relative: two privacy costs that differ by less count as equal


@dataclass(frozen=True)
class PrivacyFactors:
    """cost : Δ of a baseline. against, least : the outcome of the same norm with the least one, and that.

    bound : the largest certified lower bound on Δ over all strategies, of either norm; NaN where no
        outcome has one. over_best, over_bound : the factors to both; NaN or infinity where there is none.
    """

    cost: float = math.nan
    against: Outcome | None = None
    least: float = math.nan
    bound: float = math.nan

    @property
    def over_best(self) -> float:
        """The cost over that of ``against``."""
        return ratio(self.cost, self.least)

    @property
    def over_bound(self) -> float:
        """The cost over the bound."""
        return ratio(self.cost, self.bound)

    def summary(self) -> dict[str, Any]:
        """Fields of a JSON object."""
        return {
            "privacy_cost": finite(self.cost),
            "privacy_against": None if self.against is None else _names_of(self.against),
            "privacy_factor": finite(self.over_best),
            "privacy_bound_factor": finite(self.over_bound),
        }


@dataclass(frozen=True)
class LeastCosts:
    """best : by norm the least cost and its outcome; empty without targets. bound : of ``PrivacyFactors``."""

    best: Mapping[int, tuple[float, Outcome]]
    bound: float

    def factors_of(self, name: str, cost: Cost) -> PrivacyFactors | None:
        """The factors of a baseline; ContradictionError where it costs less than the bound."""
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
    """The least privacy costs of the solved outcomes where all targets are met, and the bound that they
    prove.

    An outcome with more queries than fit in memory is left out.
    """
    by_norm: dict[int, list[tuple[float, Outcome]]] = {}
    bounds = []
    for outcome in outcomes if workload.has_targets else ():
        if outcome.solution is None or not outcome.noise:
            continue
        try:
            cost = privacy_cost(outcome.solution.strategy, workload)
        except TooLargeError:
            continue
        if cost is not None and cost < math.inf:
            by_norm.setdefault(outcome.solution.strategy.norm, []).append((cost, outcome))
        bounds.append(_cost_bound(outcome))
    best = {norm: _least_cost(costs) for norm, costs in by_norm.items()}
    return LeastCosts(best, max((bound for bound in bounds if bound is not None), default=math.nan))


def _least_cost(costs: Sequence[tuple[float, Outcome]]) -> tuple[float, Outcome]:
    """The least cost, or that of fitness_for_use where it is equal up to the gap of a solver."""
    least = min(cost for cost, _ in costs)
    return min(
        costs,
        key=lambda one: (one[0] > least * (1.0 + SAME_COST), one[1].program != BOUNDING_PROGRAM, one[0]),
    )


def _cost_bound(outcome: Outcome) -> float | None:
    """A lower bound on Δ of all strategies; None unless an unchanged shipped program has proved one.

    The program has to bound ``BOUNDING_PROGRAM``.
    """
    solution = outcome.solution
    if (
        solution is None
        or solution.bound is None
        or solution.givens
        or outcome.program not in program_names()
    ):
        return None
    program = shipped(outcome.program).written
    # It states that problem, on the same scale, or its bound is that of that program.
    is_one = BOUNDING_PROGRAM in (program.name, program.formulation_of, program.bound)
    is_least = program.sense == "minimize" and program.value is None
    is_shipped = solution.program_text == program.text
    return math.sqrt(max(solution.bound, 0.0)) if is_one and is_least and is_shipped else None


def _names_of(outcome: Outcome) -> dict[str, Any]:
    """The names of an outcome, for a JSON object."""
    return {"program": outcome.program, "solver": outcome.solver, "tolerance": outcome.tolerance}


def ratio(one: float, other: float) -> float:
    """The quotient; infinity where the other is zero."""
    return one / other if other != 0 else math.inf


@dataclass(frozen=True, repr=False)
class Factors(Displayed):
    """A baseline under one noise, compared with the best outcome for the same noise: ratios, not factors of
    a product.

    name, title, detail : as in ``Evaluated``.
    cost : its errors, in the units of ``Solution.error``; None where it has none, with the ``reason``.
    against : the outcome with which it is compared: of the same norm, solved, with the least total error;
        None where there is none.
    bound : the largest certified lower bound of all outcomes; no strategy of either norm has less total
        error, as the largest L1 norm of a column is never less than the largest L2 norm.
    error, rmse, over_bound : the baseline's total error and rmse over those of the outcome, and its total
        error over the bound; infinity where that is zero.
    privacy : the factors of the privacy cost at which all targets are met; None where no query has a target.
    predicted : its release at the stated privacy; ``NOT_PREDICTED`` for a baseline without a cost.
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
    predicted: Predicted = NOT_PREDICTED

    def __repr__(self) -> str:
        words = self.reason or f"{self.noise} noise, total error {self.error:.6g} times the program's"
        return f"Factors({self.name}: {words})"

    @property
    def noise(self) -> str:
        """The noise that it is for, as ``Outcome.noise``."""
        return "" if self.cost is None else NOISE_NAMES[self.cost.norm]

    @property
    def errors_rmse(self) -> float | None:
        """The rmse of its errors, as ``Outcome.rmse``; ``rmse`` is a factor."""
        return None if self.cost is None else self.predicted.error(self.cost.rmse)

    def summary(self) -> dict[str, Any]:
        """One JSON object, of the kind "baseline"."""
        return {
            "kind": "baseline",
            "name": self.name,
            "title": self.title,
            "detail": self.detail,
            "reason": self.reason,
            **{name: getattr(self.cost, name, None) for name in ("norm", "rows", "sensitivity", "error")},
            "noise": self.noise or None,
            "rmse": self.errors_rmse,
            "unit_rmse": None if self.cost is None else self.cost.rmse,
            **self.predicted.summary(),
            "against": None if self.against is None else _names_of(self.against),
            "error_factor": finite(self.error),
            "rmse_factor": finite(self.rmse),
            "bound_factor": finite(self.over_bound),
            **(PrivacyFactors() if self.privacy is None else self.privacy).summary(),
        }


class Baselines(TabledRows[Factors]):
    """Baselines compared with the outcomes of a comparison, by ``baseline_factors``."""

    def __repr__(self) -> str:
        return f"Baselines({len(self)} rows, {sum(one.cost is not None for one in self)} with errors)"


def standards(outcomes: Sequence[Outcome]) -> dict[int, Outcome]:
    """The solved outcome with the least total error for each norm that has one; Gaussian noise (2) first.

    Among formulations that are equally good up to rounding the first one is taken.
    """
    best: dict[int, tuple[float, Outcome]] = {}
    for outcome in outcomes:
        if outcome.solution is not None and outcome.noise:
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
) -> Baselines:
    """Compare baselines with the outcomes of ``compare``, for each noise for which one is solved.

    At a privacy they are compared for each noise that it allows, also where no program is solved for it.

    Each is evaluated in a process of its own, with the limits and the Ctrl-C of ``compare``. One that does
    not apply, is too large or takes too long is in the result with the reason.

    Parameters
    ----------
    workload : that of the outcomes.
    names : names of baselines, perhaps with parameters: ``hierarchical(branching=16)``; by default all.
    stated : the privacy for which errors are predicted, that of the outcomes.
    time_limit, memory_limit : seconds and GiB for each.
    isolated : the processes that are used; by default new ones.
    begin : called with each name before it is evaluated.

    Returns
    -------
    Baselines : ``Factors`` in the order of the names, one for each noise; empty without a strategy.

    Raises
    ------
    OptionError : an unknown name or parameter, or a limit out of range.
    ResultError : the outcomes are for another workload.
    ContradictionError : a baseline with less error, or less privacy cost, than a certified bound.
    SolverError : no process can be started.
    """
    chosen = [str(baseline_call(name)) for name in (baseline_names() if names is None else names)]
    Options(time_limit=time_limit)
    size = limit_in_bytes(memory_limit)
    for solution in (o.solution for o in outcomes if o.solution is not None):
        theirs, ours = solution.workload_hash[:16], workload.hash[:16]
        if theirs != ours:
            raise ResultError(
                f"the outcomes are for another workload: its hash is {theirs}…, that of the one given {ours}…"
            )
    best = standards(outcomes)
    bound = max((o.solution.error_bound for o in outcomes if o.solution and o.noise), default=0.0)
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
    factors: list[Factors] = []
    with Isolated() if isolated is None else contextlib.nullcontext(isolated) as processes:
        for task in tasks:
            if begin is not None and not processes.interrupted:
                begin(task.baseline)
            if processes.interrupted:
                title = baseline_call(task.baseline).baseline.title
                factors.append(
                    Factors(task.baseline, title, reason="not evaluated: the comparison was interrupted")
                )
            else:
                factors += _factors(processes.cost(task), best, bound, least)
    return Baselines(factors)


def at_privacy(evaluated: Evaluated, workload: Workload, stated: Stated | None) -> list[Factors]:
    """An evaluated baseline for each noise, compared with no program, with the prediction for its release."""
    return [
        Factors(
            evaluated.name,
            evaluated.title,
            evaluated.detail,
            cost=cost,
            predicted=predicted_baseline(workload, evaluated.name, cost, stated),
        )
        for cost in evaluated.costs
    ]


def _factors(costed: Costed, best: dict[int, Outcome], bound: float, least: LeastCosts) -> Iterator[Factors]:
    """The rows of one baseline: one for each norm that it has a cost for, or one with the reason why not.

    best, bound : as ``standards`` and ``Factors.bound``. least : the least privacy costs of the outcomes.
    """
    evaluated = costed.evaluated
    if evaluated.reason is not None:
        yield Factors(evaluated.name, evaluated.title, evaluated.detail, evaluated.reason)
    for cost in evaluated.costs:
        against = best.get(cost.norm)
        solution = None if against is None else against.solution
        if not math.isfinite(cost.error):
            yield Factors(
                evaluated.name,
                evaluated.title,
                evaluated.detail,
                "the answers cannot be derived from what it measures",
            )
            continue
        if cost.error < bound * (1.0 - COST_ROUNDING):
            raise ContradictionError(
                f"the baseline '{evaluated.name}' has total error {cost.error:.10g}, less than the certified "
                f"bound {bound:.10g} of all strategies",
                hint="one of the two is a bug in mmopt: please report it with the workload",
            )
        yield Factors(
            evaluated.name,
            evaluated.title,
            evaluated.detail,
            cost=cost,
            against=against,
            bound=bound,
            error=math.nan if solution is None else ratio(cost.error, solution.error),
            rmse=math.nan if solution is None else ratio(cost.rmse, solution.rmse),
            over_bound=ratio(cost.error, bound),
            privacy=least.factors_of(evaluated.name, cost),
            predicted=costed.predicted.get(cost.norm, NOT_PREDICTED),
        )
