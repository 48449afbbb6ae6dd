"""What a release will cost and how accurate it will be, before any data is read."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.mechanism.accuracy import (
    NEARLY_NORMAL,
    Intervals,
    has_coefficients,
    intervals,
    standard_errors,
)
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.privacy.calibration import (
    approximate_epsilon,
    finer,
    finest,
    least_scale,
)
from mmopt.privacy.guarantee import THEOREM_EXACT
from mmopt.privacy.noise import Noise, check_scales, cost
from mmopt.privacy.privacy_parameters import Neighbours, Privacy, privacy_warning
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, Measured, Part, check_type
from mmopt.privacy.rounding.table_of_forms import check_arguments, round_any
from mmopt.privacy.table_of_noises import noise_for
from mmopt.results import AnySolution, why_not_released
from mmopt.strategies import StrategyForm
from mmopt.workloads import Workload, attribute_uses

__all__ = ["Plan", "claim", "plan"]


_TARGET_SLACK = 1e-6  # a certified strategy meets its targets to float accuracy; more is a wrong strategy
_WORTH = 0.99  # of variance or epsilon, below which answers that are not whole are worth it


@dataclass(frozen=True, eq=False)
class Plan:
    """A calibrated release; nothing in it depends on data.

    Attributes
    ----------
    integer : the integer matrix to measure, and how to reconstruct from it.
    absolute : the noise is what the targets ask for, rather than what `privacy` allows.
    scale : parameter of the noise, in units of the integer matrix; that of a part is this times its
        relative noise.
    fineness : the matrix is measured times 2^fineness, with as many times the noise.
    rho : zCDP cost that the release claims, rounded up; None for noise that costs epsilon (Laplace).
    delta, epsilon : the claimed (epsilon, delta), epsilon rounded up; None without a delta. For noise that
        costs epsilon delta is 0, also where `privacy` allows more. It need not follow from rho, which is
        kept for composition.
    allowed : the rho that `privacy` allows, or the epsilon; None when only the targets decide.
    theorem : what epsilon rests on; rho of Gaussian noise is always Theorem 14 of Canonne, Kamath and
        Steinke 2020.
    standard_errors : (m,) predicted, in counts.
    """

    workload: Workload
    integer: Measured
    privacy: Privacy | None
    absolute: bool
    scale: float
    fineness: int
    rho: float | None
    delta: float | None
    epsilon: float | None
    allowed: float | None
    theorem: str
    standard_errors: Array

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
        if not self.integer.compares_columns:
            return f"upper bound, from the longest column, on the {norm} difference of two"
        dropped = ", or a column, as a row may be dropped" if self.workload.domain.may_drop else ""
        return f"largest {norm} difference of two columns{dropped}"

    @property
    def not_covered(self) -> str:
        """What may become known of the data beside what the claim covers, in words."""
        uses = attribute_uses(self.workload)
        read = (a for a in self.workload.domain.attributes if uses[a.name] != "none")
        names = ", ".join(a.name for a in read if {"", "refuse"} & {a.outside, a.missing})
        refused = f"; whether a row is refused, for {names}, and the message that says so" if names else ""
        return f"whether the table can be read, and has at most {MAX_ROWS} rows{refused}"

    @property
    def warning(self) -> str:
        """What is to be said of a claim that protects next to nothing, or nothing."""
        return privacy_warning(self.epsilon, self.delta, self.rho)

    @property
    def law(self) -> Noise:
        """The noise that is drawn."""
        return noise_for(self.integer.norm, self.privacy)

    @property
    def kind(self) -> str:
        """The kind of the noise: "discrete Gaussian" or "discrete Laplace"."""
        return f"discrete {self.law.name}"

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
    def parts(self) -> tuple[Part, ...]:
        """What is measured: the parts of the integer matrix, at this fineness."""
        return finer(self.integer.parts, self.fineness)

    def intervals(self, confidence: float) -> Intervals:
        """The queries' intervals, as ``accuracy.intervals``.

        Where queries have no integer basis they are wider by what rounding these biases MAX_ROWS rows.
        """
        found = intervals(self.law, self.integer, self.scale, self.fineness, confidence)
        if not self.integer.is_biased:
            return found
        bias = self.integer.bias * float(np.abs(self.workload.queries).max()) * MAX_ROWS
        return Intervals(found.widths + bias, found.coverage, found.is_exact and bias == 0)

    @property
    def rmse(self) -> float:
        """Predicted root mean squared error over the m queries, in counts."""
        return float(np.sqrt(np.mean(self.standard_errors**2)))

    def __repr__(self) -> str:
        words = [] if self.rho is None else [f"rho {rounded(str(self.rho), 6, up=True)}"]
        if self.epsilon is not None:
            words.append(f"epsilon {rounded(str(self.epsilon), 6, up=True)} at delta {self.delta!r}")
        words.append(self.neighbours)
        return f"Plan({self.workload.m} queries, {', '.join(words)}, rmse {rounded(self.rmse, 6, up=True)})"


def plan(
    workload: Workload,
    strategy: StrategyForm | AnySolution,
    privacy: Privacy | None,
    neighbours: Neighbours = "add-remove",
    absolute: bool = False,
) -> Plan:
    """Round `strategy`, or that of a solution, choose the noise and predict the errors.

    With `absolute` unset, the noise is the least that `privacy` allows. With `absolute`, unit noise on
    the strategy is what the targets ask for (`fitness_for_use`): the noise is scaled, down only, so that
    after rounding no query with a target exceeds it, and the release costs what that costs.

    The norm of a strategy and `privacy` decide the noise (``noise_for``): for norm 1 Laplace noise at the
    epsilon, for norm 2 Gaussian noise. For (epsilon, delta) the integers are measured as they are, or times a
    power of two where no exact theorem holds of them and that for continuous noise then saves 1 % of the
    variance (with targets: of epsilon); also where there are too many queries for the law of each one's
    error.

    Raises
    ------
    OptionError : arguments of other types, or other neighbours.
    PrivacyError : no privacy parameters and not `absolute`; epsilon without delta for a strategy of norm 2,
        rho or targets for one of norm 1; targets that cost more than `privacy` allows
        (with both values and the factor by which the targets must grow); noise beyond 64-bit integers;
        a solution whose program bounds something else than column norms.
    WorkloadError : a strategy that does not support the workload, misses its targets or cannot be rounded.
    """
    if isinstance(strategy, AnySolution):
        strategy = _released(strategy)
    check_arguments(strategy, workload, neighbours)
    check_type("privacy", privacy, Privacy | None, "Privacy or None")
    check_type("absolute", absolute, bool, "True or False")
    noise = noise_for(strategy.norm, privacy)
    if absolute and not noise.takes_targets:
        raise PrivacyError(
            "targets set the scale of Gaussian noise, and the strategy bounds the "
            f"L{strategy.norm} norm ({noise.name} noise)",
            hint="solve a program with 'norm 2', such as fitness_for_use",
        )
    if privacy is None and not absolute:
        raise PrivacyError(
            "no privacy parameters, and the noise is not set by targets",
            hint=f"add a line such as 'privacy: {{{noise.example}}}' to the workload file",
        )
    budget = None if privacy is None else noise.allowed(privacy)
    allowed = budget if privacy is None else privacy.epsilon or budget
    integer = round_any(strategy, workload, neighbours)
    target = _scale_for_targets(workload, strategy, integer) if absolute else None
    delta = None if noise.unit == "epsilon" or privacy is None else privacy.delta

    def planned(fineness: int) -> Plan:
        scale = target or least_scale(noise, integer, fineness, allowed or math.inf, delta)
        errors = standard_errors(noise, integer, scale, fineness)
        errors.flags.writeable = False
        rho, own_delta, epsilon, theorem = claim(noise, integer, fineness, scale, delta, allowed or math.inf)
        return Plan(
            workload=workload,
            integer=integer,
            privacy=privacy,
            absolute=absolute,
            scale=scale,
            fineness=fineness,
            rho=rho,
            delta=own_delta,
            epsilon=epsilon,
            allowed=allowed,
            theorem=_composed(theorem, integer),
            standard_errors=errors,
        )

    found = planned(0)
    check_scales(integer.parts, found.scale)
    most = finest(integer.parts, found.scale)
    # Beside many queries' errors only the normal law is known.
    is_many = (
        noise.distance is not None
        and noise.distance(integer.parts, found.scale) > NEARLY_NORMAL
        and not has_coefficients(integer)
    )
    if most and (is_many or (delta is not None and found.theorem != THEOREM_EXACT)):
        fine = planned(most)
        saved = (fine.epsilon or 1.0) / (found.epsilon or 1.0) if absolute else (fine.rmse / found.rmse) ** 2
        if is_many or saved < _WORTH:
            found = fine
    if target is not None and privacy is not None:
        _check_cost(found, privacy)
    return found


def claim(
    noise: Noise, integer: Measured, fineness: int, scale: float, delta: float | None, asked: float
) -> tuple[float | None, float | None, float | None, str]:
    """The rho, delta, epsilon and theorem that noise of this scale proves, as ``Plan`` holds them.

    Errors, and `asked`, as ``calibration.approximate_epsilon``.
    """
    cheap = cost(noise, integer.parts, scale)
    if noise.unit == "epsilon":
        return None, 0.0, cheap, noise.theorem
    if delta is None:
        return cheap, None, None, noise.theorem
    return cheap, delta, *approximate_epsilon(noise, integer, fineness, scale, delta, asked)


def _released(solution: AnySolution) -> StrategyForm:
    """Its strategy; refused where its program bounds something else than column norms."""
    if solution.own_sensitivity is not None:
        raise PrivacyError(
            why_not_released(solution.program, solution.own_sensitivity, solution.covariance is not None),
            hint="let the program's lines bound the largest column norm of its strategy by 1, or let the "
            "objective be the privacy cost of its covariance",
        )
    return solution.strategy


def _composed(theorem: str, integer: Measured) -> str:
    """The theorem, with what makes one claim of several measurements."""
    count = len(integer.parts)
    return theorem if count == 1 else f"{theorem}; the costs of {count} measurements add up (composition)"


def _scale_for_targets(workload: Workload, strategy: StrategyForm, integer: Measured) -> float:
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
    # A few units in the last place below, so that scale² x variance rounds to no more than the target.
    return math.ldexp(math.sqrt(factor) * (1 - 2.0**-49), integer.bits)


def _check_cost(found: Plan, privacy: Privacy) -> None:
    """PrivacyError when the targets cost more than `privacy` allows."""
    spent = found.rho if privacy.delta is None else found.epsilon
    assert spent is not None and found.allowed is not None
    if spent <= found.allowed:
        return
    least = least_scale(found.law, found.integer, found.fineness, found.allowed, privacy.delta)
    name, at = ("rho", "") if privacy.delta is None else ("epsilon", f" at delta {privacy.delta:g}")
    raise PrivacyError(
        f"the targets cost {name} {rounded(str(spent), 6, up=True)}{at}, "
        f"privacy allows {name} {found.allowed:.6g}",
        hint=f"multiply every max_variance by {_round_up((least / found.scale) ** 2)}, "
        "or allow a larger privacy cost",
    )


def _round_up(value: float) -> str:
    """`value` to four significant digits, rounded up, so that the advice suffices."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{(math.floor(value / unit) + 1) * unit:.4g}"
