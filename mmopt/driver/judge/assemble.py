"""From a certified point to a :class:`Solution`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.compiler.match import is_shipped
from mmopt.driver.judge.bounds import bound_by_component, error_bound
from mmopt.driver.judge.claims import bounds_error, check_figures, grade_of, objective_grade, survived
from mmopt.driver.judge.score import SLIGHT, Array, named_multipliers
from mmopt.driver.judge.values import as_value, split_meaning
from mmopt.errors import SolverError
from mmopt.language import evaluate
from mmopt.language.evaluate.by_component import splits
from mmopt.numerics.arrays import frozen, svd
from mmopt.numerics.ball_inverse import pseudo_inverse
from mmopt.numerics.balls import HEIGHT, dots, exact, matmul
from mmopt.numerics.components import Split
from mmopt.numerics.numpy_forms import FLOOR, psd_floor, symmetric_part
from mmopt.results import Solution, Status
from mmopt.results.by_component import Value
from mmopt.strategies import AnyStrategy, ComponentStrategy, Strategy, normalise
from mmopt.workloads import Workload

__all__ = [
    "assemble",
    "charged_error",
    "meaning",
    "own_scale",
    "own_sensitivity",
    "rmse",
    "rounding",
    "value_of",
]

# Added to total error, relatively, for the rounding of its evaluation, which grows with the condition of
# the strategy: more than what it loses against rational arithmetic (tests/driver/judge/test_assemble.py).
ROUNDING = 1e-10
NOTHING = 1e-12  # singular values that are smaller than the largest by this factor may be rounding
SCALED = 1e-6  # a strategy whose sensitivity is this near to 1 is scaled to it without a word
BEYOND = 100.0  # times what a condition may round off: so far variances may be above targets that are met
MOST_BEYOND = 0.1  # relatively
LOST = 1e-15  # eigenvalues of a covariance that are below this part of its trace
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
    if splits(env):
        split, *noise = split_meaning(instance.program, env)
        return ComponentStrategy(split, m.norm), noise[0], noise[1]
    matrix = np.asarray(evaluate(m.expr, env), dtype=float)
    if m.kind == "strategy":
        # Nobody writes to what a program evaluated: it is not copied.
        return Strategy(frozen(matrix), m.norm), None, None
    basis = np.asarray(env[m.basis], dtype=float)
    # Eigenvalues that are lost in rounding are lifted to it; what that costs, the strategy's figures show.
    noisy = Strategy.from_covariance(psd_floor(matrix, LOST / FLOOR * float(np.trace(matrix))), basis)
    return _within_targets(noisy, instance.workload), symmetric_part(matrix), basis


def _within_targets(strategy: Strategy, workload: Workload) -> Strategy:
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
    return Strategy(frozen(strategy.matrix * np.sqrt(worst * (1.0 + off))), strategy.norm)


def _variances_at_most(strategy: Strategy, workload: Workload) -> Array:
    """Variances (m,) of all queries with what their evaluation may have rounded off."""
    inverse, found = pseudo_inverse(exact(strategy.matrix)), []
    for start in range(0, workload.m, HEIGHT):
        seen = matmul(exact(workload.queries[start : start + HEIGHT]), inverse)
        found.append(dots(seen, seen, axis=1).upper)
    return np.concatenate(found)


def own_sensitivity(
    instance: Instance, env: Mapping[str, Any], multipliers: Mapping[str, Any], objective: float
) -> float | None:
    """The largest column norm of the strategy as the author's program means it, where that is not 1.

    For a covariance: where its square, the privacy cost, is not the objective either.

    To be measured, a strategy is scaled to 1. Where that changes it, the program's lines do not bound column
    norms, or not by 1, and do not hold for what is measured. Shipped programs say what they bound.
    """
    m = instance.program.meaning
    if is_shipped(instance.checked.written, meaning=True):
        return None
    found = float(_meant(instance, {**env, **named_multipliers(instance, multipliers)})[0].sensitivity)
    is_meant = abs(found - 1.0) <= SCALED or (
        m.kind == "covariance" and abs(found**2 - objective) <= 2 * SCALED * abs(objective)
    )
    return None if is_meant else found


def _without_rounding(strategy: AnyStrategy, workload: Workload) -> AnyStrategy:
    """The strategy without directions that are rounding next to the others, if the queries can do without.

    Of a difference that is zero but for rounding the answers would have the noise, divided by rounding.
    """
    if not isinstance(strategy, Strategy) or strategy.largest_condition * NOTHING <= 1.0:
        return strategy
    values, rows = svd(strategy.matrix)
    known = rows[values > NOTHING * values[0]]
    rest = normalise(Strategy(frozen((strategy.matrix @ known.T) @ known), strategy.norm))
    return rest if rest.supports(workload) else strategy


def charged_error(strategy: AnyStrategy, workload: Workload) -> float:
    """Total error with what its evaluation may have rounded off; infinity for an unsupported workload."""
    return strategy.total_error(workload) * (1.0 + rounding(strategy, workload))


def rounding(strategy: AnyStrategy, workload: Workload) -> float:
    """What the evaluation of total error may have rounded off, relatively."""
    if PER_CONDITION * strategy.largest_condition <= ROUNDING:
        return ROUNDING
    return max(ROUNDING, PER_CONDITION * strategy.condition(workload))


def rmse(strategy: AnyStrategy, workload: Workload) -> float:
    """√(total unweighted squared error / m) at unit noise per unit of sensitivity."""
    return strategy.sensitivity * float(np.sqrt(strategy.mean_variance(workload)))


def value_of(instance: Instance, env: Mapping[str, Any], objective: float) -> float:
    """The objective on the common scale of the program's formulations."""
    expr = instance.program.value
    return objective if expr is None else float(evaluate(expr, {**env, "objective": objective}))


def _bases(instance: Instance) -> dict[str, Value]:
    """Rows that the program took from the workload, which does not determine them uniquely."""
    program, workload = instance.program, instance.workload
    used = {d.source for d in program.givens if d.name not in instance.own}
    found: dict[str, Value] = {}
    if splits(instance.env):
        for name in (d.name for d in program.givens if d.source == "workload.basis"):
            own = instance.env[name]
            # The rows of a part that has all dimensions are those of the identity.
            if isinstance(own, Split) and own.rows.dims != own.columns.dims:
                found["basis"] = own
        return found
    # Over all cells the basis is the identity.
    if used & {"workload.basis", "workload.representation"} and workload.rank < workload.n:
        found["basis"] = workload.basis
    if "workload.eigenqueries" in used:
        found["eigenqueries"] = workload.eigenqueries
    return found


def _own_bound(
    instance: Instance, bound: float | None, multipliers: Mapping[str, Any]
) -> tuple[float, Any] | None:
    """The bound where it is already one on total error over all strategies: of l2_strategy itself."""
    if bound is None or "sensitivity" not in multipliers or not bounds_error(instance):
        return None
    named = named_multipliers(instance, multipliers)
    return (bound, as_value(named["d"])) if "d" in named else None


def assemble(
    instance: Instance,
    env: Mapping[str, Any],
    *,
    objective: float,
    proved: bool,
    bound: float | None,
    status: Status,
    solver: tuple[str, str],
    options: Mapping[str, float | int | bool | str | None],
    iterations: int,
    seconds: Mapping[str, float],
    multipliers: Mapping[str, Any],
    scaling: Mapping[str, float],
    warnings: tuple[str, ...] = (),
    steps: Mapping[str, Solution] | None = None,
    history: Sequence[Mapping[str, float]] = (),
    measured: Strategy | None = None,
    starts: Sequence[Array] = (),
    raw: Mapping[str, Any] | None = None,
) -> Solution:
    """Put a solution together; total error and its bound are computed here, for every program.

    Of a point by component the solution is by component too.

    ``measured`` is a strategy equal to the point's meaning up to a rotation of its rows, to be kept in its
    place; ``starts`` are further multipliers (n,) for the bound on total error. ``proved``: whether the
    objective is a value with an error bound. ``raw`` is the point as it came, before any repair.

    Raises
    ------
    SolverError : a strategy that does not support the workload.
    ContradictionError : two figures that cannot both be right, such as a claimed bound above the objective of
        a feasible point.
    """
    program, workload = instance.program, instance.workload
    strategy, covariance, basis = meaning(instance, env, multipliers)
    if measured is not None:
        strategy = measured if covariance is None else _within_targets(measured, workload)
    else:
        meant, strategy = strategy, _without_rounding(strategy, workload)
        # With a direction that is rounding the objective is another one, or hangs on its noise.
        proved = proved and strategy is meant
    variables = {d.name: as_value(env[d.name]) for d in program.choose}
    value = value_of(instance, env, objective)
    sensitivity = own_sensitivity(instance, env, multipliers, objective)
    if sensitivity is not None:
        warnings = (*warnings, own_scale(program.name, sensitivity, covariance is not None))
    del env  # of large matrices, if nobody else holds them, before others are made
    error = charged_error(strategy, workload)
    if not (np.isfinite(error) and np.isfinite(objective)):
        raise SolverError(
            f"the point of '{program.name}' does not support the workload: W A⁺ A differs from W",
            hint="ask for a smaller tolerance, or use another solver",
        )
    root_mean_square = rmse(strategy, workload)
    known = _own_bound(instance, bound, multipliers)
    best: Value
    if isinstance(strategy, ComponentStrategy):
        lower, best = known or bound_by_component(workload)
    else:
        duals = [d for d in (np.asarray(m) for m in multipliers.values()) if d.shape == (workload.n,)]
        goal = error / (1.0 + float(options.get("tolerance") or 0.0))
        lower, best = error_bound(workload, strategy, [*duals, *starts], goal=goal, known=known)
    if program.bound == "l2_strategy":
        bound = lower
    off = rounding(strategy, workload)
    objective, error = check_figures(instance, objective, bound, error, lower, off, multipliers, variables)
    grade, tested = grade_of(instance, bound), 0
    if bound is not None and grade == "claimed":
        points = {"the solver's point": raw or {}, "the repaired point": variables}
        tested = survived(instance, bound, multipliers, {name: p for name, p in points.items() if p})
    return Solution(
        program=program.name,
        title=program.title,
        cite=program.cite,
        solver=solver[0],
        solver_version=solver[1],
        status=replace(status, bound_valid=grade == "proved"),
        objective=objective,
        bound=bound,
        error=error,
        error_bound=lower,
        sensitivity=strategy.sensitivity,
        rmse=root_mean_square,
        strategy=strategy,
        variables=variables,
        multipliers={name: as_value(value) for name, value in multipliers.items()},
        error_multipliers=best,
        value=value,
        iterations=iterations,
        seconds=dict(seconds),
        options=dict(options),
        scaling=dict(scaling),
        workload_hash=workload.hash,
        program_text=program.text,
        covariance=covariance,
        basis=basis,
        givens={name: np.asarray(instance.env[name], dtype=float) for name in sorted(instance.own)},
        bases=_bases(instance),
        warnings=warnings,
        sense=program.sense,
        history=tuple(history),
        steps=steps or {},
        objective_grade=objective_grade(instance, proved),
        bound_grade=grade,
        error_bound_grade="proved",
        survived=tested,
        own_sensitivity=sensitivity,
    )


def own_scale(program: str, sensitivity: float, by_targets: bool) -> str:
    """Why a strategy, or the noise of a covariance, is not released."""
    return (
        f"the noise of '{program}' has privacy cost {sensitivity**2:.10g}, which is neither its objective "
        "nor 1, so its lines bound something else than what a row of a table changes, and it cannot be "
        "released"
        if by_targets
        else f"the strategy of '{program}' has largest column norm {sensitivity:.10g}, not 1, so its lines "
        "bound something else than what a row of a table changes: total error, rmse and sensitivity are "
        "those of the strategy scaled to 1, and it cannot be released"
    )
