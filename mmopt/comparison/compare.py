"""``mmopt.compare``: programs, solvers and tolerances side by side, on one workload."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmopt.comparison.compared_outcome import Outcome
from mmopt.comparison.isolate import Isolated
from mmopt.comparison.worker_processes import Solving, allowed
from mmopt.driver.solve_plan import Report
from mmopt.errors import OptionError, suggest
from mmopt.language import Program, program_names
from mmopt.request import WorkloadLike, as_workload
from mmopt.solvers import Options, solver_name
from mmopt.stop_reasons import Stop
from mmopt.workloads import Workload

__all__ = ["TIME_LIMIT", "Combination", "combinations", "compare", "outcomes", "with_formulations"]

TIME_LIMIT = 60.0  # seconds of solver per combination, unless another limit is given
INTERRUPTED = "not started: the comparison was interrupted"


@dataclass(frozen=True)
class Combination:
    """One program with one solver (None: as ``solve`` would choose) and tolerance (None: the solver's)."""

    program: Program
    solver: str | None = None
    tolerance: float | None = None

    def __str__(self) -> str:
        solver = f" with {self.solver}" if self.solver else ""
        tolerance = "" if self.tolerance is None else f" at {self.tolerance:g}"
        return f"{self.program.name}{solver}{tolerance}"


def compare(
    workload: WorkloadLike,
    programs: Sequence[str | Path | Program] | None = None,
    solvers: Sequence[str | None] | None = None,
    tolerances: float | Sequence[float | None] | None = None,
    *,
    formulations: bool = False,
    time_limit: float = TIME_LIMIT,
    memory_limit: float | None = None,
    givens: Mapping[str, Any] | None = None,
    progress: Report | None = None,
    **options: Any,
) -> list[Outcome]:
    """Solve every program with every solver at every tolerance, each in a process of its own.

    One that runs away, crashes or is killed gives an outcome that says so, and so does one that cannot be
    solved; none ends the comparison. Ctrl-C does: the outcomes so far are returned, the one that ran with
    what it had, the rest marked as not started.

    Parameters
    ----------
    workload : as for ``solve``.
    programs : names, paths or Programs; by default all that are shipped.
    solvers : by default the one that ``solve`` would choose for each program.
    tolerances : certified gaps asked for; by default the solver's own.
    formulations : add every shipped program that states the same problem as a chosen one.
    time_limit : seconds for the solver of each combination; a process that does not stop is killed a
        fifth of that and two seconds later. Infinity for no limit.
    memory_limit : GiB that a combination may take above what its process has at the start (Linux only);
        by default three quarters of the machine's memory, and no limit on other systems.
    givens : arrays by name; each program takes those that it declares.
    progress : called in this process with each certified point; its ``seconds`` count from the start of
        the combination.
    options : further ones of ``solve`` (max_iterations, threads, verbose).

    Returns
    -------
    list of Outcome : in the order of the arguments, tolerances changing fastest.

    Raises
    ------
    OptionError : an unknown program, solver or given, one in place of a list, an option out of range.
    WorkloadError : what is no workload.
    SolverError : a solver that is not installed; no process can be started.
    """
    workload = as_workload(workload)
    if isinstance(programs, str | Path | Program) or isinstance(solvers, str):
        hint = "write programs=['l2_strategy'], solvers=['clarabel']"
        raise OptionError("programs and solvers are lists, not one name", hint=hint)
    chosen = combinations(programs, solvers, tolerances, formulations=formulations)
    return list(
        outcomes(
            workload,
            chosen,
            time_limit=time_limit,
            memory_limit=memory_limit,
            givens=givens,
            progress=progress,
            **options,
        )
    )


def combinations(
    programs: Sequence[str | Path | Program] | None = None,
    solvers: Sequence[str | None] | None = None,
    tolerances: float | Sequence[float | None] | None = None,
    *,
    formulations: bool = False,
) -> list[Combination]:
    """The combinations that ``compare`` solves for these arguments, in its order."""
    named = program_names() if programs is None else programs
    chosen = [p if isinstance(p, Program) else Program.load(p) for p in named]
    if formulations:
        chosen = with_formulations(chosen)
    rows = [None if name is None else solver_name(name) for name in solvers or (None,)]
    gaps = [tolerances] if isinstance(tolerances, int | float) else list(tolerances or (None,))
    for gap in gaps:
        if gap is not None:
            Options(tolerance=gap)
    return [Combination(p, solver, gap) for p in chosen for solver in rows for gap in gaps]


def with_formulations(programs: Sequence[Program]) -> list[Program]:
    """The programs, each followed by the shipped ones that state the same problem, none twice."""
    shipped = [Program.load(name) for name in program_names()]
    names = {program.name for program in programs}
    ordered: dict[str, Program] = {}
    for program in programs:
        ordered[program.name] = program
        ordered |= {p.name: p for p in shipped if _base(p) == _base(program) and p.name not in names}
    return list(ordered.values())


def outcomes(
    workload: Workload,
    chosen: Sequence[Combination],
    *,
    time_limit: float = TIME_LIMIT,
    memory_limit: float | None = None,
    givens: Mapping[str, Any] | None = None,
    progress: Report | None = None,
    begin: Callable[[str], None] | None = None,
    isolated: Isolated | None = None,
    **options: Any,
) -> Generator[Outcome, None, None]:
    """The outcomes of ``compare`` one by one, as they come; arguments and errors as there.

    The arguments are checked at once. ``begin`` is called with each combination and its number, in words,
    before its turn. Close the iterator to end the process that runs; processes of ``isolated`` end with that.
    """
    size = allowed(memory_limit)
    given = {n: v for n, v in options.items() if v is not None}
    verbose = Options(**{**given, "time_limit": time_limit}).verbose
    passed = dict(givens or {})
    declared = {name for c in chosen for name in _declared(c.program)}
    for name in passed:
        if name not in declared:
            raise OptionError(f"no program compared has a given '{name}'", hint=suggest(name, declared))
    tasks = [
        Solving(
            workload=workload,
            program=c.program,
            solver=c.solver,
            tolerance=c.tolerance,
            time_limit=time_limit,
            memory_limit=size,
            options={**given, "givens": {n: v for n, v in passed.items() if n in _declared(c.program)}},
        )
        for c in chosen
    ]

    def found() -> Generator[Outcome, None, None]:
        with Isolated(verbose) if isolated is None else contextlib.nullcontext(isolated) as processes:
            for number, task in enumerate(tasks, 1):
                if begin is not None:
                    begin(f"{chosen[number - 1]} ({number} of {len(chosen)})")
                yield _not_started(task) if processes.interrupted else processes.run(task, progress)

    return found()


def _not_started(task: Solving) -> Outcome:
    return Outcome(
        task.program.name,
        task.solver or "",
        None,
        problem=INTERRUPTED,
        reason=INTERRUPTED,
        stop=Stop.NOT_STARTED,
        formulation_of=task.program.formulation_of,
        tolerance=task.tolerance,
    )


def _base(program: Program) -> str:
    return program.formulation_of or program.name


def _declared(program: Program) -> set[str]:
    return {d.name for d in program.givens} | {p.name for p in program.parameters}
