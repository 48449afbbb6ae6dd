"""Baselines beside what was compared: by which factor their errors, and their privacy costs, are larger."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mmopt.comparison.compare import TIME_LIMIT
from mmopt.comparison.compared_outcome import Costed, Outcome
from mmopt.comparison.compared_programs import Rows
from mmopt.comparison.isolate import Isolated
from mmopt.comparison.least_costs import (
    COST_ROUNDING,
    LeastCosts,
    PrivacyFactors,
    least_costs,
    named,
    ratio,
)
from mmopt.comparison.predicted_errors import NOT_PREDICTED, Predicted, Stated, predicted_baseline
from mmopt.comparison.worker_processes import Costing, allowed
from mmopt.errors import ContradictionError, ResultError
from mmopt.notebook import Displayed
from mmopt.results.rows_and_json import finite
from mmopt.solvers import Options
from mmopt.strategies.baselines import NOISES, Cost, Evaluated, baseline_names, read
from mmopt.workloads import Workload

__all__ = ["Baselines", "Factors", "at_privacy", "baseline_factors", "standards"]


@dataclass(frozen=True, repr=False)
class Factors(Displayed):
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
    predicted : what its release would be like at the privacy stated; of nothing for one without a cost.
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
        said = self.reason or f"{self.noise} noise, total error {self.error:.6g} times the program's"
        return f"Factors({self.name}: {said})"

    @property
    def noise(self) -> str:
        """As ``Outcome.noise``."""
        return "" if self.cost is None else NOISES[self.cost.norm]

    @property
    def errors_rmse(self) -> float | None:
        """As ``Outcome.rmse``: ``rmse`` is a factor."""
        return None if self.cost is None else self.predicted.error(self.cost.rmse)

    def summary(self) -> dict[str, Any]:
        """One JSON object, of the kind "baseline"."""
        against = None if self.against is None else named(self.against)
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
            "against": against,
            "error_factor": finite(self.error),
            "rmse_factor": finite(self.rmse),
            "bound_factor": finite(self.over_bound),
            **(PrivacyFactors() if self.privacy is None else self.privacy).summary(),
        }


class Baselines(Rows[Factors]):
    """Baselines beside the outcomes of a comparison, as ``baseline_factors`` says."""

    def __repr__(self) -> str:
        return f"Baselines({len(self)} rows, {sum(one.cost is not None for one in self)} with errors)"


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
) -> Baselines:
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
    Baselines : ``Factors`` in the order of the names, one for each noise; empty when nothing was solved.

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
    return Baselines(found)


def at_privacy(evaluated: Evaluated, workload: Workload, stated: Stated | None) -> list[Factors]:
    """An evaluated baseline for each noise, beside no program, with what its release would be like."""
    name, title, detail = evaluated.name, evaluated.title, evaluated.detail
    return [
        Factors(name, title, detail, cost=cost, predicted=predicted_baseline(workload, name, cost, stated))
        for cost in evaluated.costs
    ]


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
            predicted=costed.predicted.get(cost.norm, NOT_PREDICTED),
        )
