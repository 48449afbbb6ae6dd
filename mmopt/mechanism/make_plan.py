"""``plan``: what a release will cost and how accurate it will be, before any data is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from mmopt.errors import PrivacyError
from mmopt.mechanism.accuracy import NEARLY_NORMAL, has_coefficients, standard_errors
from mmopt.mechanism.noise_for_targets import check_cost, excess_over_asked, scale_for_targets
from mmopt.mechanism.release_plan import Plan, claim, composed
from mmopt.privacy.calibration import finest, least_scale
from mmopt.privacy.guarantee import THEOREM_EXACT
from mmopt.privacy.noise import check_scales
from mmopt.privacy.privacy_parameters import Privacy
from mmopt.privacy.rounding.integer_strategy import check_type
from mmopt.privacy.rounding.table_of_forms import check_arguments, round_any
from mmopt.privacy.table_of_noises import noise_for
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import AnySolution, why_not_released
from mmopt.strategies import NeighboursLike, StrategyForm

__all__ = ["plan"]

_WORTH = 0.99  # of variance or epsilon, below which answers that are not whole are worth it
_NO_NOISE = 1 / 200  # the scale on integers below which draws are zeros
_LEAST_STEP = 2.0**-10  # by which noise is shrunk that is still too much after a first step
_CLOSE = 1e-6  # relative: to which the most noise is found that is little enough


def plan(
    workload: WorkloadLike,
    strategy: StrategyForm | AnySolution,
    privacy: Privacy | Mapping[str, float] | None,
    neighbours: NeighboursLike | None = None,
    absolute: bool = False,
) -> Plan:
    """Round `strategy`, or that of a solution, choose the noise and predict the errors.

    The sensitivity is that of the integers to these neighbours, by default those that the strategy was
    chosen for.

    With `absolute` unset, the noise is the least that `privacy` allows. With `absolute` it is what the
    targets ask for, and the release costs what that costs: for norm 2 unit noise on the strategy
    (`fitness_for_use`), scaled down where after rounding a query exceeds its target; for norm 1 the most at
    which none does. The intervals of queries with a wish (``within``) are then no wider than that.

    The norm of a strategy and `privacy` decide the noise (``noise_for``): for norm 1 Laplace noise at the
    epsilon, for norm 2 Gaussian noise. For (epsilon, delta) the integers are measured as they are, or times a
    power of two where no exact theorem holds of them and that for continuous noise then saves 1 % of the
    variance (with targets: of epsilon); also where there are too many queries for the law of each one's
    error.

    Raises
    ------
    OptionError : arguments of other types, or what is no set of neighbours.
    PrivacyError : no privacy parameters and not `absolute`; epsilon without delta for a strategy of norm 2,
        rho for one of norm 1; targets that cost more than `privacy` allows
        (with both values and the factor by which the targets must grow); noise beyond 64-bit integers;
        a solution whose program bounds something else than the sensitivity to its neighbours; neighbours to
        which no sensitivity of the strategy is known.
    WorkloadError : a strategy that does not support the workload, misses its targets or cannot be rounded.
    """
    workload = as_workload(workload)
    privacy = None if privacy is None else Privacy.of(privacy)
    if isinstance(strategy, AnySolution):
        strategy = _released(strategy)
    check_arguments(strategy, workload)
    check_type("absolute", absolute, bool, "True or False")
    noise = noise_for(strategy.norm, privacy)
    if privacy is None and not absolute:
        raise PrivacyError(
            "no privacy parameters, and the noise is not set by targets",
            hint=f"add a line such as 'privacy: {{{noise.example}}}' to the workload file",
        )
    budget = None if privacy is None else noise.allowed(privacy)
    allowed = budget if privacy is None else privacy.epsilon or budget
    integer = round_any(strategy, workload, strategy.neighbours if neighbours is None else neighbours)
    target = scale_for_targets(workload, strategy, integer, noise) if absolute else None
    delta = None if noise.unit == "epsilon" or privacy is None else privacy.delta

    def at_fineness(fineness: int, target: float | None) -> Plan:
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
            theorem=composed(theorem, integer.parts),
            standard_errors=errors,
            chosen_for=strategy.neighbours,
        )

    def planned(target: float | None) -> Plan:
        found = at_fineness(0, target)
        check_scales(integer.parts, found.scale)
        most = finest(integer.parts, found.scale)
        # Beside many queries' errors only the normal law is known.
        is_many = (
            noise.distance is not None
            and noise.distance(integer.parts, found.scale) > NEARLY_NORMAL
            and not has_coefficients(integer)
        )
        if most and (is_many or (delta is not None and found.theorem != THEOREM_EXACT)):
            fine = at_fineness(most, target)
            ratio = (fine.epsilon or 1.0) / (found.epsilon or 1.0)
            saved = ratio if absolute else (fine.rmse / found.rmse) ** 2
            if is_many or saved < _WORTH:
                found = fine
        return found

    if target is None:
        return planned(target)
    found = _shrunk(planned, target)
    if privacy is not None:
        check_cost(found, privacy)
    return found


def _shrunk(planned: Callable[[float], Plan], target: float) -> Plan:
    """The plan with the most noise whose intervals are as asked; of Gaussian noise up to the scale `target`.

    Noise on integers may have wider intervals than the normal noise that wishes were turned into. Dividing
    by the excess takes the widest to what is asked, but for the shape of its law: where errors are whole
    numbers, widths are too, and the scale at which one falls by 1 is found by halving. So is the scale of
    noise whose unit is none that targets refer to, where on integers it varies less than ``target`` says.

    Raises
    ------
    PrivacyError : rounding the strategy alone makes an interval too wide.
    """
    found, wide, step = planned(target), math.inf, 0.0
    while (excess := excess_over_asked(found)) > 1:
        if max(part.relative for part in found.parts) * found.scale < _NO_NOISE:
            raise PrivacyError(
                "no noise is small enough for the half widths that are asked for: rounding the strategy "
                "alone makes intervals wider",
                hint="ask for wider ones",
            )
        wide = target
        target /= max(excess * (1 + 2.0**-40), 1 + step)
        step = max(2 * step, _LEAST_STEP)
        found = planned(target)
    if wide == math.inf and 0 < excess < 1 - _CLOSE and not found.law.takes_targets:
        wide = 2 * target
        while excess_over_asked(larger := planned(wide)) <= 1:
            found, target, wide = larger, wide, 2 * wide
    more = target * (1 + _CLOSE)
    while more < wide < math.inf:
        if excess_over_asked(larger := planned(more)) > 1:
            wide = more
        else:
            found, target = larger, more
        more = max(math.sqrt(wide * target), target * (1 + _CLOSE))
    return found


def _released(solution: AnySolution) -> StrategyForm:
    """Its strategy; refused where it has none, or its program bounds something else than its sensitivity."""
    if not solution.has_strategy:
        raise PrivacyError(
            f"the solution of '{solution.program}' is no strategy: the program says none",
            hint="write 'strategy' (factor(X) norm 2) or 'covariance' (Sigma on B)",
        )
    if solution.own_sensitivity is not None:
        raise PrivacyError(
            why_not_released(
                solution.program,
                solution.own_sensitivity,
                solution.covariance is not None,
                solution.strategy.neighbours,
            ),
            hint="let the program's lines bound the sensitivity of its strategy to its neighbours (by "
            "default the largest column norm) by 1, or let the objective be the privacy cost of its "
            "covariance",
        )
    return solution.strategy
