"""``mmopt.compare`` and its result: programs, solvers and tolerances side by side, on one workload.

The result is a ``Comparison``: the outcomes in their order, with frame, chart and display.
"""

import contextlib
import copy
import math
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar, overload

from mmopt.comparison.isolated_tasks import Isolated, Outcome, limit_in_bytes
from mmopt.comparison.predicted_errors import Stated
from mmopt.comparison.worker import Solving
from mmopt.display_base_classes import Charted, Tabular
from mmopt.driver.accepted_options_and_inputs import (
    READ_BY_CLASS as READERS,
    is_solved_by,
    workload_for,
)
from mmopt.driver.task_and_plan import Report
from mmopt.errors import OptionError, suggest
from mmopt.language import Program, check, program_names
from mmopt.limits import Stop
from mmopt.privacy.epsilon_delta_rho import Privacy, PrivacyLike
from mmopt.request import WorkloadLike
from mmopt.solvers import CONIC, KERNELS, LBFGS, SOLVERS, Options, SolverLike, solver_name
from mmopt.solvers.conic_solvers import installed_others
from mmopt.strategies import ADD_REMOVE, Neighbours, NeighboursLike
from mmopt.workloads import Workload

Row = TypeVar("Row")


class TabledRows(Sequence[Row], Tabular):
    """Rows in their order, with their table; equal to any sequence of the same rows."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Self: ...
    def __getitem__(self, at: int | slice) -> Row | Self:
        if not isinstance(at, slice):
            return self._rows[at]
        part = copy.copy(self)
        part._rows = self._rows[at]
        return part

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class Comparison(Charted, TabledRows[Outcome]):
    """Outcomes in the order of the arguments of ``compare``.

    Parameters
    ----------
    outcomes : the outcome of each combination.
    workload, stated : the queries, and the privacy for which errors are predicted; None for unit noise.
    """

    def __init__(
        self, outcomes: Iterable[Outcome], workload: Workload | None = None, stated: Stated | None = None
    ) -> None:
        super().__init__(outcomes)
        self.workload = workload
        self.stated = stated

    def __repr__(self) -> str:
        solved = sum(outcome.solution is not None for outcome in self)
        return f"Comparison({len(self)} outcomes, {solved} with a solution)"


TIME_LIMIT = 60.0  # seconds of solver per combination, unless another limit is given
TOTAL_TIME = 300.0  # seconds for all programs, where none is named
ALL = "all"  # in place of names: the kernels that know a program, and every solver installed
INTERRUPTED_WORDS = "not started: the comparison was interrupted"
# The order in which programs that were not named are solved: those that search without a forecast come last,
# as the time may be over by then.
CLASSES = ("closed form", "convex", "procedure", "smooth", "rank")


@dataclass(frozen=True)
class Combination:
    """One program with one solver (None: as ``solve`` would choose) and tolerance (None: the solver's).

    was_named : whether the caller named the program; else a search that is predicted to take too long is left
        out. why_not : of those of ``ALL`` that are not tried.
    """

    program: Program
    solver: str | None = None
    tolerance: float | None = None
    was_named: bool = True
    why_not: str = ""

    def __str__(self) -> str:
        solver = f" with {self.solver}" if self.solver else ""
        tolerance = "" if self.tolerance is None else f" at {self.tolerance:g}"
        return f"{self.program.name}{solver}{tolerance}"


def compare(
    workload: "WorkloadLike | None",
    programs: Sequence[str | Path | Program] | None = None,
    solvers: Sequence[SolverLike] | None = None,
    tolerance: float | Sequence[float | None] | None = None,
    *,
    privacy: PrivacyLike = None,
    neighbours: NeighboursLike = ADD_REMOVE,
    formulations: bool = False,
    time_limit: float = TIME_LIMIT,
    total_time: float | None = None,
    memory_limit: float | None = None,
    givens: Mapping[str, Any] | None = None,
    progress: Report | None = None,
    **options: Any,
) -> Comparison:
    """Solve every program with every solver at every tolerance, each in a process of its own.

    A run that does not stop, crashes, is killed or cannot be solved gives an outcome with the reason, and
    does not end the comparison. Ctrl-C does: the outcomes so far are returned. The outcome of the current run
    has its best point, and the rest are marked as not started.

    Parameters
    ----------
    workload : as for ``solve``; None if the programs need none.
    programs : names, paths or Programs; by default all that are shipped, except for formulations of the same
        problem, programs for other neighbours (persons with several rows) or without a strategy, and
        searches that are predicted to take more than a third of the time limit. Those that search come last.
    solvers : as for ``solve``, functions only where they can be imported ("module:function"). By default the
        one that ``solve`` would choose for each program; ["all"]: the kernels that know a program, and
        every solver installed; those without its cones have an outcome that says so.
    tolerance : requested certified gaps; by default that of each solver.
    privacy, neighbours : those of the release for which errors are predicted (``Outcome.rmse``), as for
        ``release``; by default errors are for noise of variance 1, which cannot be compared across noises.
        ``mmopt.comparison.ranking`` sorts.
    formulations : add every shipped program that states the same problem as a chosen one.
    time_limit : seconds for the solver of each combination; a process that does not stop is killed a
        fifth of that and two seconds later. Infinity for no limit.
    total_time : seconds for all; combinations not started by then are marked so. By default 300 where no
        programs are named, else infinity.
    memory_limit : GiB that a combination may take above what its process has at the start (Linux only);
        by default three quarters of the machine's memory, and no limit on other systems.
    givens : arrays by name; each program takes those that it declares.
    progress : called in this process with each certified point; its ``seconds`` count from the start of
        the combination.
    options : further ones of ``solve`` (max_iterations, threads, verbose, history).

    Returns
    -------
    Comparison : a sequence of Outcome, in the order of the arguments, tolerances changing fastest.

    Raises
    ------
    OptionError : an unknown program, solver or given, a single name in place of a list, an option out of
        range, or a value that is no set of neighbours.
    WorkloadError, PrivacyError : a value that is no workload, or no privacy.
    SolverError : a solver that is not installed; no process can be started.
    """
    if isinstance(programs, str | Path | Program) or isinstance(solvers, str) or callable(solvers):
        hint = "write programs=['l2_strategy'], solvers=['clarabel']"
        raise OptionError("programs and solvers are lists, not one name", hint=hint)
    queries = workload_for(workload, *programs or ())
    stated = None if privacy is None else Stated(Privacy.of(privacy), Neighbours.of(neighbours))
    return Comparison(
        outcomes(
            queries,
            combinations(programs, solvers, tolerance, formulations=formulations),
            stated=stated,
            time_limit=time_limit,
            total_time=total_time,
            memory_limit=memory_limit,
            givens=givens,
            progress=progress,
            **options,
        ),
        queries,
        stated,
    )


def combinations(
    programs: Sequence[str | Path | Program] | None = None,
    solvers: Sequence[SolverLike] | None = None,
    tolerances: float | Sequence[float | None] | None = None,
    *,
    formulations: bool = False,
) -> list[Combination]:
    """The combinations that ``compare`` solves for these arguments, in its order."""
    names = _default_names() if programs is None else programs
    chosen = [p if isinstance(p, Program) else Program.load(p) for p in names]
    if formulations:
        chosen = with_formulations(chosen)
    is_all = solvers is not None and [*solvers] == [ALL]
    rows = [] if is_all else [(solver_name(solver), "") for solver in solvers or (None,)]
    gaps = [tolerances] if isinstance(tolerances, int | float) else list(tolerances or (None,))
    for gap in gaps:
        if gap is not None:
            Options(tolerance=gap)
    was_named = programs is not None
    _refuse_unread(chosen, ["tolerance"] if tolerances is not None else [])
    return [
        Combination(p, solver, gap, was_named, why_not)
        for p in chosen
        for solver, why_not in (_every_solver(p) if is_all else rows)
        for gap in (gaps if p.problem_class != "closed form" else (None,))
    ]


def _every_solver(program: Program) -> list[tuple[str | None, str]]:
    """The kernels that know a program, and every solver installed with its cones; then why not the rest."""
    checked = check(program)
    conic = [*(row.name for row in SOLVERS if row.is_installed), *installed_others()]
    every = [*(kernel.name for kernel in KERNELS), LBFGS.name, *conic]
    able = [name for name in every if is_solved_by(checked, name)]
    others = [name for name in conic if name not in able]
    has_cones = is_solved_by(checked, CONIC)
    why = "they lack a cone that it needs" if has_cones else "they take cones, and it has none"
    rest: list[tuple[str | None, str]] = (
        [(None, f"not with {', '.join(others)}: {why}")] if able and others else []
    )
    return [*((name, "") for name in able), *rest] or [(None, "")]


def _default_names() -> list[str]:
    """Shipped programs that are no other formulation of one, for single rows, by class."""
    written = [Program.load(name) for name in program_names()]
    problems = [p for p in written if not (p.formulation_of or p.neighbours or p.meaning.kind == "none")]
    return [p.name for p in sorted(problems, key=lambda p: CLASSES.index(p.problem_class))]


def with_formulations(programs: Sequence[Program]) -> list[Program]:
    """The programs, each followed by the shipped ones that state the same problem, none twice."""
    shipped = [Program.load(name) for name in program_names()]
    names = {program.name for program in programs}
    ordered = (
        one
        for program in programs
        for one in (program, *(p for p in shipped if _base(p) == _base(program) and p.name not in names))
    )
    return list({program.name: program for program in ordered}.values())


def outcomes(
    workload: Workload,
    chosen: Sequence[Combination],
    *,
    stated: Stated | None = None,
    time_limit: float = TIME_LIMIT,
    total_time: float | None = None,
    memory_limit: float | None = None,
    givens: Mapping[str, Any] | None = None,
    progress: Report | None = None,
    begin: Callable[[str], None] | None = None,
    isolated: Isolated | None = None,
    **options: Any,
) -> Generator[Outcome, None, None]:
    """The outcomes of ``compare`` one by one, as soon as each is there; arguments and errors as there.

    The arguments are checked at once. ``begin`` is called with each combination and its number, in words,
    before its turn. Close the iterator to end the process that runs; processes of ``isolated`` end with that.
    """
    size = limit_in_bytes(memory_limit)
    given = {n: v for n, v in options.items() if v is not None}
    verbose = Options(**{**given, "time_limit": time_limit}).verbose
    if total_time is None:
        total_time = math.inf if all(c.was_named for c in chosen) else TOTAL_TIME
    Options(time_limit=total_time)
    _refuse_unread([c.program for c in chosen], given)
    passed = dict(givens or {})
    declared = {name for c in chosen for name in _declared(c.program)}
    if unknown := [name for name in passed if name not in declared]:
        raise OptionError(
            f"no program compared has a given '{unknown[0]}'", hint=suggest(unknown[0], declared)
        )
    tasks = [
        Solving(
            workload=workload,
            program=c.program,
            solver=c.solver,
            tolerance=c.tolerance,
            time_limit=time_limit,
            memory_limit=size,
            stated=stated,
            was_named=c.was_named,
            options={**given, "givens": {n: v for n, v in passed.items() if n in _declared(c.program)}},
        )
        for c in chosen
    ]

    def run() -> Generator[Outcome, None, None]:
        with Isolated(verbose) if isolated is None else contextlib.nullcontext(isolated) as processes:
            end = time.monotonic() + total_time
            for number, task in enumerate(tasks, 1):
                left = end - time.monotonic()
                if begin is not None:
                    begin(f"{chosen[number - 1]} ({number} of {len(chosen)})")
                if why_not := chosen[number - 1].why_not:
                    yield replace(_not_started(task, why_not), stop=Stop.UNSUITABLE)
                elif processes.interrupted:
                    yield _not_started(task, INTERRUPTED_WORDS)
                elif left <= 0:
                    yield _not_started(task, f"not started: the {total_time:g} s for all programs had passed")
                else:
                    yield processes.run(replace(task, time_limit=min(time_limit, left)), progress)

    return run()


def _refuse_unread(programs: Sequence[Program], options: Iterable[str]) -> None:
    """Refuse options that none of the programs reads; a program ignores options that only others read."""
    for name in options:
        if not any(
            p.problem_class in (*READERS.get(name, (p.problem_class,)), "procedure") for p in programs
        ):
            raise OptionError(f"no program compared has an option '{name}'")


def _not_started(task: Solving, why: str) -> Outcome:
    """The outcome of a task for whose start there was no time."""
    return Outcome(
        task.program.name,
        task.solver or "",
        None,
        problem=why,
        reason=why,
        stop=Stop.NOT_STARTED,
        formulation_of=task.program.formulation_of,
        tolerance=task.tolerance,
    )


def _base(program: Program) -> str:
    """The program that a formulation is one of; else the program's own name."""
    return program.formulation_of or program.name


def _declared(program: Program) -> set[str]:
    """The names of the givens and parameters of a program."""
    return {d.name for d in program.givens} | {p.name for p in program.changeable}
