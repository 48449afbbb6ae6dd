"""The noise that targets and wishes ask for, and what a privacy says to its cost; before any data is read."""

from __future__ import annotations

import math

import numpy as np

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.mechanism.accuracy import BEYOND
from mmopt.mechanism.release_plan import Plan
from mmopt.numerics.outward import rounded
from mmopt.privacy.calibration import least_scale
from mmopt.privacy.noise import Noise
from mmopt.privacy.privacy_parameters import Privacy
from mmopt.privacy.rounding.integer_strategy import Measured
from mmopt.strategies import StrategyForm
from mmopt.workloads import Workload
from mmopt.workloads.query_product import wishes

__all__ = ["check_cost", "excess_over_asked", "scale_for_targets"]

_TARGET_SLACK = 1e-6  # a certified strategy meets its targets to float accuracy; more is a wrong strategy


def scale_for_targets(workload: Workload, strategy: StrategyForm, integer: Measured, noise: Noise) -> float:
    """The scale, in integer units, at which rounding takes no query above its target.

    Of noise whose unit targets refer to (``Noise.takes_targets``) that unit, shrunk where it must be; of
    other noise the largest.

    Raises
    ------
    PrivacyError : no query has a target, and the noise has no unit.
    WorkloadError : unit noise on this strategy misses a target.
    """
    targeted = np.isfinite(workload.targets)
    if noise.takes_targets:
        unit = strategy.variances(workload)
        worst = int(np.argmax(np.where(targeted, unit / workload.targets, 0.0)))
        if targeted[worst] and unit[worst] > workload.targets[worst] * (1 + _TARGET_SLACK):
            raise WorkloadError(
                f"query '{workload.labels()[worst]}' has variance {unit[worst]:.6g} at unit noise on this "
                f"strategy, its max_variance is {workload.targets[worst]:.6g}",
                hint="solve the strategy with fitness_for_use for these targets",
            )
        limits = np.where(targeted, workload.targets, np.inf if targeted.any() else unit)
        factor = min(1.0, float(np.min(limits / integer.variances)))
    elif not targeted.any():
        raise PrivacyError(
            f"no query has a target that could set the scale of {noise.name} noise",
            hint="write max_variance or within beside the queries, or give an epsilon",
        )
    else:
        limits = np.where(targeted, workload.targets, np.inf)
        factor = float(np.min(limits / (noise.continuous.variance * integer.variances)))
    # A few units in the last place below, so that scale² x variance rounds to no more than the target.
    return math.ldexp(math.sqrt(factor) * (1 - 2.0**-49), integer.bits)


def excess_over_asked(plan: Plan) -> float:
    """The largest ratio of a query's half width to that of its wish; of other noise also of its deviation.

    0 where nothing is asked for. Noise whose unit targets refer to meets them by ``scale_for_targets``.
    """
    widths = [
        float(plan.intervals(wish.confidence).widths[rows].max()) / (wish.half_width * (1 + 2 * BEYOND))
        for rows, wish in wishes(plan.workload.blocks)
    ]
    deviations = [] if plan.law.takes_targets else [plan.standard_errors / np.sqrt(plan.workload.targets)]
    return max([*widths, *(float(ratio.max()) for ratio in deviations)], default=0.0)


def check_cost(plan: Plan, privacy: Privacy) -> None:
    """PrivacyError when the targets cost more than `privacy` allows."""
    assert plan.allowed is not None
    delta = None if plan.rho is None else privacy.delta
    name, spent = plan.spent
    if spent <= plan.allowed:
        return
    factor = (least_scale(plan.law, plan.integer, plan.fineness, plan.allowed, delta) / plan.scale) ** 2
    asked = wishes(plan.workload.blocks)
    targets = np.array(plan.workload.targets)
    for rows, wish in asked:
        targets[rows] = np.where(targets[rows] < wish.variance, targets[rows], np.inf)
    changes = [f"every max_variance by {_round_up(factor)}"] if np.isfinite(targets).any() else []
    changes += [f"every within by {_round_up(math.sqrt(factor))}"] if asked else []
    at = f" at delta {delta:g}" if delta is not None else ""
    raise PrivacyError(
        f"the targets cost {name} {rounded(str(spent), 6, up=True)}{at}, "
        f"privacy allows {name} {plan.allowed:.6g}",
        hint=f"multiply {' and '.join(changes)}, or allow a larger privacy cost",
    )


def _round_up(value: float) -> str:
    """`value` to four significant digits, rounded up, so that the advice suffices."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{(math.floor(value / unit) + 1) * unit:.4g}"
