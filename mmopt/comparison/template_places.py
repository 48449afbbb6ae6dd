"""Templates of both noises in one list, by what a release of each would be like."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmopt.comparison.predicted_errors import NOT_PREDICTED, Predicted, Stated, predicted
from mmopt.driver.templates import Candidate, Templates
from mmopt.privacy.table_of_noises import noise_for
from mmopt.results.rows_and_json import finite
from mmopt.workloads import Workload

__all__ = ["TemplatePlace", "template_places"]


@dataclass(frozen=True)
class TemplatePlace:
    """A template's strategy for the noise of a norm; predicted : its release, where it has a strategy."""

    candidate: Candidate
    norm: int
    predicted: Predicted

    @property
    def noise(self) -> str:
        """As ``Outcome.noise``."""
        return noise_for(self.norm).name

    @property
    def rmse(self) -> float:
        """At the privacy stated, or at unit noise; infinity where that is not known."""
        rmse = self.predicted.error(self.candidate.rmse)
        return math.inf if rmse is None else rmse

    @property
    def reason(self) -> str:
        """Why there is no strategy, or no error."""
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
    places = []
    for norm, of_norm in optimised.items():
        for candidate in of_norm.candidates:
            prediction = NOT_PREDICTED
            if candidate.strategy is not None and stated is not None:
                prediction = predicted(workload, candidate.strategy, stated)
            places.append(TemplatePlace(candidate, norm, prediction))
    if stated is None:
        return sorted(places, key=lambda place: place.candidate.error)
    return sorted(places, key=lambda place: (place.rmse, place.candidate.error))
