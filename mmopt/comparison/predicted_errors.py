"""Predictions for a release of a strategy at a stated privacy: its error, and the cost of its targets.

``mmopt.mechanism.plan`` makes them, for the noise that is drawn. Without a privacy, the cost of targets is
that at unit noise.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mmopt.errors import Error, TooLargeError
from mmopt.mechanism import Plan, plan
from mmopt.mechanism.standard_errors_and_intervals import deviations
from mmopt.privacy.epsilon_delta_rho import MOST_COST, Privacy
from mmopt.privacy.noise import NOISES, Noise, noise_for
from mmopt.privacy.rounding.norms_and_measured_integers import check_type
from mmopt.results import Solution
from mmopt.results.solution_rows_and_json import finite
from mmopt.strategies import ADD_REMOVE, Neighbours, StrategyForm, largest_ratio, privacy_cost
from mmopt.strategies.baselines import Cost, baseline_call, baseline_strategy
from mmopt.workloads import Workload

SLACK = 1e-6  # relative: an epsilon at which targets hold before a strategy is rounded to integers
ON_ANSWERS = "workload"  # the baseline whose answers are its measurements, without least squares


@dataclass(frozen=True)
class Stated:
    """The privacy for which errors are predicted, and the neighbouring tables.

    Raises
    ------
    OptionError : privacy or neighbours of another kind.
    """

    privacy: Privacy
    neighbours: Neighbours = ADD_REMOVE

    def __post_init__(self) -> None:
        check_type("privacy", self.privacy, Privacy, "Privacy")
        check_type("neighbours", self.neighbours, Neighbours, "Neighbours")

    @property
    def norms(self) -> tuple[int, ...]:
        """The norms of the noises that it allows, that of Gaussian noise (2) first."""
        return tuple(sorted((noise.norm for noise in NOISES if noise.takes(self.privacy)), reverse=True))

    @property
    def cost_name(self) -> str:
        """The unit of its costs: "epsilon" or "rho"."""
        return "rho" if self.privacy.epsilon is None else "epsilon"

    def __str__(self) -> str:
        """The words for the heading of a table."""
        return f"{self.privacy}" + f", {self.neighbours}" * (self.neighbours != ADD_REMOVE)

    def summary(self) -> dict[str, Any]:
        """Fields of a JSON object."""
        return {
            **{name: value for name, value in vars(self.privacy).items() if value is not None},
            "neighbours": str(self.neighbours),
        }


@dataclass(frozen=True)
class Predicted:
    """The prediction for a release, before any data.

    rmse : root mean square of the queries' standard errors, in counts; None for the ``reason``, and without
        a privacy.
    cost : the least epsilon (at the stated delta) or rho at which every query with a target meets it; without
        a privacy Δ at unit noise. None where no query has a target, or where the cost is unknown.
    is_continuous : whether the error is that of noise on real numbers, as the rows do not fit in memory as
        integers.
    """

    rmse: float | None = None
    cost: float | None = None
    reason: str = ""
    is_continuous: bool = False

    def error(self, unit: float) -> float | None:
        """The rmse; ``unit``, that at unit noise, where no privacy was stated."""
        return self.rmse if self.rmse is not None or self.reason else unit

    def summary(self) -> dict[str, Any]:
        """Fields of a JSON object."""
        return {
            "cost": None if self.cost is None else finite(self.cost),
            "not_ranked": self.reason,
            "is_continuous": self.is_continuous,
        }


NOT_PREDICTED = Predicted()
"""The prediction without a strategy, or without a stated privacy and targets."""


def predicted(workload: Workload, strategy: StrategyForm | Solution, stated: Stated | None) -> Predicted:
    """Predict a release of a strategy, or of that of a solution; a refusal becomes the ``reason``.

    Where that needs more than fits in memory, and neighbours add or remove rows, it is for continuous noise.
    """
    if isinstance(strategy, Solution) and not strategy.has_strategy:
        return Predicted(reason="the program has no strategy")
    form = strategy.strategy if isinstance(strategy, Solution) else strategy
    if stated is None:
        with suppress(TooLargeError):  # more queries than variances fit in memory
            return Predicted(cost=privacy_cost(form, workload))
        return NOT_PREDICTED

    def release(noise: Noise) -> Predicted:
        planned = plan(workload, strategy, stated.privacy, stated.neighbours)
        ratio = largest_ratio(form.variances(workload), workload) if workload.has_targets else None
        return Predicted(planned.rmse, _cost(workload, form, ratio, noise, stated))

    return _or_reason(
        form.norm, stated, release, lambda: form.largest_column * math.sqrt(form.mean_variance(workload))
    )


def predicted_baseline(workload: Workload, name: str, cost: Cost, stated: Stated | None) -> Predicted:
    """Predict a release of a baseline under one noise, that of ``cost``."""
    if stated is None:
        return Predicted(cost=cost.privacy_cost)

    def release(noise: Noise) -> Predicted:
        if not math.isfinite(cost.error):
            return Predicted(reason="the answers cannot be derived from what it measures")
        form = baseline_strategy(name, workload, cost.norm)
        planned = plan(workload, form, stated.privacy, stated.neighbours)
        rmse = _of_a_row(planned) if baseline_call(name).baseline.name == ON_ANSWERS else planned.rmse
        ratio = None if cost.privacy_cost is None else (cost.privacy_cost / cost.sensitivity) ** 2
        return Predicted(rmse, _cost(workload, form, ratio, noise, stated))

    return _or_reason(cost.norm, stated, release, lambda: cost.rmse)


def _or_reason(
    norm: int, stated: Stated, release: Callable[[Noise], Predicted], unit_rmse: Callable[[], float]
) -> Predicted:
    """The prediction of ``release`` for the noise of a norm; a refusal becomes the ``reason``.

    Where it needs more than fits in memory: from the rmse at unit noise per unit of the largest column; where
    that does not determine it, the reason is the error.
    """
    try:
        noise = noise_for(norm, stated.privacy)
        if not noise.takes(stated.privacy):
            why = (
                "does not satisfy pure epsilon: it needs a delta"
                if stated.privacy.is_pure
                else f"is calibrated for epsilon, and {stated.cost_name} is stated"
            )
            return Predicted(reason=f"{noise.name} noise {why}")
        return release(noise)
    except TooLargeError as error:
        times = stated.neighbours.times
        if times is None:
            return Predicted(reason=error.message)
        return Predicted(times * unit_rmse() * noise.continuous.deviation(stated.privacy), is_continuous=True)
    except Error as error:
        return Predicted(reason=error.message)


def _of_a_row(planned: Plan) -> float:
    """The standard error of a measured row, in the units of the strategy before it was rounded to integers.

    The rounded strategy has one part: its noise is the same for all rows.
    """
    (deviation,) = deviations(planned.law, planned.integer, planned.scale, planned.fineness)
    (part,) = planned.integer.parts
    return math.ldexp(float(deviation) / part.relative, -planned.integer.bits)


def _cost(
    workload: Workload, form: StrategyForm, ratio: float | None, noise: Noise, stated: Stated
) -> float | None:
    """The cost of the targets, in epsilon or rho.

    ratio : the largest of a query's variance, at unit noise on the rows, to its target; None without targets.

    Gaussian noise: the claim of ``plan`` for unit noise on rows so long that the largest ratio is 1. Laplace
    noise: its variance is at most twice its squared scale, and the scale is proportional to 1 / epsilon.
    """
    if ratio is None or not math.isfinite(ratio):
        return ratio
    if noise.takes_targets:
        most = None if stated.privacy.rho is not None else Privacy(MOST_COST, stated.privacy.delta)
        planned = plan(workload, form.divided(1.0 / math.sqrt(ratio)), most, stated.neighbours, absolute=True)
        return planned.rho if most is None else planned.epsilon
    at_one = plan(workload, form, Privacy(1.0), stated.neighbours)
    return at_one.noise * math.sqrt(noise.continuous.variance * ratio) * (1.0 + SLACK)
