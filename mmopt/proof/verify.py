"""``mmopt.verify``: a saved solution rechecked, figure by figure; products factor by factor."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.accepted_options_and_inputs import workload_for
from mmopt.driver.judge.assemble_solution import combine_factors
from mmopt.driver.solve_and_tune import solve_closed, solve_procedure
from mmopt.driver.task_and_plan import SolvePlan, Task, plan_in_factors
from mmopt.errors import OptionError, ResultError
from mmopt.language import Checked, Program, program_names
from mmopt.numerics import Kronecker, blas_threads
from mmopt.proof.recheck import CheckRows, Recheck, feasible_or_not, recheck_template, same_arrays
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import Check, Solution, Verification, shown
from mmopt.workloads import Workload

# The figures of a product that follow from its factors, with their words where these are not their names.
FIGURES = {
    "objective": "",
    "bound": "",
    "own_sensitivity": "own sensitivity",
    "value": "",
    "sensitivity": "",
    "error": "total error",
    "error_bound": "error bound",
    "rmse": "",
}


def recheck_product(
    work: Recheck, checked: Checked, checks: Callable[[Solution, Workload, Program, str], list[Check]]
) -> None:
    """Verify the factors by ``checks``, and recompute every figure of the whole from theirs.

    Whether the whole is the product of its factors is decided anew, from the program's tree and the workload.
    """
    s, rows = work.solution, work.rows
    stated = ", ".join(s.steps)
    plan = rows.tried("factors", stated, lambda: plan_in_factors(checked, work.workload, s.givens))
    factors = {} if plan is None else plan.factors
    words = ", ".join(factors) or "no product of factors"
    if not rows.add("factors", stated, words, bool(factors) and list(s.steps) == list(factors)):
        return
    holds = True
    for name, part in factors.items():
        step = s.steps[name]
        factor_rows = CheckRows(
            checks(step, part.instance.workload, checked.written, "the program of the whole")
        )
        factor_rows.same(
            "givens", ", ".join(step.givens), same_arrays(step.givens, s.givens), "those of the whole"
        )
        holds = rows.below(name, factor_rows) and holds
    if not holds:
        return
    whole = combine_factors(work.workload.hash, s.steps)
    rows.same("values", stated, _values(s) == _values(whole), "those of the factors")
    agree = same_arrays(*(one.strategy.fields()["factors"]["0"] for one in (s, whole)))
    rows.same("strategy", repr(s.strategy), agree, "that of the factors")
    words = feasible_or_not(whole.status.feasible)
    rows.add(
        "feasible", feasible_or_not(s.status.feasible), words, s.status.feasible == whole.status.feasible
    )
    for field, what in FIGURES.items():
        holds = field != "error_bound" or s.error_bound <= s.error
        rows.figure(field, getattr(s, field), partial(getattr, whole, field), holds, what)
    work.gap(whole.gap)
    work.grades((whole.objective_grade, whole.bound_grade, whole.error_grade, whole.error_bound_grade))
    work.status()
    is_same = s.has_strategy == whole.has_strategy and s.derived_bound is None and not s.derived_from
    rows.same("has_strategy", str(s.has_strategy), is_same, "as of the factors")


def _values(s: Solution) -> list[tuple[str, tuple[int, ...]]]:
    """The values of factors, by their identity, that each value of the whole is made of."""
    alone = ("error_multipliers", "covariance", "basis")
    named = [*s.variables.items(), *s.multipliers.items(), *((name, getattr(s, name)) for name in alone)]
    return [(name, tuple(map(id, v.parts))) for name, v in named if isinstance(v, Kronecker)]


# Fields on which no claim rests: they are the history of the result.
UNCHECKED = (
    "solver",
    "solver_version",
    "status.violation",
    "status.raw",
    "iterations",
    "seconds",
    "options",
    "scaling",
    "history",
    "stages",
    "reductions",
    "warnings",
    "survived",
)


def verify(
    solution: Solution | str | Path,
    workload: "WorkloadLike | None" = None,
    program: str | Path | Program | None = None,
) -> Verification:
    """Recompute every claim of a solution; nothing in it is trusted.

    The workload is compared by its hash; the program's text is parsed, checked and compared with the program
    that is shipped under its name; the variables are evaluated against every constraint; objective, bound
    (from the multipliers), value, total error and its bound, sensitivity and rmse are recomputed, and the
    strategy is compared with the meaning of the variables. The steps of a procedure, and the factors of a
    product, are verified one by one and combined again. None of this needs a solver. A template's strategy is
    evaluated again in its factors; only its bound, whose multipliers are not saved, is searched for anew.

    Parameters
    ----------
    solution : a Solution, a template's strategy in factors, or the path of a saved one.
    workload : the queries that it was solved for, as for ``solve``; None where the program needs none.
    program : the program to compare with, in place of the shipped one of the same name: name, path or parsed.
        Without it a program that is not shipped cannot be told from a changed one.

    Raises
    ------
    ResultError : the file cannot be read as a solution.
    WorkloadError : ``workload`` is no workload.
    OptionError, ProgramError : ``solution`` is no solution; ``program`` is unknown, cannot be read, or is
        given for a strategy in factors.
    """
    if workload is not None:
        workload = as_workload(workload)
    if isinstance(solution, str | Path):
        solution = Solution.load(solution)
    if not isinstance(solution, Solution):
        raise OptionError(
            f"a {type(solution).__name__} is not a solution, expected what solve returned, or its file",
            hint="the solution comes first: verify(solution, workload)",
        )
    saved = Program.parse(solution.program_text) if workload is None and solution.program_text else None
    workload = workload_for(workload, saved)
    expected = Program.load(program) if isinstance(program, str | Path) else program
    with np.errstate(all="ignore"):  # NaN and infinity show in the results
        rows = (recheck_template if solution.template else _checks)(solution, workload, expected)
    unchecked = ["seconds"] if solution.template else [*UNCHECKED]
    if solution.program_text and not solution.steps and all(row.holds for row in rows):
        read = {m.key for m in Program.parse(solution.program_text).multipliers}
        unchecked += [f"multipliers.{name}" for name in solution.multipliers if name not in read]
    return Verification(solution.program, tuple(rows), tuple(unchecked))


def checked_summary(summary: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """A solution's ``summary()`` without its unchecked fields, where a file may say anything."""
    kept = {name: value for name, value in summary.items() if f"{place}{name}" not in UNCHECKED}
    if "status" in kept and not place:
        kept["status"] = checked_summary(kept["status"], "status.")
        kept["steps"] = {name: checked_summary(step) for name, step in kept["steps"].items()}
    return kept


def rechecked(s: Solution, workload: Workload, file: str = "", workload_file: str = "WORKLOAD") -> Solution:
    """Verify a solution before its use for this workload; its figures are those of ``with_worse``.

    Raises
    ------
    ResultError : it is for other queries, or a figure does not hold; the message names the files.
    """
    name, command = f"'{file}'" if file else "the solution", "templates" if s.template else "solve"
    if s.workload_hash != workload.hash:
        raise ResultError(
            f"{name} was solved for another workload: its hash is {s.workload_hash[:16]}…, that of "
            f"'{workload_file}' is {workload.hash[:16]}…",
            hint=f"solve this one: mmopt {command} {workload_file} --out FILE.npz",
        )
    verification = verify(s, workload)
    for row in verification.failures:
        raise ResultError(
            f"{name} does not hold: {row.what} is {shown(row.stated)} in the file, and recomputed "
            f"{shown(row.recomputed)}",
            hint=f"nothing is released; all checks: mmopt verify {file or 'FILE.npz'} {workload_file}",
        )
    return with_worse(s, verification)


def with_worse(s: Solution, verification: Verification, place: str = "") -> Solution:
    """The solution with each figure, also of its steps, as stated or as recomputed, whichever claims less.

    ``verification``: the result of ``verify``, with a row for every figure.
    """
    again = {row.field: row.recomputed for row in verification.rows}
    up, down = (max, min) if s.sense == "minimize" else (min, max)
    picks = {
        "objective": up,
        "value": up,
        "bound": down,
        "derived_bound": down,
        "error": max,
        "error_bound": min,
        "sensitivity": max,
        "rmse": max,
    }
    changed: dict[str, Any] = {
        name: pick(stated, again[place + name])
        for name, pick in picks.items()
        if (stated := getattr(s, name)) is not None and not (s.template and name not in again)
    }
    if s.steps:
        changed["steps"] = {
            name: with_worse(step, verification, f"{place}{name}: ") for name, step in s.steps.items()
        }
    return replace(s, **changed)


def _checks(
    s: Solution, workload: Workload, expected: Program | None, is_what: str = "the program given"
) -> list[Check]:
    """The checks of one solution, up to the first after which no comparison is possible."""
    work = Recheck(s, workload)
    rows = work.rows
    stated, actual = (f"{text[:16]}…" for text in (s.workload_hash, workload.hash))
    if not rows.add("workload", stated, actual, s.workload_hash == workload.hash):
        return rows.checks
    if expected is None and s.program in program_names():
        expected, is_what = Program.load(s.program), "the program that is shipped under this name"
    if (checked := work.program(expected, is_what)) is not None and s.is_in_factors:
        recheck_product(work, checked, _checks)
        return rows.checks
    if checked is None or (instance := work.instance(checked)) is None:
        return rows.checks
    with blas_threads(instance.largest()):
        _check_figures(work, instance)
    return rows.checks


def _check_figures(work: Recheck, instance: Instance) -> None:
    """Check everything that follows from the program with its givens, and recompute it."""
    s, rows = work.solution, work.rows
    if not instance.program.choose:
        _check_evaluated_again(work, instance)
    else:
        if (point := work.point(instance)) is not None:
            work.objective(instance, point)
        if s.steps:
            rows.add(
                "steps", ", ".join(s.steps), f"a {instance.program.problem_class} program has none", False
            )
    has_meaning = instance.program.meaning.kind != "none"
    if not (has_meaning and s.has_strategy):
        rows.add(
            "has_strategy",
            str(s.has_strategy),
            str(has_meaning),
            s.has_strategy == has_meaning,
            "says a strategy",
        )
    work.costs(scaled=instance.program.meaning.kind == "strategy")


def _check_evaluated_again(work: Recheck, instance: Instance) -> None:
    """Check a closed form by evaluating it again, or a procedure by combining its steps again."""
    s, rows = work.solution, work.rows
    if s.variables:
        rows.add("variables", ", ".join(s.variables), "none are chosen", False)
    task, replay = Task(SolvePlan(instance)), partial(_replayed, work, list(s.steps.items()))
    again = rows.tried(
        "steps",
        ", ".join(s.steps),
        lambda: solve_procedure(task, replay) if instance.program.steps else solve_closed(task),
        "cannot be combined",
    )
    if again is None:
        return
    if s.steps or again.steps:
        rows.add("steps", ", ".join(s.steps), ", ".join(again.steps), list(s.steps) == list(again.steps))
        rows.same(
            "multipliers",
            ", ".join(s.multipliers),
            same_arrays(s.multipliers, again.multipliers),
            "those of the last step",
        )
    rows.add("status", s.status.stop, again.status.stop, s.status.stop == again.status.stop)
    holds = s.status.feasible == again.status.feasible
    rows.add("feasible", feasible_or_not(s.status.feasible), feasible_or_not(again.status.feasible), holds)
    objective = rows.figure("objective", s.objective, lambda: again.objective)
    work.bound(objective, again.objective_grade, lambda: again.bound, instance)
    rows.figure("own_sensitivity", s.own_sensitivity, lambda: again.own_sensitivity, what="own sensitivity")
    rows.figure("value", s.value, lambda: again.value)
    work.strategy(again.strategy, again.covariance, again.basis)


def _replayed(work: Recheck, waiting: list[tuple[str, Solution]], task: Task) -> Solution:
    """In place of a solver: the first step that waits, if it holds and its givens are the procedure's."""
    inner = task.instance
    if not waiting:
        raise ResultError(f"a step that solves '{inner.program.name}' is missing")
    name, step = waiting.pop(0)
    checks = CheckRows(
        _checks(step, work.workload, inner.checked.written, "the program that the step solves")
    )
    givens = {n: np.asarray(inner.env[n], dtype=float) for n in inner.passed}
    checks.same("givens", ", ".join(step.givens), same_arrays(step.givens, givens), "those of the procedure")
    if not work.rows.below(name, checks):
        raise ResultError(f"step '{name}' does not hold")
    return replace(step, seconds={"compile": 0.0, "solve": 0.0})
