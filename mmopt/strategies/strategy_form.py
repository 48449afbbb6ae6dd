"""What a form of strategy has to say, and all that follows from it, once for every form."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mmopt.errors import OptionError
from mmopt.notebook import Charted
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import times_up
from mmopt.numerics.pseudoinverse import pseudo_factors
from mmopt.numerics.split_arrays import Level
from mmopt.strategies.neighbours import ADD_REMOVE, Neighbours
from mmopt.workloads import Implicit, Workload

__all__ = ["StrategyForm", "largest_ratio", "normalise", "privacy_cost"]

Form = TypeVar("Form", bound="StrategyForm")


class StrategyForm(Charted, ABC):
    """A strategy A (p, n), measured as A x + noise: Laplace for norm 1, Gaussian for norm 2. Immutable.

    A form is a dataclass that gives what is abstract here; whatever else it knows a shorter way to, it gives
    too. Variances are at unit noise on A x; errors at unit noise per unit of sensitivity.
    """

    @property
    @abstractmethod
    def norm(self) -> int:
        """1 (Laplace) or 2 (Gaussian): the norm of columns that the privacy of the noise depends on."""

    @property
    @abstractmethod
    def p(self) -> int:
        """Number of measured queries."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of cells."""

    @property
    @abstractmethod
    def largest_column(self) -> float:
        """Largest column norm, rounded upwards: at least the exact value."""

    @abstractmethod
    def implicit(self) -> Implicit:
        """A (p, n), never formed where that can be avoided."""

    @abstractmethod
    def divided(self: Form, by: float) -> Form:
        """The same form of A over a number above 0."""

    @abstractmethod
    def squared_error(self, workload: Workload) -> float:
        """‖W A⁺‖²_F with the weighted W (no sensitivity); infinity where W is not supported."""

    @abstractmethod
    def variances(self, workload: Workload) -> Array:
        """Variance of each unweighted query's estimate at unit noise on A x (no sensitivity), (m,).

        Infinity for a query that A does not support.

        Raises
        ------
        TooLargeError : more queries than fit in memory.
        """

    # -- what follows ------------------------------------------------------------------------------

    @property
    def neighbours(self) -> Neighbours:
        """The set that ``sensitivity`` is to: what the strategy was chosen for."""
        return ADD_REMOVE

    @cached_property
    def sensitivity(self) -> float:
        """To its set of neighbours, rounded upwards. Errors as ``sensitivity_to``."""
        return self.sensitivity_to(self.neighbours)

    def sensitivity_to(self, neighbours: Neighbours) -> float:
        """The sensitivity to a set of neighbours, rounded upwards.

        Raises
        ------
        TooLargeError : a set for which columns are compared, and their matrix does not fit in memory.
        """
        if neighbours == ADD_REMOVE:
            return self.largest_column
        if neighbours.times is not None:
            return float(times_up(neighbours.times, self.largest_column))
        return neighbours.sensitivity(self.implicit().matrix(), self.norm)

    @property
    def profile(self) -> Array | Level:
        """Squared length of each column of A, (n,): the diagonal of AᵀA."""
        return np.asarray(np.square(self.implicit().matrix()).sum(axis=0))

    def supports(self, workload: Workload) -> bool:
        """Whether every query is a combination of the measured ones."""
        return math.isfinite(self.squared_error(workload))

    def total_error(self, workload: Workload) -> float:
        """‖A‖² ‖W A⁺‖²_F with the weighted W, in units of the noise's variance at sensitivity 1.

        Infinity where W is not supported. The sensitivity is the upward-rounded one.
        """
        squared = self.squared_error(workload)
        return self.sensitivity * self.sensitivity * squared if squared < math.inf else squared

    def mean_variance(self, workload: Workload) -> float:
        """The mean of ``variances``, without them."""
        return self.squared_error(workload.unweighted) / workload.m

    def rmse(self, workload: Workload) -> float:
        """√(mean unweighted variance) at unit noise per unit of sensitivity."""
        return self.sensitivity * math.sqrt(self.mean_variance(workload))

    def estimate(self, noisy: Array) -> Array:
        """Least-squares estimate (…, n) of the data vector from noisy answers (…, p): A⁺ y."""
        matrix = self.implicit().matrix()
        inverse, _ = pseudo_factors(matrix)
        return np.asarray(noisy @ matrix @ inverse @ inverse.T)

    def fields(self) -> dict[str, Any]:
        """What the form is made of, to be saved: numbers, texts, arrays, values by component, mappings."""
        found = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {
            name: value.fields() if isinstance(value, Neighbours) else value
            for name, value in found.items()
            if not (isinstance(value, Neighbours) and value == ADD_REMOVE)
        }

    @classmethod
    def from_fields(cls: type[Form], fields: Mapping[str, Any]) -> Form:
        """The strategy whose ``fields`` these are; OptionError where they fit no set of neighbours."""
        own = {name: value for name, value in fields.items() if name != "form"}
        if "neighbours" in own:
            own["neighbours"] = Neighbours(**own["neighbours"])
        return cls(**own)

    def _words(self, shape: str) -> str:
        """The form in a line."""
        return f"{type(self).__name__}({shape}, norm {self.norm}, sensitivity {self.sensitivity:g})"


def normalise(strategy: Form) -> Form:
    """The strategy scaled so that its upward-rounded sensitivity is at most 1 (as close as rounding allows).

    Raises
    ------
    OptionError : a strategy of zeros, or one whose sensitivity overflows.
    """
    if not 0 < strategy.sensitivity < math.inf:
        raise OptionError(
            f"a strategy of sensitivity {strategy.sensitivity:g} cannot be scaled to sensitivity 1"
        )
    if strategy.sensitivity == 1.0:
        return strategy
    scaled = strategy.divided(strategy.sensitivity)
    while scaled.sensitivity > 1.0:
        scaled = scaled.divided(math.nextafter(scaled.sensitivity, math.inf))
    return scaled


def largest_ratio(variances: Array, workload: Workload) -> float | None:
    """The largest ratio of a query's variance (m,) to its target; None where no query has one.

    Infinity where a query with a target is not supported. What has no target counts as met.
    """
    if not workload.has_targets:
        return None
    asked = workload.targets < math.inf
    return float((variances[asked] / workload.targets[asked]).max())


def privacy_cost(strategy: StrategyForm, workload: Workload) -> float | None:
    """The least Δ at which every query meets its target: sensitivity times the largest √(variance / target).

    With sensitivity in the L2 norm, Δ² is what fitness_for_use minimizes over all strategies (α of PVLDB
    2021, Problem 1); under Laplace noise of unit variance it is no less. None where no query has a target.

    Raises
    ------
    TooLargeError : more queries than fit in memory.
    """
    if not workload.has_targets:
        return None
    ratio = largest_ratio(strategy.variances(workload), workload)
    assert ratio is not None
    return strategy.sensitivity * math.sqrt(ratio)
