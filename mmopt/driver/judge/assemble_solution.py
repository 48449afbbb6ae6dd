"""A ``Solution`` from a certified point, or from those of its factors: figures, their grades and checks.

A strategy from anywhere becomes a point of a program, by its section ``from strategy``.
Figures that contradict each other are refused, such as a bound above the objective of a feasible point.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from mmopt.compiler import Instance, is_shipped
from mmopt.driver.accepted_options_and_inputs import checked_strategy, norm_of, open_strategy
from mmopt.driver.judge.charge_rounded_queries import is_estimated
from mmopt.driver.judge.derived_bound import Derived, shown_terms
from mmopt.driver.judge.score_and_meaning import (
    BOUND_ROUNDING,
    REPORT,
    Candidate,
    RefutedError,
    charged,
    charged_error,
    gap_of,
    meaning,
    named_multipliers,
    own_sensitivity,
    refuted,
    rounding_of_error,
    try_to_refute,
    within_targets,
    without_rounding,
)
from mmopt.driver.judge.total_error_bound import bound_in_form, error_bound
from mmopt.errors import ContradictionError, OptionError, SolverError, UndecidedError
from mmopt.language import (
    Adoption,
    Assignment,
    Program,
    evaluate,
    program_names,
    shipped,
    splits,
)
from mmopt.limits import Stop
from mmopt.numerics import Array, Split, as_value, times_down, times_up
from mmopt.results import Grade, Solution, Status, Value, of_factors, weakest, why_not_released
from mmopt.solvers import Options
from mmopt.strategies import ADD_REMOVE, AnyStrategy, ComponentStrategy, Strategy, StrategyOfFew, as_dense
from mmopt.workloads import Workload


def adopting_programs(norm: int | None = None) -> list[str]:
    """The shipped programs with 'from strategy', first those whose strategies are for total error."""
    able = [p for p in map(Program.load, program_names()) if p.adoption and norm in (None, p.meaning.norm)]
    return [p.name for p in sorted(able, key=lambda p: (p.bound != "l2_strategy", p.name))]


def _adoption(program: Program) -> Adoption:
    """The section of a program that makes a strategy its point; OptionError without one."""
    if program.adoption is None:
        raise OptionError(
            f"'{program.name}' has no section 'from strategy', which says how a strategy becomes its point",
            hint=f"these have one: {', '.join(adopting_programs())}",
        )
    return program.adoption


def check_adopts(program: Program, norm: int | None) -> None:
    """Refuse a program that cannot take a strategy, or takes one of another norm (None: any)."""
    _adoption(program)
    if norm not in (None, program.meaning.norm):
        able = ", ".join(adopting_programs(norm)) or "none that is shipped"
        raise OptionError(
            f"'{program.name}' is about strategies of norm {program.meaning.norm}, this one has norm {norm}",
            hint=f"for norm {norm}: {able}",
        )


def row_parameter(program: Program, strategy: Strategy) -> dict[str, int]:
    """The strategy's number of rows, where that is a parameter of the program."""
    rows = _adoption(program).strategy.dims[0].name
    return {p.name: strategy.p for p in program.parameters if p.name == rows}


def adopt(instance: Instance, strategy: Strategy) -> dict[str, Array]:
    """The chosen variables by 'from strategy'; those that only the repair sets are zero.

    A strategy of fewer rows than in the program gets rows of zeros.

    Raises
    ------
    OptionError : the strategy has more rows than in the program.
    """
    program, sizes = instance.program, instance.sizes()
    adoption = _adoption(program)
    rows = adoption.strategy.dims[0]
    count = rows.value(sizes) if rows.symbols <= set(sizes) else strategy.p
    if strategy.p > count:
        raise OptionError(f"the strategy has {strategy.p} rows; {rows} is {count} in '{program.name}'")
    env: dict[str, Any] = {
        **instance.env,
        adoption.strategy.name: np.pad(strategy.matrix, ((0, count - strategy.p), (0, 0))),
    }
    if rows.name:
        env[rows.name] = count
    values = {n: np.asarray(v, dtype=float) for n, v in assigned_values(adoption.values, env).items()}
    for d in program.choose:
        values.setdefault(d.name, np.zeros(d.shape(sizes)))
    return values


def assigned_values(assignments: Iterable[Assignment], env: Mapping[str, Any]) -> dict[str, Any]:
    """The values of assignments; a later one may use an earlier one."""
    values: dict[str, Any] = {}
    for assignment in assignments:
        values[assignment.name] = evaluate(assignment.expr, {**env, **values})
    return values


def start_strategy(
    start: Any, program: Program, workload: Workload, overrides: Mapping[str, Any]
) -> Strategy:
    """The strategy that ``solve(start=...)`` names.

    Raises
    ------
    OptionError : a program without 'from strategy'; ``starts`` or ``seed`` with ``start``; a strategy of
        another norm or number of cells, or that does not support the workload.
    """
    for option in ("starts", "seed"):
        if option in overrides:
            raise OptionError(f"'{option}' has no effect with 'start': the search starts from there alone")
    norm = program.meaning.norm
    given = open_strategy(start, workload, norm)
    check_adopts(program, norm_of(given))
    return checked_strategy(workload, given, None, None, norm)


Row = Mapping[str, float | bool]  # of a history
Stage = Mapping[str, float | int | bool | str | None]  # of a solve: ``Solution.stages``


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
        proper = [b for b in rows if isinstance(b, Split) and b.rows.dims != b.columns.dims]
        return {"basis": proper[-1]} if proper else {}
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
    stages : what was done, in its order.
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
    stages: Sequence[Stage] = ()


def _measured_strategy(
    instance: Instance, env: Mapping[str, Any], ending: Ending
) -> tuple[AnyStrategy, Value | None, Value | None, bool]:
    """The strategy to measure, covariance and basis where the program has them, and whether the objective of
    that strategy is proved."""
    strategy, covariance, basis = meaning(instance, env, ending.multipliers)
    if (measured := ending.measured) is not None:
        measured = measured if covariance is None else within_targets(measured, instance.workload)
        return measured, covariance, basis, ending.proved
    clean = without_rounding(strategy, instance.workload)
    # With a direction that is rounding the objective is another one, or depends on its noise.
    return clean, covariance, basis, ending.proved and clean is strategy


def _error_bound(instance: Instance, strategy: AnyStrategy, goal: float, ending: Ending) -> tuple[float, Any]:
    """A bound on total error over all strategies, with its multipliers; ``goal``: a bound that suffices."""
    workload, multipliers, certified = instance.workload, ending.multipliers, None
    if ending.bound is not None and "sensitivity" in multipliers and _bounds_total_error(instance):
        named = named_multipliers(instance, multipliers)  # the bound of the program is one already
        certified = (ending.bound, as_value(named["d"])) if "d" in named else None
    if isinstance(strategy, ComponentStrategy | StrategyOfFew):
        return certified or bound_in_form(workload, type(strategy))
    if certified is None and instance.error_bound is not None:
        return instance.error_bound
    duals = [d for d in map(np.asarray, multipliers.values()) if d.shape == (workload.n,)]
    return error_bound(workload, as_dense(strategy), [*duals, *ending.starts], goal=goal, earlier=certified)


NO_ESTIMATE = 0.01  # a figure that is off by more than this, relatively, is no estimate


def _is_replaced(instance: Instance) -> bool:
    """Whether the caller passed a given in place of the workload.

    Design queries are not such a given, nor are data that only the caller has: of a given without a source.
    """
    return not _passed(instance) <= {"", "workload.eigenqueries"}


def _passed(instance: Instance) -> set[str]:
    """The sources of the givens that the caller passed."""
    return {d.source for d in instance.program.givens if d.name in instance.passed}


def objective_grade(instance: Instance, proved: bool) -> Grade:
    """The grade of an objective: one for other queries or targets than the workload's is not proved."""
    return "claimed" if _is_replaced(instance) else "proved" if proved else "estimated"


def grade_of(instance: Instance, bound: float | None) -> Grade | None:
    """The grade of a bound; None without one.

    Where the caller replaces the workload, a bound for it is not proved: the bound may be that of another
    program, which is for the workload, and for the neighbours of the strategy that is meant.
    """
    if (
        bound is None
        or not is_shipped(instance.checked, meaning=bool(instance.program.bound))
        or _is_replaced(instance)
    ):
        return None if bound is None else "claimed"
    return "estimated" if is_estimated(instance) else "proved"


def _bounds_total_error(instance: Instance) -> bool:
    """Whether the certificate is l2_strategy's, so that its value is a lower bound on total error."""
    program, l2_program = instance.program, shipped("l2_strategy").written
    same = all(getattr(program, n) == getattr(l2_program, n) for n in ("givens", "certificate", "sense"))
    return same and not instance.passed and not program.lets


def _is_total_error(instance: Instance) -> bool:
    """Whether no feasible objective can be below the total error of the point's strategy.

    This holds for ``l2_strategy``, and for programs with its bound, for neighbours by single rows.
    """
    program = instance.program
    if instance.neighbours != ADD_REMOVE:
        return False
    is_same_error = _passed(instance) <= {"workload.eigenqueries"}  # other data may mean another error
    return (
        (_bounds_total_error(instance) or (program.bound == "l2_strategy" and is_same_error))
        and program.meaning.kind == "strategy"
        and program.sense == "minimize"
    )


def check_derived(instance: Instance, objective: float, bound: float | None) -> None:
    """Refuse a derived bound beyond the objective of a feasible point, charged (ContradictionError)."""
    program = instance.program
    if refuted(objective, bound, program.sense):
        side = "above" if program.sense == "minimize" else "below"
        raise ContradictionError(
            f"the bound {bound:.10g} derived for '{program.name}' is {side} the objective {objective:.10g} "
            "of the repaired point, which is feasible",
            hint=REPORT,
        )


def check_figures(
    instance: Instance,
    objective: float,
    bound: float | None,
    error: float,
    error_bound: float,
    rounding_of_error: float,
    multipliers: Mapping[str, Any],
    variables: Mapping[str, Any],
) -> tuple[float, float]:
    """The objective and the error, no better than their bounds: a difference of rounding is removed.

    ``rounding_of_error`` : of the evaluation of the error, relatively.

    Raises
    ------
    ContradictionError : an objective or an error is beyond its bound, or an objective that is total error is
        below that of the strategy.
    """
    program = instance.program
    if bound is not None:
        if refuted(objective, bound, program.sense):
            if program.certificate is None and not program.bound:
                check_derived(instance, objective, bound)
            raise RefutedError(
                instance,
                multipliers,
                bound,
                Candidate(variables, {}, objective, 0.0, 0.0),
                "the repaired point",
            )
        objective = max(objective, bound) if program.sense == "minimize" else min(objective, bound)
    if refuted(error, error_bound, "minimize"):
        raise ContradictionError(
            f"the bound {error_bound:.10g} on the error of all strategies is above the total error "
            f"{error:.10g} of the strategy of '{program.name}'",
            hint=REPORT,
        )
    if _is_total_error(instance) and _is_below(objective, error, rounding_of_error):
        raise ContradictionError(
            f"the objective {objective:.10g} of '{program.name}' should be total error, and is below that of "
            f"its own strategy, {error:.10g}",
            hint="is the objective total error, at the scale at which the strategy has sensitivity 1?",
        )
    return objective, max(error, error_bound)


def _is_below(objective: float, error: float, rounding_of_error: float) -> bool:
    """Whether an objective is below an error by more than rounding, of the error or in general."""
    return objective < error * (1.0 - BOUND_ROUNDING - min(2.0 * rounding_of_error, NO_ESTIMATE))


def understates_error(instance: Instance, point: Candidate) -> bool:
    """Whether a feasible point's objective, which should be total error, is below that of its strategy.

    This may happen at the end of a search: the inverse of a nearly singular matrix leaves out directions that
    the queries need.
    """
    if not (point.is_feasible and _is_total_error(instance)):
        return False
    strategy = without_rounding(meaning(instance, point.env)[0], instance.workload)
    return _is_below(
        point.objective,
        charged_error(strategy, instance.workload),
        rounding_of_error(strategy, instance.workload),
    )


MOST_CHARGED = 0.1  # of the objective: a point whose hidden misses are worth more is no solution
MOST_ROWS = 1000  # of a history: a first-order method counts many more iterations


def _kept_rows(history: Sequence[Row]) -> list[Row]:
    """All rows, but where a solver's uncertified ones are many, only some of these, evenly spaced."""
    uncertified = [i for i, row in enumerate(history) if row.get("certified") is False]
    chosen = {
        uncertified[i]
        for i in np.linspace(0, len(uncertified) - 1, min(len(uncertified), MOST_ROWS)).astype(int)
    }
    return [row for i, row in enumerate(history) if row.get("certified") is not False or i in chosen]


def assemble_solution(instance: Instance, env: Mapping[str, Any], ending: Ending) -> Solution:
    """The solution of a point: its strategy, total error and the bound on that are computed here.

    Figures that contradict each other by no more than the point's violations are charged to the objective,
    and a claimed bound is tried on feasible points. ``env`` has the point's values; where these are by
    component, the solution's are too.

    Raises
    ------
    SolverError : a strategy that does not support the workload.
    ContradictionError : two figures that cannot both be right, such as a claimed bound above the objective of
        a feasible point.
    UndecidedError : a point that counts as feasible far out, and is proved to be none.
    """
    started = time.monotonic()
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
            before, at_point = objective, Candidate(variables, env, objective, 0.0, 0.0)
            objective = charged(instance, at_point, at, rounded=True).objective
            # Near a line without slope no multiplier is large enough: the bound holds at feasible points.
            if derived is not None and limit is not None and limit == derived.bound and not ending.proved:
                objective = (max if program.sense == "minimize" else min)(objective, limit)
                if abs(objective - before) > MOST_CHARGED * max(1.0, abs(before)):
                    raise UndecidedError(
                        f"whether '{program.name}' has a feasible point was not decided: the nearest point "
                        f"found has the objective {before:.4g}, and misses that rounding hides may be worth "
                        f"{abs(objective - before):.2g}",
                        hint="bound the variables, or choose units in which the numbers are near 1",
                    )
            gap = gap_of(instance.checked, objective, limit)
            is_reached = gap is not None and gap <= float(options.get("tolerance") or 0.0)
            stop = Stop.MISSED if stop == Stop.REACHED and not is_reached else stop
    strategy, covariance, basis, proved = _measured_strategy(instance, env, ending)
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
    grade, tested = grade_of(instance, bound), 0
    if derived is not None:
        check_derived(instance, objective, derived.bound)
        bound, grade = (derived.bound, derived.grade) if bound is None else (bound, grade)
    objective, error = check_figures(
        instance,
        objective,
        bound,
        error,
        lower,
        rounding_of_error(strategy, workload),
        multipliers,
        variables,
    )
    if bound is not None and grade == "claimed":
        points = {"the solver's point": ending.unrepaired or {}, "the repaired point": variables}
        tested = try_to_refute(instance, bound, multipliers, {name: p for name, p in points.items() if p})
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
        history=tuple(_kept_rows(ending.history)),
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
        derived_from={} if derived is None else derived.saved,
        stages=(
            *ending.stages,
            *({"stage": "term", **term} for term in shown_terms(derived.terms if derived else ())),
            {"stage": "figures", "seconds": time.monotonic() - started},
        ),
    )


def combine_factors(workload_hash: str, factors: Mapping[str, Solution]) -> Solution:
    """Put the solutions of the factors together, each number rounded to its safe side.

    A minimised objective and the error are rounded up, their bounds down; a maximised objective down, its
    bound up. The history is empty; solver and times are the first factor's until the caller replaces them.
    """
    each = list(factors.values())
    first, minimized = each[0], each[0].sense == "minimize"

    def product(name: str, up: bool) -> float:
        return float(reduce(times_up if up else times_down, [getattr(s, name) for s in each]))

    is_bounded = all(s.bound is not None and s.bound >= 0.0 for s in each)
    grades = [s.bound_grade for s in each if s.bound_grade is not None]
    sensitivities, joined = [s.own_sensitivity for s in each], of_factors(factors)
    grade = weakest(*grades) if is_bounded else None
    return replace(
        first,
        **joined,
        status=Status(
            first.status.stop,
            all(s.status.feasible for s in each),
            max(s.status.violation for s in each),
            grade == "proved",
            first.status.raw,
        ),
        objective=product("objective", up=minimized),
        bound=product("bound", up=not minimized) if is_bounded else None,
        error=product("error", up=True),
        error_bound=product("error_bound", up=False),
        sensitivity=joined["strategy"].sensitivity,
        rmse=product("rmse", up=True),
        value=math.prod(s.value for s in each),
        scaling={},
        workload_hash=workload_hash,
        history=(),
        stages=(),
        warnings=(),
        steps=dict(factors),
        objective_grade=weakest(*(s.objective_grade for s in each)),
        bound_grade=grade,
        survived=min(s.survived for s in each),
        own_sensitivity=None
        if sensitivities == [None] * len(sensitivities)
        else math.prod(one or 1.0 for one in sensitivities),
        derived_bound=None,
        derived_grade=None,
        derived_from={},
    )
