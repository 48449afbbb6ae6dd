"""Programs, templates and baselines in one order, each with its place.

``ranking`` sorts programs and baselines, best first, in one list where a privacy is stated.
``template_places`` sorts templates of both noises by their predicted releases.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmopt.comparison.baselines_against_programs import Factors, ratio
from mmopt.comparison.isolated_tasks import Outcome
from mmopt.comparison.predicted_errors import NOT_PREDICTED, Predicted, Stated, predicted
from mmopt.driver.templates import Templates, TemplateStrategy
from mmopt.privacy.noise import noise_for
from mmopt.results.solution_rows_and_json import finite
from mmopt.workloads import Workload


@dataclass(frozen=True)
class TemplatePlace:
    """A template's strategy for the noise of a norm.

    predicted : its release, where there is a strategy.
    """

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
    places = (
        TemplatePlace(
            c,
            norm,
            NOT_PREDICTED
            if c.strategy is None or stated is None
            else predicted(workload, c.strategy, stated),
        )
        for norm, each in optimised.items()
        for c in each.candidates
    )
    return sorted(places, key=lambda one: (0.0 if stated is None else one.rmse, one.candidate.error))


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
            reason = predicted.reason or "the cost at which all targets hold is not known"
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
    return sorted(outcomes, key=lambda o: (numbers.get(id(o), len(numbers)), o.solution is None))


def _ordered(places: Sequence[Place]) -> Iterator[Place]:
    """The places with their numbers and factors, the least value first."""

    def before(place: Place) -> tuple[float, bool]:
        return float(f"{place.value:.{SAME_DIGITS - 1}e}"), isinstance(place.entry, Factors)

    ordered, least = sorted(places, key=before), min(place.value for place in places)
    best = {  # by noise, the value of the best program: it is put in last
        place.noise: place.value
        for place in sorted(places, key=before, reverse=True)
        if isinstance(place.entry, Outcome)
    }
    for number, place in enumerate(ordered, 1):
        same_noise = ratio(place.value, best.get(place.noise, math.nan))
        yield replace(place, number=number, factor=ratio(place.value, least), same_noise=same_noise)
