"""Programs, templates and baselines in one order, and the factors by which they differ.

``ranking`` sorts programs and baselines, best first, in one list where a privacy is stated.
``template_places`` sorts templates of both noises by their predicted releases. ``baseline_factors`` computes
the factors by which errors and privacy costs of baselines are larger than those of the programs compared.

The privacy cost is Δ, sensitivity times the largest √(variance / target), where queries have targets: at
less, some query misses its target. Its square is the objective of fitness_for_use over all strategies.
``least_costs`` finds the least of the outcomes at unit noise, and a bound.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmopt.comparison.compare import TIME_LIMIT, TabledRows
from mmopt.comparison.predicted_errors import NOT_PREDICTED, Predicted, Stated, predicted, predicted_baseline
from mmopt.comparison.worker import Costed, Costing, Isolated, Outcome, allowed
from mmopt.driver.templates import Templates, TemplateStrategy
from mmopt.errors import ContradictionError, ResultError, TooLargeError
from mmopt.language import program_names, shipped
from mmopt.notebook import Displayed
from mmopt.privacy.noise import noise_for
from mmopt.results.solution_rows_and_json import finite
from mmopt.solvers import Options
from mmopt.strategies import privacy_cost
from mmopt.strategies.baselines import NOISE_NAMES, Cost, Evaluated, baseline_call, baseline_names
from mmopt.workloads import Workload

BOUNDING_PROGRAM = "fitness_for_use"
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
        if outcome.solution is None:
            continue
        try:
            cost = privacy_cost(outcome.solution.strategy, workload)
        except TooLargeError:
            continue
        if cost is not None and cost < math.inf:
            by_norm.setdefault(outcome.solution.strategy.norm, []).append((cost, outcome))
        bounds.append(_bound(outcome))
    best = {norm: _least_cost(costs) for norm, costs in by_norm.items()}
    return LeastCosts(best, max((bound for bound in bounds if bound is not None), default=math.nan))


def _least_cost(costs: Sequence[tuple[float, Outcome]]) -> tuple[float, Outcome]:
    """The least cost, or that of fitness_for_use where it is equal up to the gap of a solver."""
    least = min(cost for cost, _ in costs)
    return min(
        costs,
        key=lambda one: (one[0] > least * (1.0 + SAME_COST), one[1].program != BOUNDING_PROGRAM, one[0]),
    )


def _bound(outcome: Outcome) -> float | None:
    """A bound on Δ, from an unchanged shipped program whose bound is one on fitness_for_use."""
    solution = outcome.solution
    if (
        solution is None
        or solution.bound is None
        or solution.givens
        or outcome.program not in program_names()
    ):
        return None
    program = shipped(outcome.program).written
    # It minimizes the objective of fitness_for_use, on the same scale, or is bounded by that program.
    is_one = BOUNDING_PROGRAM in (program.name, program.formulation_of, program.bound)
    is_least = program.sense == "minimize" and program.value is None
    if solution.program_text != program.text or not (is_one and is_least):
        return None
    return math.sqrt(max(solution.bound, 0.0))


def named(outcome: Outcome) -> dict[str, Any]:
    """The names of an outcome, for a JSON object."""
    return {"program": outcome.program, "solver": outcome.solver, "tolerance": outcome.tolerance}


def ratio(one: float, other: float) -> float:
    """The quotient; infinity where the other is zero."""
    return one / other if other != 0 else math.inf


@dataclass(frozen=True, repr=False)
class Factors(Displayed):
    """A baseline under one noise, compared with the best outcome for the same noise.

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
            "against": None if self.against is None else named(self.against),
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
    Baselines : ``Factors`` in the order of the names, one for each noise; empty when nothing was solved.

    Raises
    ------
    OptionError : an unknown name or parameter, or a limit out of range.
    ResultError : the outcomes are for another workload.
    ContradictionError : a baseline with less error, or less privacy cost, than a certified bound.
    SolverError : no process can be started.
    """
    chosen = [str(baseline_call(name)) for name in (baseline_names() if names is None else names)]
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
    name, title, detail = evaluated.name, evaluated.title, evaluated.detail
    return [
        Factors(name, title, detail, cost=cost, predicted=predicted_baseline(workload, name, cost, stated))
        for cost in evaluated.costs
    ]


def _factors(costed: Costed, best: dict[int, Outcome], bound: float, least: LeastCosts) -> Iterator[Factors]:
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
                "what it measures does not tell the answers",
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


@dataclass(frozen=True)
class TemplatePlace:
    """A template's strategy for the noise of a norm; predicted : its release, where it has a strategy."""

    candidate: TemplateStrategy
    norm: int
    predicted: Predicted

    @property
    def noise(self) -> str:
        """The noise that it is for, as ``Outcome.noise``."""
        return noise_for(self.norm).name

    @property
    def rmse(self) -> float:
        """The rmse at the stated privacy, or at unit noise; infinity where it is unknown."""
        rmse = self.predicted.error(self.candidate.rmse)
        return math.inf if rmse is None else rmse

    @property
    def reason(self) -> str:
        """The reason why there is no strategy, or no error."""
        return self.candidate.reason or self.predicted.reason

    def summary(self) -> dict[str, Any]:
        """One JSON object."""
        c = self.candidate
        return {
            "template": c.template,
            "noise": self.noise,
            "error": finite(c.error),
            "rmse": finite(self.rmse),
            "unit_rmse": finite(c.rmse),
            "is_continuous": self.predicted.is_continuous,
            "seconds": c.seconds,
            "reason": self.reason,
        }


def template_places(
    optimised: Mapping[int, Templates], workload: Workload, stated: Stated | None
) -> list[TemplatePlace]:
    """The candidates of all norms, the least rmse first; without a privacy, the least total error."""

    def place(candidate: TemplateStrategy, norm: int) -> TemplatePlace:
        if candidate.strategy is None or stated is None:
            return TemplatePlace(candidate, norm, NOT_PREDICTED)
        return TemplatePlace(candidate, norm, predicted(workload, candidate.strategy, stated))

    def before(place: TemplatePlace) -> tuple[float, float]:
        return 0.0 if stated is None else place.rmse, place.candidate.error

    return sorted((place(c, norm) for norm, each in optimised.items() for c in each.candidates), key=before)


SAME_DIGITS = 5  # two values that agree so far keep their order, programs before baselines


@dataclass(frozen=True)
class Place:
    """The place of an outcome or baseline in a ranking.

    number : 1 for the best. value : the criterion of the ranking. rmse : as ``Outcome.rmse``. cost : as
    ``Predicted.cost``. factor : the value over the best one. same_noise : the value over that of the best
    program for the same noise; NaN where there is none.
    """

    entry: Outcome | Factors
    number: int
    value: float
    rmse: float
    cost: float | None
    factor: float = math.nan
    same_noise: float = math.nan
    is_continuous: bool = False

    @property
    def noise(self) -> str:
        """The noise that it is for."""
        return self.entry.noise

    def summary(self) -> dict[str, Any]:
        """Fields of a JSON object."""
        return {"rank": self.number, "rank_factor": finite(self.factor)}


@dataclass(frozen=True)
class Ranking:
    """places : the best first; without a privacy, noise by noise, each counted from 1.

    stated : the privacy for which errors are predicted; None for unit noise. by_cost : whether every query
        has a target, and the order is by the cost at which all hold, else by rmse. left_out : entries with a
        solution or cost but without a place, with the reason.
    """

    places: tuple[Place, ...]
    left_out: tuple[tuple[str, Outcome | Factors], ...]
    stated: Stated | None
    by_cost: bool


def ranking(
    outcomes: Sequence[Outcome],
    factors: Sequence[Factors] = (),
    workload: Workload | None = None,
    stated: Stated | None = None,
) -> Ranking:
    """Sort the results of ``compare`` and ``baseline_factors``, both for the privacy ``stated``.

    workload : that of both; without it the order is by rmse, whatever the targets.
    """
    by_cost = workload is not None and workload.has_all_targets
    places, left_out = [], []
    entries: tuple[Outcome | Factors, ...] = (*outcomes, *factors)
    for entry in entries:
        if (entry.solution if isinstance(entry, Outcome) else entry.cost) is None:
            continue
        predicted = entry.predicted
        rmse = entry.rmse if isinstance(entry, Outcome) else entry.errors_rmse
        value = predicted.cost if by_cost else rmse
        if rmse is None or value is None or not math.isfinite(value):
            reason = predicted.reason or "it is not known what it costs that all targets hold"
            left_out.append((reason, entry))
        else:
            places.append(Place(entry, 0, value, rmse, predicted.cost, is_continuous=predicted.is_continuous))
    noises = dict.fromkeys(place.noise if stated is None else "" for place in places)
    groups = [[place for place in places if stated or place.noise == noise] for noise in noises]
    ordered = tuple(place for group in groups for place in _ordered(group))
    return Ranking(ordered, tuple(left_out), stated, by_cost)


def best_first(ranked: Ranking, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes in the order of their places, then those that have none."""
    numbers = {id(place.entry): at for at, place in enumerate(ranked.places)}
    last = len(numbers)
    return sorted(outcomes, key=lambda o: (numbers.get(id(o), last), o.solution is None))


def _ordered(places: Sequence[Place]) -> Iterator[Place]:
    def before(place: Place) -> tuple[float, bool]:
        return float(f"{place.value:.{SAME_DIGITS - 1}e}"), isinstance(place.entry, Factors)

    ordered, least = sorted(places, key=before), min(place.value for place in places)
    programs = [
        place for place in sorted(places, key=before, reverse=True) if isinstance(place.entry, Outcome)
    ]
    best = {place.noise: place.value for place in programs}
    for number, place in enumerate(ordered, 1):
        same_noise = ratio(place.value, best.get(place.noise, math.nan))
        yield replace(place, number=number, factor=ratio(place.value, least), same_noise=same_noise)
