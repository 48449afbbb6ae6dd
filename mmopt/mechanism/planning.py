"""What a release will cost and how accurate it will be, before any data is read."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.mechanism.calibration import check_scales, cost, least_scale
from mmopt.mechanism.measured import Measured, Neighbours, check_type
from mmopt.mechanism.privacy import (
    THEOREM_APPROX,
    THEOREM_PURE,
    THEOREM_ZCDP,
    allowed_epsilon,
    allowed_rho,
    zcdp_epsilon,
)
from mmopt.mechanism.reconstruct import standard_errors
from mmopt.mechanism.rounding import IntegerStrategy
from mmopt.mechanism.rounding_any import check_arguments, round_any
from mmopt.queries.component_strategy import AnyStrategy
from mmopt.queries.factored_strategy import FactoredStrategy
from mmopt.queries.workload import Workload
from mmopt.spec.privacy import Privacy, privacy_warning

__all__ = ["Plan", "plan"]

Floats = npt.NDArray[np.float64]

_TARGET_SLACK = 1e-6  # a certified strategy meets its targets to float accuracy; more is a wrong strategy


@dataclass(frozen=True, eq=False)
class Plan:
    """A calibrated release; nothing in it depends on data.

    Attributes
    ----------
    integer : the integer matrix to measure, and how to reconstruct from it.
    absolute : the noise is what the targets ask for, rather than what `privacy` allows.
    scale : parameter of the discrete Gaussian, or Laplace, in units of the integer matrix; that of a part
        is this times its relative noise.
    rho : zCDP cost that the release claims, rounded up; None for Laplace noise.
    delta, epsilon : the claimed (epsilon, delta), epsilon rounded up; None without a delta. For Laplace
        noise delta is 0, also where `privacy` allows more.
    allowed : the rho that `privacy` allows, or the epsilon; None when only the targets decide.
    theorem : what the claim rests on.
    standard_errors : (m,) predicted, in counts.
    """

    workload: Workload
    integer: Measured
    privacy: Privacy | None
    absolute: bool
    scale: float
    rho: float | None
    delta: float | None
    epsilon: float | None
    allowed: float | None
    theorem: str
    standard_errors: Floats

    @property
    def neighbours(self) -> Neighbours:
        """What neighbouring tables are: add-remove or replace-one."""
        return self.integer.neighbours

    @property
    def sensitivity_of(self) -> str:
        """What bounds the change of the measured answers between neighbouring tables, in words."""
        norm = f"L{self.integer.norm} norm of a"
        if self.neighbours == "add-remove":
            return f"largest {norm} column"
        if not isinstance(self.integer, IntegerStrategy):  # by component and in factors: ``replaced``
            return f"upper bound, from the longest column, on the {norm} difference of two"
        dropped = ", or a column, as a row may be dropped" if self.workload.domain.may_drop else ""
        return f"largest {norm} difference of two columns{dropped}"

    @property
    def not_covered(self) -> str:
        """What may become known of the data beside what the claim covers, in words, or nothing."""
        attributes = self.workload.domain.attributes
        names = ", ".join(a.name for a in attributes if {"", "refuse"} & {a.outside, a.missing})
        return f"whether a row is refused, for {names}, and the message that says so" if names else ""

    @property
    def warning(self) -> str:
        """What is to be said of a claim that protects next to nothing, or nothing."""
        return privacy_warning(self.epsilon, self.delta, self.rho)

    @property
    def kind(self) -> str:
        """Of the noise: "discrete Gaussian" or "discrete Laplace"."""
        return "discrete Laplace" if self.integer.norm == 1 else "discrete Gaussian"

    @property
    def guarantee(self) -> str:
        """The kind of the claim: "pure epsilon", "(epsilon, delta)" or "zCDP"."""
        if self.rho is None:
            return "pure epsilon"
        return "zCDP" if self.delta is None else "(epsilon, delta)"

    @property
    def privacy_cost(self) -> float:
        """The privacy cost Delta = sensitivity over noise scale; rho = Delta² / 2, or epsilon = Delta."""
        if self.rho is None:
            assert self.epsilon is not None
            return self.epsilon
        return math.sqrt(2 * self.rho)

    @property
    def noise(self) -> float:
        """Noise scale on the unrounded strategy: 1 is the unit noise that targets refer to."""
        return math.ldexp(self.scale, -self.integer.bits)

    @property
    def rmse(self) -> float:
        """Predicted root mean squared error over the m queries, in counts."""
        return float(np.sqrt(np.mean(self.standard_errors**2)))

    def __repr__(self) -> str:
        claim = [] if self.rho is None else [f"rho {self.rho:.6g}"]
        if self.epsilon is not None:
            claim.append(f"epsilon {self.epsilon:.6g} at delta {self.delta:g}")
        cost = ", ".join([*claim, self.neighbours])
        return f"Plan({self.workload.m} queries, {cost}, rmse {self.rmse:.6g})"


def plan(
    workload: Workload,
    strategy: AnyStrategy | FactoredStrategy,
    privacy: Privacy | None,
    neighbours: Neighbours = "add-remove",
    absolute: bool = False,
) -> Plan:
    """Round `strategy`, choose the noise and predict the errors.

    With `absolute` unset, the noise is the least that `privacy` allows. With `absolute`, unit noise on
    the strategy is what the targets ask for (`fitness_for_use`): the noise is scaled, down only, so that
    after rounding no query with a target exceeds it, and the release costs what that costs.

    A strategy of norm 1 gets Laplace noise at the epsilon of `privacy`; one of norm 2 Gaussian noise.

    Raises
    ------
    OptionError : arguments of other types, or other neighbours.
    PrivacyError : no privacy parameters and not `absolute`; epsilon without delta for a strategy of norm 2,
        rho or targets for one of norm 1; targets that cost more than `privacy` allows
        (with both values and the factor by which the targets must grow); noise beyond 64-bit integers.
    WorkloadError : a strategy that does not support the workload, misses its targets or cannot be rounded.
    """
    check_arguments(strategy, workload, neighbours)
    check_type("privacy", privacy, Privacy | None, "Privacy or None")
    check_type("absolute", absolute, bool, "True or False")
    if strategy.norm == 1:
        return _plan_laplace(workload, strategy, privacy, neighbours, absolute)
    allowed = None if privacy is None else allowed_rho(privacy)
    if allowed is None and not absolute:
        raise _no_parameters("epsilon: 1.0, delta: 1.0e-6")
    integer = round_any(strategy, workload, neighbours)
    if allowed is None or absolute:
        scale = _scale_for_targets(workload, strategy, integer)
    else:
        scale = least_scale(integer, allowed)
    check_scales(integer, scale)
    rho = cost(integer, scale)
    if privacy is not None and allowed is not None:
        _check_cost(rho, allowed, privacy)
    delta = None if privacy is None else privacy.delta
    errors = standard_errors(integer, scale)
    errors.flags.writeable = False
    return Plan(
        workload=workload,
        integer=integer,
        privacy=privacy,
        absolute=absolute,
        scale=scale,
        rho=rho,
        delta=delta,
        epsilon=None if delta is None else zcdp_epsilon(rho, delta),
        allowed=allowed,
        theorem=_composed(THEOREM_ZCDP if delta is None else THEOREM_APPROX, integer),
        standard_errors=errors,
    )


def _plan_laplace(
    workload: Workload,
    strategy: AnyStrategy | FactoredStrategy,
    privacy: Privacy | None,
    neighbours: Neighbours,
    absolute: bool,
) -> Plan:
    if absolute:
        raise PrivacyError(
            "targets set the scale of Gaussian noise, and the strategy bounds the L1 norm (Laplace noise)",
            hint="solve a program with 'norm 2', such as fitness_for_use",
        )
    if privacy is None:
        raise _no_parameters("epsilon: 1.0")
    allowed = allowed_epsilon(privacy)
    integer = round_any(strategy, workload, neighbours)
    scale = least_scale(integer, allowed)
    check_scales(integer, scale)
    errors = standard_errors(integer, scale)
    errors.flags.writeable = False
    return Plan(
        workload=workload,
        integer=integer,
        privacy=privacy,
        absolute=False,
        scale=scale,
        rho=None,
        delta=0.0,
        epsilon=cost(integer, scale),
        allowed=allowed,
        theorem=_composed(THEOREM_PURE, integer),
        standard_errors=errors,
    )


def _composed(theorem: str, integer: Measured) -> str:
    """The theorem, with what makes one claim of several measurements."""
    count = len(integer.parts)
    return theorem if count == 1 else f"{theorem}; the costs of {count} measurements add up (composition)"


def _no_parameters(example: str) -> PrivacyError:
    return PrivacyError(
        "no privacy parameters, and the noise is not set by targets",
        hint=f"add a line such as 'privacy: {{{example}}}' to the workload file",
    )


def _scale_for_targets(
    workload: Workload, strategy: AnyStrategy | FactoredStrategy, integer: Measured
) -> float:
    """Unit noise in integer units, shrunk so that rounding takes no query above its target."""
    unit = strategy.variances(workload)
    targeted = np.isfinite(workload.targets)
    worst = int(np.argmax(np.where(targeted, unit / workload.targets, 0.0)))
    if targeted[worst] and unit[worst] > workload.targets[worst] * (1 + _TARGET_SLACK):
        raise WorkloadError(
            f"query '{workload.labels()[worst]}' has variance {unit[worst]:.6g} at unit noise on this "
            f"strategy, its max_variance is {workload.targets[worst]:.6g}",
            hint="solve the strategy with fitness_for_use for these targets",
        )
    limits = np.where(targeted, workload.targets, np.inf if targeted.any() else unit)
    factor = min(1.0, float(np.min(limits / integer.variances)))
    # Three units in the last place below, so that scale² x variance rounds to no more than the target.
    return math.ldexp(math.sqrt(factor) * (1 - 3 * 2.0**-52), integer.bits)


def _check_cost(cost: float, allowed: float, privacy: Privacy) -> None:
    if cost <= allowed:
        return
    if privacy.epsilon is not None and privacy.delta is not None:
        spent = f"epsilon {zcdp_epsilon(cost, privacy.delta):.6g} at delta {privacy.delta:g} (rho {cost:.6g})"
        budget = f"epsilon {privacy.epsilon:.6g} (rho {allowed:.6g})"
    else:
        spent, budget = f"rho {cost:.6g}", f"rho {allowed:.6g}"
    raise PrivacyError(
        f"the targets cost {spent}, privacy allows {budget}",
        hint=f"multiply every max_variance by {_round_up(cost / allowed)}, or allow a larger privacy cost",
    )


def _round_up(value: float) -> str:
    """`value` to four significant digits, rounded up, so that the advice suffices."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{(math.floor(value / unit) + 1) * unit:.4g}"
