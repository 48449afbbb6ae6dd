"""What a point stands for (its strategy, or covariance and basis), and what that is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.compiler.same_program import is_shipped
from mmopt.driver.judge.score_point import SLIGHT, Array, named_multipliers
from mmopt.language import evaluate
from mmopt.language.evaluate.split_values import split_meaning, splits
from mmopt.numerics.arrays import frozen, svd
from mmopt.numerics.ball_inverse import pseudo_inverse
from mmopt.numerics.balls import ROWS_AT_A_TIME, dots, exact, matmul
from mmopt.numerics.matrix_functions import EIGENVALUE_FLOOR, psd_floor, symmetric_part
from mmopt.results.component_storage import Value
from mmopt.strategies import (
    AnyStrategy,
    ComponentStrategy,
    SectorStrategy,
    SectorwiseStrategy,
    Strategy,
    normalise,
)
from mmopt.workloads import Workload

__all__ = [
    "charged_error",
    "meaning",
    "own_sensitivity",
    "rounding",
    "within_targets",
    "without_rounding",
]

# Added to total error, relatively, for the rounding of its evaluation, which grows with the condition of the
# strategy: more than what it loses against rational arithmetic (tests/driver/judge/test_point_meaning.py).
ROUNDING_OF_ERROR = 1e-10
ROUNDED_DIRECTION = 1e-12  # singular values that are smaller than the largest by this factor may be rounding
SENSITIVITY_NEAR_1 = 1e-6  # a strategy whose sensitivity is this near to 1 is scaled to it without a word
BEYOND = 100.0  # times what a condition may round off: so far variances may be above targets that are met
MOST_BEYOND = 0.1  # relatively
LOST_PART = 1e-15  # eigenvalues of a covariance that are below this part of its trace
PER_CONDITION = 8 * float(np.finfo(float).eps)


def meaning(
    instance: Instance, env: Mapping[str, Any], multipliers: Mapping[str, Any] | None = None
) -> tuple[AnyStrategy, Value | None, Value | None]:
    """The strategy that a point stands for, and covariance and basis where it says those.

    ``multipliers`` are needed where the strategy is made of them (a dual program).
    """
    m = instance.program.meaning
    strategy, covariance, basis = _meant(instance, {**env, **named_multipliers(instance, multipliers or {})})
    if m.kind == "covariance":
        return strategy, covariance, basis
    return normalise(strategy), None, None


def _meant(instance: Instance, env: Mapping[str, Any]) -> tuple[Any, Value | None, Value | None]:
    """The same at the program's own scale."""
    m = instance.program.meaning
    if m.kind == "none":  # each cell by itself, which nobody is shown: every solution has a strategy
        return Strategy(frozen(np.eye(instance.workload.n)), 2), None, None
    value = evaluate(m.expr, env)
    if splits(env):
        split, *noise = split_meaning(m, value, env)
        if not split.is_listed:
            from mmopt.strategies.strategy_on_sectors import strategy_on  # off the usual way

            return strategy_on(split), noise[0], noise[1]
        return ComponentStrategy(split, m.norm), noise[0], noise[1]
    matrix = np.asarray(value, dtype=float)
    if m.kind == "strategy":
        # Nobody writes to what a program evaluated: it is not copied.
        return Strategy(frozen(matrix), m.norm, instance.neighbours), None, None
    basis = np.asarray(env[m.basis], dtype=float)
    # Eigenvalues that are lost in rounding are lifted to it; what that costs, the strategy's figures show.
    floored = psd_floor(matrix, LOST_PART / EIGENVALUE_FLOOR * float(np.trace(matrix)))
    noisy = replace(Strategy.from_covariance(floored, basis), neighbours=instance.neighbours)
    return within_targets(noisy, instance.workload), symmetric_part(matrix), basis


def within_targets(strategy: Strategy, workload: Workload) -> Strategy:
    """The strategy with less noise where rounding may have put variances above their targets.

    Its privacy cost, the square of its sensitivity, is above that of the covariance by as much. What may be
    more than ``reach`` is not made up for: targets are not proved to hold then.
    """
    if not workload.has_targets:
        return strategy
    worst, off = float((strategy.variances(workload) / workload.targets).max()), rounding(strategy, workload)
    lost = PER_CONDITION * strategy.largest_condition**2
    reach = max(SLIGHT, min(BEYOND * lost, MOST_BEYOND))
    if not 1.0 - SLIGHT < worst < 1.0 + reach:
        return strategy
    if lost > off:
        most = float((_variances_at_most(strategy, workload) / workload.targets).max())
        worst = max(worst, min(most, 1.0 + reach))
    if worst <= 1.0 - off:
        return strategy
    return replace(strategy, matrix=frozen(strategy.matrix * np.sqrt(worst * (1.0 + off))))


def _variances_at_most(strategy: Strategy, workload: Workload) -> Array:
    """Variances (m,) of all queries with what their evaluation may have rounded off."""
    inverse, found = pseudo_inverse(exact(strategy.matrix)), []
    for start in range(0, workload.m, ROWS_AT_A_TIME):
        seen = matmul(exact(workload.queries[start : start + ROWS_AT_A_TIME]), inverse)
        found.append(dots(seen, seen, axis=1).upper)
    return np.concatenate(found)


def own_sensitivity(
    instance: Instance, env: Mapping[str, Any], multipliers: Mapping[str, Any], objective: float
) -> float | None:
    """The sensitivity of the strategy as the author's program means it, where that is not 1.

    It is that to the program's own neighbours. For a covariance: where its square, the privacy cost, is not
    the objective either.

    To be measured, a strategy is scaled to 1. Where that changes it, the program's lines do not bound its
    sensitivity, or not by 1, and do not hold for what is measured. Shipped programs say what they bound.
    """
    m = instance.program.meaning
    if m.kind == "none" or is_shipped(instance.checked, meaning=True):
        return None
    found = float(_meant(instance, {**env, **named_multipliers(instance, multipliers)})[0].sensitivity)
    is_meant = abs(found - 1.0) <= SENSITIVITY_NEAR_1 or (
        m.kind == "covariance" and abs(found**2 - objective) <= 2 * SENSITIVITY_NEAR_1 * abs(objective)
    )
    return None if is_meant else found


def without_rounding(strategy: AnyStrategy, workload: Workload) -> AnyStrategy:
    """The strategy without directions that are rounding next to the others, if the queries can do without.

    A difference that is zero but for rounding would bring its noise, divided by rounding, into the answers.
    """
    if not isinstance(strategy, Strategy) or strategy.largest_condition * ROUNDED_DIRECTION <= 1.0:
        return strategy
    values, rows = svd(strategy.matrix)
    known = rows[values > ROUNDED_DIRECTION * values[0]]
    rest = normalise(replace(strategy, matrix=frozen((strategy.matrix @ known.T) @ known)))
    return rest if rest.supports(workload) else strategy


def charged_error(strategy: AnyStrategy, workload: Workload) -> float:
    """Total error with what its evaluation may have rounded off; infinity for an unsupported workload."""
    return strategy.total_error(workload) * (1.0 + rounding(strategy, workload))


def rounding(strategy: AnyStrategy, workload: Workload) -> float:
    """What the evaluation of total error may have rounded off, relatively."""
    if isinstance(strategy, SectorStrategy):
        conditions = (np.linalg.norm(one.core) * np.linalg.norm(one.inverse) for one in strategy.components)
        return max(ROUNDING_OF_ERROR, PER_CONDITION * float(max(conditions)))
    if isinstance(strategy, SectorwiseStrategy):
        return max(ROUNDING_OF_ERROR, strategy.rounding)
    if PER_CONDITION * strategy.largest_condition <= ROUNDING_OF_ERROR:
        return ROUNDING_OF_ERROR
    return max(ROUNDING_OF_ERROR, PER_CONDITION * strategy.condition(workload))
