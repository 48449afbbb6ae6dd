"""Assembling a ``Solution`` from a certified point: its strategy, cost and bound."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.judge.check_claims import (
    bounds_error,
    check_derived,
    check_figures,
    grade_of,
    objective_grade,
    refuted,
    survived,
)
from mmopt.driver.judge.proved_bounds import (
    Derived,
    bound_in_form,
    error_bound,
)
from mmopt.driver.judge.score_point import (
    Candidate,
    charged,
    charged_error,
    gap_of,
    meaning,
    named_multipliers,
    own_sensitivity,
    rounding,
    within_targets,
    without_rounding,
)
from mmopt.errors import SolverError
from mmopt.language import evaluate
from mmopt.language.evaluate.number_systems import splits
from mmopt.numerics.arrays import Array
from mmopt.numerics.component_arrays import Split, as_value
from mmopt.reasons_to_stop import Stop
from mmopt.results import Solution, Status, why_not_released
from mmopt.results.saved_fields import Value
from mmopt.solvers import Options
from mmopt.strategies import (
    AnyStrategy,
    ComponentStrategy,
    Strategy,
    StrategyOfFew,
    as_dense,
)

Row = Mapping[str, float | bool]  # of a history


def value_of(instance: Instance, env: Mapping[str, Any], objective: float) -> float:
    """The objective on the common scale of the program's formulations."""
    expr = instance.program.value
    return objective if expr is None else float(evaluate(expr, {**env, "objective": objective}))


def _bases(instance: Instance) -> dict[str, Value]:
    """The rows that the program took from the workload, which does not determine them uniquely."""
    program, workload = instance.program, instance.workload
    used = {d.source for d in program.givens if d.name not in instance.passed}
    if splits(instance.env):
        rows = (instance.env[d.name] for d in program.givens if d.source == "workload.basis")
        # The rows of a part that has all dimensions are those of the identity.
        taken = [b for b in rows if isinstance(b, Split) and b.rows.dims != b.columns.dims]
        return {"basis": taken[-1]} if taken else {}
    bases: dict[str, Value] = {}
    # Over all cells the basis is the identity.
    if used & {"workload.basis", "workload.representation"} and workload.rank < workload.n:
        bases["basis"] = workload.basis
    if "workload.eigenqueries" in used:
        bases["eigenqueries"] = workload.eigenqueries
    return bases


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The result of a solve, from which a Solution is put together.

    objective, proved : of the repaired point, and whether it is a value with an error bound. bound : on it,
        at the ``multipliers``. unrepaired : the point before the repair.
    stop, word : the reason for the end, and the solver's word for that. violation : of the unrepaired point.
    solver : name and version. compile, solve : seconds.
    measured : a strategy equal to the point's meaning up to a rotation of its rows, to be kept in its place.
    starts : further multipliers (n,) for the bound on total error.
    derived : a bound read off the program's lines; the bound of a program that has no other.
    """

    objective: float
    proved: bool
    bound: float | None
    stop: str
    solver: tuple[str, str]
    word: str
    feasible: bool = True
    violation: float = 0.0
    options: Options | Mapping[str, float | int | bool | str | None]
    iterations: int | None = 0
    compile: float = 0.0
    solve: float = 0.0
    multipliers: Mapping[str, Any] = field(default_factory=dict)
    scaling: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    steps: Mapping[str, Solution] = field(default_factory=dict)
    history: Sequence[Row] = ()
    reductions: tuple[str, ...] = ()
    measured: Strategy | None = None
    starts: Sequence[Array] = ()
    unrepaired: Mapping[str, Any] | None = None
    derived: Derived | None = None


def _measured(
    instance: Instance, env: Mapping[str, Any], ending: Ending
) -> tuple[AnyStrategy, Value | None, Value | None, bool]:
    """The strategy to measure, covariance and basis where the program has them, and whether the objective of
    that strategy is proved."""
    strategy, covariance, basis = meaning(instance, env, ending.multipliers)
    if (kept := ending.measured) is not None:
        kept = kept if covariance is None else within_targets(kept, instance.workload)
        return kept, covariance, basis, ending.proved
    clean = without_rounding(strategy, instance.workload)
    # With a direction that is rounding the objective is another one, or depends on its noise.
    return clean, covariance, basis, ending.proved and clean is strategy


def _error_bound(instance: Instance, strategy: AnyStrategy, goal: float, ending: Ending) -> tuple[float, Any]:
    """A bound on total error over all strategies, with its multipliers; ``goal``: a bound that suffices."""
    workload, multipliers, certified = instance.workload, ending.multipliers, None
    if ending.bound is not None and "sensitivity" in multipliers and bounds_error(instance):
        named = named_multipliers(instance, multipliers)  # the bound of the program is one already
        certified = (ending.bound, as_value(named["d"])) if "d" in named else None
    if isinstance(strategy, ComponentStrategy | StrategyOfFew):
        return certified or bound_in_form(workload, type(strategy))
    if certified is None and instance.error_bound is not None:
        return instance.error_bound
    duals = [d for d in map(np.asarray, multipliers.values()) if d.shape == (workload.n,)]
    return error_bound(workload, as_dense(strategy), [*duals, *ending.starts], goal=goal, earlier=certified)


MOST_ROWS = 1000  # of a history: a first-order method counts many more iterations


def _kept(history: Sequence[Row]) -> list[Row]:
    """All rows, but where a solver's uncertified ones are many, only some of these, evenly spaced."""
    uncertified = [i for i, row in enumerate(history) if row.get("certified") is False]
    chosen = {
        uncertified[i]
        for i in np.linspace(0, len(uncertified) - 1, min(len(uncertified), MOST_ROWS)).astype(int)
    }
    return [row for i, row in enumerate(history) if row.get("certified") is not False or i in chosen]


def assemble(instance: Instance, env: Mapping[str, Any], ending: Ending) -> Solution:
    """The solution of a point: its strategy, total error and the bound on that are computed here.

    Figures that contradict each other by no more than the point's violations are charged to the objective,
    and a claimed bound is tried on feasible points. ``env`` has the point's values; where these are by
    component, the solution's are too.

    Raises
    ------
    SolverError : a strategy that does not support the workload.
    ContradictionError : two figures that cannot both be right, such as a claimed bound above the objective of
        a feasible point.
    """
    objective, bound, multipliers, warnings = (
        ending.objective,
        ending.bound,
        ending.multipliers,
        ending.warnings,
    )
    options = asdict(ending.options) if isinstance(ending.options, Options) else dict(ending.options)
    options.pop("history", None)  # a field of its own
    program, workload = instance.program, instance.workload
    variables = {d.name: as_value(env[d.name]) for d in program.choose}
    derived, stop = ending.derived, ending.stop
    for limit, at in [(bound, multipliers), *([(derived.bound, derived.multipliers)] if derived else [])]:
        if refuted(objective, limit, program.sense):  # by weak duality, by no more than what the point misses
            objective = charged(
                instance, Candidate(variables, env, objective, 0.0, 0.0), at, rounded=True
            ).objective
            gap = gap_of(instance.checked, objective, limit)
            is_reached = gap is not None and gap <= float(options.get("tolerance") or 0.0)
            stop = Stop.MISSED if stop == Stop.REACHED and not is_reached else stop
    strategy, covariance, basis, proved = _measured(instance, env, ending)
    value = value_of(instance, env, objective)
    if (sensitivity := own_sensitivity(instance, env, multipliers, objective)) is not None:
        why = why_not_released(program.name, sensitivity, covariance is not None, instance.neighbours)
        warnings = (*warnings, why)
    del env  # frees large matrices, if nothing else holds them, before others are made
    error = charged_error(strategy, workload)
    if not (np.isfinite(error) and np.isfinite(objective)):
        raise SolverError(
            f"the point of '{program.name}' does not support the workload: W A⁺ A differs from W",
            hint="ask for a smaller tolerance, or use another solver",
        )
    root_mean_square = strategy.rmse(workload)
    lower, best = _error_bound(
        instance, strategy, error / (1.0 + float(options.get("tolerance") or 0.0)), ending
    )
    bound = lower if program.bound == "l2_strategy" else bound
    if derived is not None:
        check_derived(instance, objective, derived.bound)
    is_own = bound is not None or derived is None
    bound = bound if derived is None or is_own else derived.bound
    objective, error = check_figures(
        instance, objective, bound, error, lower, rounding(strategy, workload), multipliers, variables
    )
    grade, tested = grade_of(instance, bound) if derived is None or is_own else derived.grade, 0
    if bound is not None and grade == "claimed":
        points = {"the solver's point": ending.unrepaired or {}, "the repaired point": variables}
        tested = survived(instance, bound, multipliers, {name: p for name, p in points.items() if p})
    return Solution(
        program=program.name,
        title=program.title,
        cite=program.cite,
        solver=str(ending.solver[0]),
        solver_version=ending.solver[1],
        status=Status(str(stop), ending.feasible, ending.violation, grade == "proved", str(ending.word)),
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
        iterations=ending.iterations,
        seconds={"compile": ending.compile, "solve": ending.solve, "total": 0.0},
        options=options,
        scaling=dict(ending.scaling),
        workload_hash=workload.hash,
        program_text=program.text,
        covariance=covariance,
        basis=basis,
        givens={name: np.asarray(instance.env[name], dtype=float) for name in sorted(instance.passed)},
        bases=_bases(instance),
        warnings=warnings,
        sense=program.sense,
        is_logarithmic=instance.checked.is_logarithmic,
        history=tuple(_kept(ending.history)),
        reductions=ending.reductions,
        steps=ending.steps,
        objective_grade=objective_grade(instance, proved),
        bound_grade=grade,
        error_bound_grade="proved",
        survived=tested,
        own_sensitivity=sensitivity,
        has_strategy=program.meaning.kind != "none",
        derived_bound=None if derived is None else derived.bound,
        derived_grade=None if derived is None else derived.grade,
        derived_from={} if derived is None else derived.kept,
    )
