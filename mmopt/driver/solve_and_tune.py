"""``mmopt.solve`` and ``mmopt.tune``: the plan made and carried out, once or for growing weights.

``mmopt.solve`` turns a workload and a program into a certified solution: convex programs by
``solve_convex.py``, searches by their files, and here what is only evaluated, closed forms and procedures,
whose steps solve other programs. ``mmopt.tune`` shows the gain of a sub-workload, and the loss of the others,
as its weight grows: one certified solve per weight. Source: the third source's slides, "Tuning workload
error" (one part, the other, and c * part + all).
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import count
from operator import eq, ge, le
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.compiler import bind, is_shipped
from mmopt.display_base_classes import Tabular
from mmopt.driver.accepted_options_and_inputs import (
    as_program,
    named_givens,
    of_caller,
    refuse_unread,
    within_range,
    workload_for,
)
from mmopt.driver.judge import (
    Ending,
    Stage,
    adopt,
    assemble_solution,
    bound_of,
    charged_objective,
    row_parameter,
    start_strategy,
    starts_from,
    upper_value,
)
from mmopt.driver.rank_search import solve_rank
from mmopt.driver.run_solver import objective_remarks
from mmopt.driver.smooth_search import solve_smooth
from mmopt.driver.solve_convex import solve_convex, solve_factors
from mmopt.driver.task_and_plan import Report, Task, plan_solve
from mmopt.errors import ContradictionError, OptionError, SolverError, placed
from mmopt.language import (
    LARGEST_DIM,
    START_ARGUMENT,
    Apply,
    Assignment,
    Name,
    Program,
    Repeat,
    Step,
    SubProgram,
    check,
    evaluate,
    evaluate_ball,
    program_names,
    shipped,
)
from mmopt.limits import LOADED, Stop, deadline, require_memory, require_time, working
from mmopt.numerics import blas_threads, plain, rounded
from mmopt.request import WorkloadLike, as_workload, default_program
from mmopt.results import Solution, gap_between
from mmopt.solvers import Options, SolverLike, as_solver, is_claimed, total
from mmopt.strategies import Neighbours, Strategy, StrategyForm, as_dense
from mmopt.workloads import Workload, only, rest_of, subworkloads, weighted


@within_range()
def solve(
    workload: "WorkloadLike | None" = None,
    program: str | Path | Program | None = None,
    *,
    solver: SolverLike = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    threads: int | None = None,
    verbose: bool = False,
    history: bool = False,
    start: Any = None,
    starts: int | None = None,
    seed: int | None = None,
    arrays: str | None = None,
    givens: Mapping[str, Any] | None = None,
    progress: Report | None = None,
    reduce: bool = True,
    derive: bool | None = None,
) -> Solution:
    """Solve a program for a workload and certify the result.

    Over more than ``task_and_plan.MOST_CELLS`` cells a convex program with a kernel is solved by component,
    if the workload has symmetries; then nothing over the cells is formed, nor in the Solution. The same holds
    over more than ``task_and_plan.FEW_CELLS`` cells, where all components are small.

    An option that has no effect on this solve is refused, with a hint.

    Parameters
    ----------
    workload : the queries: a Workload, a Request, the path of a workload file or its dictionary, or a
        matrix as ``Workload.from_matrix`` takes it (array, lists, scipy sparse, data frame). The privacy of
        a file is not used: ``accuracy``, ``budget`` and ``release`` choose the program by it. None for a
        program that needs no workload; then ``[[1]]`` is its workload.
    program : a shipped name, a path, or a parsed Program; by default ``fitness_for_use`` when every
        query has a target, else ``l2_strategy``.
    solver : a kernel, a conic solver, another that cvxpy finds installed, or your own: a function, also as
        "module:function" (``mmopt.solvers.conic_problem`` has its arguments and results). By default the
        kernel that recognises the program by its constraints, else the conic solver whose forecast is best:
        interior point when it takes less than 20 seconds. Where that one stops improving near the gap, a
        solver of another method goes on. "conic": the same as if there were no kernels, also in the steps of
        a procedure; there L-BFGS searches what has no cones.
    tolerance : the certified gap to reach; by default 1e-6 (kernels, interior point) or 1e-4 (first order).
        When it is not reached the status says so; the gap printed is always the proved one.
    time_limit : seconds until the solver has to stop, with the best point so far. Two seconds and a fifth of
        that later all unfinished work is given up; but a function of your own runs until it returns or
        yields, and a solver that cvxpy calls until its run ends (``mmopt compare`` ends their processes).
    max_iterations, verbose : passed on. threads : of the solver and of the linear algebra; by default one
        where all matrices are small.
    history : keep every iteration that SCS, CVXOPT, QOCO and SDPA count, at some cost of time; those of other
        solvers are kept anyway (``Solution.history``).
    start : a strategy, the only start of the search of a program of class rank or smooth; the program must
        have a section ``from strategy``. As for ``certify``, for example a baseline, "haar".
    starts, seed : of the search of a program of class rank or smooth; a program that names its starts has no
        others.
    arrays : library that the kernel ``nuclear`` computes with, and a device: "cupy", "torch:cuda".
    givens : arrays by name, for givens of the program without a source or in place of one; or the name of a
        baseline, for its rows: ``{"Q": "hierarchical(branching=4)"}``.
    progress : called with a ``Progress`` after every point, and before a solve that is predicted to be long.
    reduce : whether a convex program may be made smaller first, exactly (``Solution.reductions`` says how),
        and a large workload be solved by component.
    derive : whether to derive a bound from the constraints of a convex program, without a certificate, for at
        most the work of another conic solve. By default, only if no certificate proves one.

    Raises
    ------
    mmopt.Error : a subclass for a fault of the program, the workload, an option or the solver
        (UnsuitableError: it solves other programs); TimeLimitError when the time is over without a result.
    KeyboardInterrupt : Ctrl-C before there is a certified point, and the second one.
    """
    workload = workload_for(workload, program)
    for name, flag in (("reduce", reduce), ("derive", False if derive is None else derive)):
        if not isinstance(flag, bool):
            raise OptionError(f"'{name}' is True or False, not {flag!r}")
    program = default_program(workload)[0] if program is None else program
    given_options: dict[str, Any] = {
        "tolerance": tolerance,
        "time_limit": time_limit,
        "max_iterations": max_iterations,
        "threads": threads,
        "starts": starts,
        "seed": seed,
        "arrays": arrays,
    }
    overrides = {name: value for name, value in given_options.items() if value is not None}
    overrides |= {"verbose": verbose, "history": history}
    Options(**overrides)  # a bad option is refused before any work
    row, started = as_solver(solver), time.monotonic()
    # A shipped one is read once: it is part of the package.
    is_shipped = isinstance(program, str) and program in program_names()
    checked = shipped(str(program)) if is_shipped else check(as_program(program))
    refuse_unread(checked, row, {**given_options, "start": start, "derive": derive})
    began = time.monotonic()
    with deadline(time_limit), blas_threads(workload.n, threads):
        named = named_givens(givens, checked.written, workload)
        strategy = None if start is None else start_strategy(start, checked.written, workload, overrides)
        named = {**({} if strategy is None else row_parameter(checked.written, strategy)), **named}
        planning, loaded = working(), dict(LOADED)
        plan = plan_solve(checked, workload, named, reduce=reduce, solver=row)
        stages: tuple[Stage, ...] = (
            {"stage": "check", "seconds": began - started},
            {
                "stage": "plan",
                "seconds": working() - planning,
                "parts": len(plan.parts),
                "columns of the largest matrix": n
                if (n := plan.largest) < 2**53
                else float(n),  # what a file holds
            },
        )
        point = None if strategy is None else adopt(plan.instance, strategy)
        report = progress and of_caller()(progress)
        with blas_threads(plan.largest, threads) if plan.split else nullcontext():
            solution = solve_task(Task(plan, row, overrides, report, point, derive))
            loading: Sequence[Stage] = [
                {"stage": "loading", "name": f"{what}, once per process", "seconds": seconds}
                for what, total_seconds in LOADED.items()
                if (seconds := total_seconds - loaded.get(what, 0.0)) >= 1e-3
            ]
            return with_total(replace(solution, stages=(*stages, *loading, *solution.stages)), started)


def solve_task(task: Task) -> Solution:
    """Solve a task of any class."""
    started = time.monotonic()
    solution = _SOLVES[task.program.problem_class](task)
    if not (solution.is_in_factors or is_shipped(task.instance.checked)):
        solution = replace(
            solution, warnings=(*objective_remarks(task.instance, solution), *solution.warnings)
        )
    return with_total(solution, started)


def with_total(solution: Solution, started: float) -> Solution:
    """The solution with the seconds since ``started`` (``time.monotonic``) as its total."""
    return replace(solution, seconds={**solution.seconds, "total": time.monotonic() - started})


Solve = Callable[[Task], Solution]

# The stop of a step that ended well begins with one of these.
STOPPED_WELL = (Stop.REACHED, Stop.CLOSED, Stop.LOCAL, Stop.RANK)
# 'alternate' ends when an objective falls by less than this, relatively.
SETTLED_FALL = 1e-8
COMPARE: Mapping[str, Callable[[float, float], bool]] = {"<=": le, ">=": ge, "==": eq}


def stop_of_steps(stops: Sequence[str]) -> str:
    """The first stop that was not well, else the first that is not known to be at an optimum, if any."""
    for well in (STOPPED_WELL, (Stop.REACHED, Stop.CLOSED)):
        if others := [stop for stop in stops if not stop.startswith(well)]:
            return others[0]
    return Stop.EVERY_STEP


@dataclass
class _Procedure:
    """A procedure while its steps run: names with their values, and the solutions in order."""

    task: Task
    solve: Solve
    env: dict[str, Any]
    everything: list[tuple[str, Solution]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # On total error by neighbours: all steps are for one workload, and a search has hundreds.
    error_bounds: dict[Neighbours, tuple[float, Any]] = field(default_factory=dict)

    def run_steps(self, steps: Sequence[Step]) -> None:
        """Run steps in order: repeats, programs, and assignments."""
        for step in steps:
            with placed(self.task.program.source.locate(step.span)):
                require_time()
                if isinstance(step, Repeat):
                    self.run_repeat(step)
                elif isinstance(step, SubProgram):
                    self.solve_program(step)
                else:
                    self.env[step.name] = evaluate(step.expr, self.env)
                    require_memory(
                        (sum(np.size(value) for value in self.env.values()), 1),
                        "sum of all arrays of the program",
                    )

    def release_values(self) -> dict[str, Any]:
        """All values, which this object drops, so that the caller alone keeps them in memory."""
        env, self.env = self.env, {}
        return env

    def run_repeat(self, loop: Repeat) -> None:
        """Repeat the steps of a block; its condition, its objective or a failure may end it early."""
        times = evaluate(loop.times, self.env)
        if not 1 <= times <= LARGEST_DIM or times != int(times):
            raise OptionError(
                f"a block is repeated a whole number of times, at most 2**53, not {times:g}",
                where=self.task.program.source.locate(loop.times.span),
            )
        best = np.inf
        for _ in range(int(times)):
            if self.is_over(loop):
                return
            try:
                self.run_steps(loop.steps)
            except (ContradictionError, SolverError, ArithmeticError, np.linalg.LinAlgError) as failure:
                # A round may fail where doubles end: the result of the rounds before it is kept.
                self.warnings.append(f"the rounds ended where one failed: {str(failure).splitlines()[0]}")
                return
            if loop.settles:
                objective = self.everything[-1][1].objective
                if objective >= best - SETTLED_FALL * abs(objective):
                    return
                best = objective

        if loop.until is not None and not self.is_over(loop):
            self.warnings.append(f"after {times:g} rounds of 'repeat' its condition 'until' does not hold")

    def is_over(self, loop: Repeat) -> bool:
        """Whether the condition that ends a block holds."""
        until = loop.until
        return until is not None and COMPARE[until.op](
            float(evaluate(until.left, self.env)), float(evaluate(until.right, self.env))
        )

    def solve_program(self, step: SubProgram) -> None:
        """Solve the program of a step, and add its solution and values under the step's name."""
        program, instance = self.task.program, self.task.instance
        arguments = dict(step.arguments)
        earlier = arguments.pop(START_ARGUMENT, None)
        givens = {name: evaluate(expr, self.env) for name, expr in arguments.items()}
        start = dict(self.everything)[earlier.id].variables if isinstance(earlier, Name) else None
        # Givens that the caller passed to the procedure, and that this step does not get.
        lost = {d.name for d in program.givens if d.source and d.name in instance.passed} - {
            name for name, e in step.arguments if isinstance(e, Name) and e.id == name
        }
        if lost and program.certificate is None and program.bound == step.program:
            raise OptionError(
                f"'{program.name}' takes its bound from '{step.program}', whose step does not get the "
                f"{', '.join(sorted(lost))} that is passed, and solves for the workload's",
                hint="put it into the workload: targets are its 'max_variance'",
            )
        inner = bind(shipped(step.program), instance.workload, givens)
        inner = replace(inner, error_bound=self.error_bounds.get(inner.neighbours))
        solved = self.solve(self.task.of_step(inner, start))
        if isinstance(solved.strategy, Strategy):
            solved.strategy.drop_factors()
            self.error_bounds.setdefault(
                solved.strategy.neighbours, (solved.error_bound, solved.error_multipliers)
            )
        self.everything.append((step.name, solved))
        values = {**solved.multipliers, **solved.variables}
        values |= {"strategy": as_dense(solved.strategy).matrix, "objective": np.asarray(solved.objective)}
        self.env |= {f"{step.name}.{name}": value for name, value in plain(values).items()}


def solve_closed(task: Task) -> Solution:
    """Evaluate a program of class closed form: its strategy is a formula, and nothing is searched."""
    instance, env = task.instance, task.instance.env
    objective, proved = charged_objective(instance, env, *upper_value(task.program.objective, env))
    ending = Ending(
        objective=objective,
        proved=proved,
        bound=bound_of(instance, {}),
        stop=Stop.CLOSED,
        solver=(Stop.CLOSED, ""),
        word=Stop.CLOSED,
        options={},
    )
    return assemble_solution(instance, instance.env, ending)


def solve_procedure(task: Task, solve: Solve) -> Solution:
    """Run the steps in order; each convex step is certified, the result gets the bound of the program.

    ``solve`` solves a task of any class.
    """
    instance, program = task.instance, task.program
    run = _Procedure(task, solve, dict(instance.env))
    run.run_steps(program.steps)
    if not run.everything:
        raise SolverError(f"'{program.name}' solved nothing in its steps")
    objective, proved = charged_objective(instance, run.env, *upper_value(program.objective, run.env))
    formed = (s.expr for s in program.steps if isinstance(s, Assignment) and isinstance(s.expr, Apply))
    bases = (evaluate_ball(e, run.env) for e in formed if e.atom == "row_basis")
    # A shipped objective is of the measured strategy, as computed; other steps may carry any rounding.
    proved = proved and is_shipped(instance.checked) and all(np.isfinite(b.rad).all() for b in bases)
    *_, last = steps = [s for _, s in run.everything]
    starts = starts_from(instance, run.env)
    # Those that a step has proved for the program named under 'bound'.
    bounds = [s.bound for s in steps if s.program == program.bound and s.bound is not None]
    ending = Ending(
        objective=objective,
        proved=proved,
        bound=bound_of(instance, starts) if program.certificate else max(bounds, default=None),
        stop=stop_of_steps([s.status.stop for s in steps]),
        solver=(last.solver, last.solver_version),
        word=last.status.raw,
        feasible=all(s.status.feasible for s in steps),
        violation=max(s.status.violation for s in steps),
        options=last.options,
        iterations=total(s.iterations for s in steps),
        compile=sum(s.seconds["compile"] for s in steps),
        solve=sum(s.seconds["solve"] for s in steps),
        multipliers={**last.multipliers, **starts},
        scaling=last.scaling,
        warnings=tuple(dict.fromkeys([*(w for s in steps for w in s.warnings), *run.warnings])),
        steps=_numbered_steps(run.everything),
    )
    return assemble_solution(instance, run.release_values(), ending)


def _numbered_steps(solved: Sequence[tuple[str, Solution]]) -> dict[str, Solution]:
    """Steps by their names; a repeated one is name 1, name 2, …"""
    times = Counter(name for name, _ in solved)
    numbers = {name: count(1) for name in times}
    return {f"{name} {next(numbers[name])}" if times[name] > 1 else name: s for name, s in solved}


_SOLVES: Mapping[str, Solve] = {
    "closed form": solve_closed,
    "convex": lambda task: solve_factors(task, solve_task) if task.plan.factors else solve_convex(task),
    "procedure": lambda task: solve_procedure(task, lambda step: solve_task(step.planned())),
    "rank": solve_rank,
    "smooth": lambda task: (
        solve_convex(task)
        if is_claimed(task.instance, task.solver, has_start=task.start is not None)
        else solve_smooth(task)
    ),
}


EVERYTHING = "everything"
REST = "the rest"
DEFAULT_FACTORS = (1.0, 4.0, 16.0)


@dataclass(frozen=True, eq=False, repr=False)
class Tuned(Tabular):
    """One strategy of a tuning.

    optimised : in words, the queries that it was optimised for. factor : of the sub-workload's weight; None
    where it or the rest was optimised alone. strategy : for these queries; error, bound : its total error,
    weighted, and the bound proved with it (None without one).
    rmse : by part of the workload (``EVERYTHING``, each sub-workload, ``the rest``) the root mean square
    error per unweighted query, for unit noise per unit of sensitivity; only of the parts optimised for.
    """

    optimised: str
    factor: float | None
    strategy: StrategyForm
    error: float
    bound: float | None
    rmse: Mapping[str, float]

    @property
    def gap(self) -> float | None:
        """error / bound - 1, or None without a bound."""
        return gap_between(self.error, self.bound)

    def __repr__(self) -> str:
        gap = "no bound" if self.gap is None else f"gap {rounded(self.gap, 2, up=True)}"
        return f"Tuned({self.optimised}: total error {self.error:.6g}, {gap})"

    def summary(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "optimised": self.optimised,
            "factor": self.factor,
            "rmse": dict(self.rmse),
            "error": self.error,
            "bound": self.bound,
            "gap": self.gap,
        }


#: A strategy with its total error, weighted, and a bound on that of every strategy.
Optimised = tuple[StrategyForm, float, float | None]


def tune(
    workload: "WorkloadLike",
    subworkload: str,
    factors: Sequence[float] = DEFAULT_FACTORS,
    program: str | Path | Program = "l2_strategy",
    *,
    progress: Callable[[str], Report | None] | None = None,
    **options: Any,
) -> Iterator[Tuned]:
    """Solve for a sub-workload alone, the rest alone, and everything with the former's weight multiplied.

    Parameters
    ----------
    workload : as for ``solve``, with products of that sub-workload (``Product.subworkload``,
        ``subworkload:`` in a file).
    subworkload : its name.
    factors : of the weights of its queries, which multiply squared errors; positive.
    program : one that minimises total error; targets are not read.
    progress : called with words for the next solve, returns the report of that solve.
    options : of ``mmopt.solve``.

    Raises
    ------
    mmopt.Error : no such sub-workload, a factor that is not positive, or errors of ``solve``; before any
        solve where possible.
    """

    def solved(case: Workload, words: str) -> Optimised:
        solution = solve(case, program, progress=progress and progress(words), **options)
        if solution.status.stop.startswith(Stop.INTERRUPTED):
            raise KeyboardInterrupt
        return solution.strategy, solution.error, solution.error_bound

    as_program(program)  # refused before the first solve
    return tuned(as_workload(workload), subworkload, factors, solved)


def tuned(
    workload: Workload, name: str, factors: Sequence[float], solved: Callable[[Workload, str], Optimised]
) -> Iterator[Tuned]:
    """Tune as ``tune``, with any way to solve: ``solved`` is called with a workload and words for it."""
    part, rest = only(workload, name), rest_of(workload, name)
    if name in (EVERYTHING, REST):
        raise OptionError(f"the sub-workload is called '{name}', a word of the table", hint="rename it")
    cases: list[tuple[str, float | None, Workload, Mapping[str, Workload]]] = [
        (f"{name} alone", None, part, {name: part})
    ]
    cases += [("the rest alone", None, rest, {REST: rest})] if rest is not None else []
    parts = tuned_parts(workload, name)
    for factor in factors:
        words = EVERYTHING if factor == 1.0 else f"{name} × {factor:g}"
        cases.append((words, factor, weighted(workload, {name: factor}), parts))
    return (
        Tuned(words, factor, strategy, error, bound, {n: strategy.rmse(queries) for n, queries in to.items()})
        for words, factor, case, to in cases
        for strategy, error, bound in [solved(case, words)]
    )


def tuned_parts(workload: Workload, name: str) -> dict[str, Workload]:
    """The parts with errors: everything, each sub-workload, and the rest beyond the sub-workload named."""
    parts = {EVERYTHING: workload, **{part: only(workload, part) for part in subworkloads(workload)}}
    rest = rest_of(workload, name)
    return parts if rest is None else {**parts, REST: rest}
