"""What was compared, best first: programs and baselines in one list where a privacy is stated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmopt.comparison.baseline_factors import Factors
from mmopt.comparison.compared_outcome import Outcome
from mmopt.comparison.least_costs import ratio
from mmopt.comparison.predicted_errors import Stated
from mmopt.results.rows_and_json import finite
from mmopt.workloads import Workload

__all__ = ["Place", "Ranking", "best_first", "ranking"]

SAME_DIGITS = 5  # of two values that agree so far the first one stays first, programs before baselines


@dataclass(frozen=True)
class Place:
    """One outcome or baseline.

    number : 1 for the best. value : what the ranking is by. rmse : as ``Outcome.rmse``. cost : as
    ``Predicted.cost``. factor : the value over the best one. same_noise : over that of the best program for
    the same noise; NaN where there is none.
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

    stated : the privacy that errors are for; None for unit noise. by_cost : whether every query has a target,
    and the order is by what it costs that all hold, else by rmse. left_out : entries that have a solution or
    cost and no place, with the reason.
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
    """Sort what ``compare`` and ``baseline_factors`` gave, both for the privacy ``stated``.

    workload : of these; without it the order is by rmse, whatever the targets.
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
            is_continuous = predicted.is_continuous
            places.append(Place(entry, 0, value, rmse, predicted.cost, is_continuous=is_continuous))
    groups = [places] if stated is not None else _by_noise(places)
    ordered = tuple(place for group in groups for place in _ordered(group))
    return Ranking(ordered, tuple(left_out), stated, by_cost)


def best_first(ranked: Ranking, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes in the order of their places, then those that have none."""
    numbers = {id(place.entry): at for at, place in enumerate(ranked.places)}
    last = len(numbers)
    return sorted(outcomes, key=lambda o: (numbers.get(id(o), last), o.solution is None))


def _by_noise(places: Sequence[Place]) -> list[list[Place]]:
    noises = dict.fromkeys(place.noise for place in places)
    return [[place for place in places if place.noise == noise] for noise in noises]


def _ordered(places: Sequence[Place]) -> Iterator[Place]:
    def before(place: Place) -> tuple[float, bool]:
        return float(f"{place.value:.{SAME_DIGITS - 1}e}"), isinstance(place.entry, Factors)

    programs = [place for place in places if isinstance(place.entry, Outcome)]
    best = {place.noise: place.value for place in sorted(programs, key=before, reverse=True)}
    for number, place in enumerate(sorted(places, key=before), 1):
        least = min(one.value for one in places)
        least_of_noise = best.get(place.noise, math.nan)
        factors = ratio(place.value, least), ratio(place.value, least_of_noise)
        yield replace(place, number=number, factor=factors[0], same_noise=factors[1])
