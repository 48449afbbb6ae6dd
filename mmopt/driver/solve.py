"""``mmopt.solve``: a workload and a program in, a certified solution out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.driver.convex import solve_convex
from mmopt.driver.judge.adopt import adopt, row_parameter, starting
from mmopt.driver.plan import Report, Task, blas_threads, plan_solve
from mmopt.driver.procedure import solve_closed, solve_procedure
from mmopt.driver.search.rank import solve_rank
from mmopt.driver.search.smooth import solve_smooth
from mmopt.errors import OptionError, SolverError, WorkloadError
from mmopt.language import Program
from mmopt.limits import deadline
from mmopt.results import Solution
from mmopt.solvers import Options, is_claimed
from mmopt.strategies.baselines import design_rows
from mmopt.workloads import Workload

__all__ = ["default_program", "named_givens", "require_workload", "solve", "with_total", "within_range"]


@contextmanager
def within_range() -> Iterator[None]:
    """SolverError where arithmetic breaks down below: beyond the range of doubles, or not convergent."""
    try:
        yield
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise SolverError(
            f"the numbers leave the range of floating point: {error}",
            hint="scale queries and targets nearer to 1, and look at what is given and at parameters",
        ) from error


def require_workload(value: object) -> None:
    """Raise WorkloadError for what is no Workload: a matrix, the path of a file, a request with one."""
    if not isinstance(value, Workload):
        hint = "write Workload.from_matrix(matrix), Workload.load(path), or request.workload"
        raise WorkloadError(f"a {type(value).__name__} is no Workload", hint=hint)


def named_givens(givens: Mapping[str, Any] | None, program: Program, workload: Workload) -> dict[str, Any]:
    """The givens with the rows of a baseline where a string names one, for the norm of the program.

    OptionError for a string that names none, or one that does not apply to the workload.
    """
    norm = program.meaning.norm
    return {
        name: design_rows(value, workload, norm) if isinstance(value, str) else value
        for name, value in (givens or {}).items()
    }


def default_program(workload: Workload, pure: bool = False) -> tuple[str, str]:
    """The program used when none is named, and why.

    pure : for Laplace noise, which epsilon without delta asks for.
    """
    if pure:
        return "p_identity", "epsilon without delta asks for Laplace noise"
    if workload.has_all_targets:
        return "fitness_for_use", "every query has a target (max_variance)"
    return "l2_strategy", "not every query has a target, so total error is what can be least"


@within_range()
def solve(
    workload: Workload,
    program: str | Path | Program | None = None,
    *,
    solver: str | None = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    threads: int | None = None,
    verbose: bool = False,
    start: Any = None,
    starts: int | None = None,
    seed: int | None = None,
    penalty: float | None = None,
    arrays: str | None = None,
    givens: Mapping[str, Any] | None = None,
    progress: Report | None = None,
    reduce: bool = True,
) -> Solution:
    """Solve a program for a workload and certify the result.

    Over more than ``plan.MOST_CELLS`` cells a convex program that a kernel knows is solved by component,
    if the workload has symmetries; nothing over the cells is formed then, and the Solution is by component.
    So it is over more than ``plan.FEW_CELLS`` cells, where all components are small.

    Parameters
    ----------
    workload : the queries.
    program : a shipped name, a path, or a parsed Program; by default ``fitness_for_use`` when every
        query has a target, else ``l2_strategy``.
    solver : a kernel or a conic solver. By default the kernel that claims the program by its lines, else the
        conic solver whose forecast is best: interior point when it takes less than 20 seconds.
    tolerance : the certified gap asked for; by default 1e-6 (kernels, interior point) or 1e-4 (first order).
        When it is not reached the status says so; the gap printed is always the proved one.
    time_limit : seconds until the solver is to stop, which keeps the best point so far. Two seconds and a
        fifth of that later what is not done is given up.
    max_iterations, verbose : passed on. threads : of the solver and of the linear algebra; by default one
        where all matrices are small.
    start : a strategy from which a program of class rank or smooth is searched, and from nowhere else; the
        program must have a section ``from strategy``. As for ``certify``, for example a baseline, "haar".
    starts, seed : of the search of a program of class rank or smooth.
    penalty : first weight of the rank in the search of a program of class rank.
    arrays : library that the kernel ``nuclear`` computes with, and a device: "cupy", "torch:cuda".
    givens : arrays by name, for givens of the program without a source or in place of one; a baseline's name
        stands for its rows: ``{"Q": "hierarchical(branching=4)"}``.
    progress : called with a ``Progress`` after every point, and before a solve that is predicted to be long.
    reduce : whether a convex program may be made smaller first, exactly (``Solution.reductions`` says how),
        and a large workload be solved by component.

    Raises
    ------
    mmopt.Error : a subclass says what is wrong with the program, the workload, an option or the solver;
        TimeLimitError when the time is over without a result.
    KeyboardInterrupt : Ctrl-C before there is a certified point, and the second one.
    """
    require_workload(workload)
    if not isinstance(reduce, bool):
        raise OptionError(f"'reduce' is True or False, not {reduce!r}")
    if program is None:
        program = default_program(workload)[0]
    parsed = program if isinstance(program, Program) else Program.load(program)
    given_options: dict[str, Any] = {
        "tolerance": tolerance,
        "time_limit": time_limit,
        "max_iterations": max_iterations,
        "threads": threads,
        "starts": starts,
        "seed": seed,
        "penalty": penalty,
        "arrays": arrays,
    }
    overrides = {name: value for name, value in given_options.items() if value is not None}
    overrides["verbose"] = verbose
    Options(**overrides)  # a bad option is refused before any work
    with deadline(time_limit), blas_threads(workload.n, threads):
        named = named_givens(givens, parsed, workload)
        strategy = starting(start, parsed, workload, overrides)
        if strategy is not None:
            named = {**row_parameter(parsed, strategy), **named}
        plan = plan_solve(parsed, workload, named, reduce=reduce, solver=solver)
        point = None if strategy is None else adopt(plan.instance, strategy)
        with blas_threads(plan.instance, threads) if plan.split else nullcontext():
            return solve_task(Task(plan, solver, overrides, progress, point))


def solve_task(task: Task) -> Solution:
    """Solve a task of any class."""
    started = time.monotonic()
    return with_total(_SOLVES[task.program.klass](task), started)


def _procedure(task: Task) -> Solution:
    return solve_procedure(task, lambda step: solve_task(step.planned()))


def _smooth(task: Task) -> Solution:
    if is_claimed(task.instance, task.solver, has_start=task.start is not None):
        return solve_convex(task)
    return solve_smooth(task)


_SOLVES = {
    "closed form": solve_closed,
    "convex": solve_convex,
    "procedure": _procedure,
    "rank": solve_rank,
    "smooth": _smooth,
}


def with_total(solution: Solution, started: float) -> Solution:
    """The same solution with the seconds since then (``time.monotonic``) as its total."""
    return replace(solution, seconds={**solution.seconds, "total": time.monotonic() - started})
