"""Arguments of the public functions: workload, program, givens, options, checked before work.

An option that nothing on the way to the solution reads is refused. A procedure reads the options of its
steps. Every program reads the time limit, the threads (of the linear algebra), and options that only show or
leave out something: verbose, history, progress, reduce.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from mmopt.compiler import cones
from mmopt.errors import OptionError, SolverError, UnsuitableError, WorkloadError, suggest
from mmopt.language import (
    Checked,
    Program,
    Repeat,
    SubProgram,
    shipped,
)
from mmopt.numerics.arrays import numbers
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import Solution
from mmopt.solvers import (
    CONIC,
    KERNELS,
    LBFGS,
    SOLVERS,
    Kernel,
    SolverRow,
    is_free,
    is_kernel,
    known_as,
    missing_cones,
    solver_row,
)
from mmopt.strategies import Strategy, StrategyForm, as_dense
from mmopt.strategies.baselines import baseline_words, design_rows, is_baseline
from mmopt.strategies.protocol_and_dense_strategy import SUPPORT_TOLERANCE
from mmopt.workloads import (
    SUFFIXES,
    Workload,
    read_array,
)

# Classes of programs: those for conic solvers, those searched from starts, and those that any solver solves.
CONES, SEARCHED, SOLVED = ("convex", "rank"), ("rank", "smooth"), ("convex", "rank", "smooth")
# The other options, with the classes of programs that read them.
READ_BY_CLASS: Mapping[str, tuple[str, ...]] = {
    "solver": SOLVED,
    "tolerance": SOLVED,
    "max_iterations": SOLVED,
    "start": SEARCHED,
    "starts": SEARCHED,
    "seed": SEARCHED,
    "arrays": ("convex",),
    "derive": ("convex",),
}
OPTIONS_OF_THE_WHOLE = ("start", "derive")  # not handed on to the steps of a procedure
# A solver reads those that its row lists.
OPTIONS_OF_SOLVERS = ("arrays", "starts", "seed", "max_iterations")
ALL_SOLVERS: tuple[Kernel | SolverRow, ...] = (*KERNELS, *SOLVERS, LBFGS)


def refuse_unread(checked: Checked, solver: str | SolverRow | None, options: Mapping[str, Any]) -> None:
    """Refuse a solver that does not solve the program, and options that nothing reads.

    ``options`` by name; None and False leave one out.

    Raises
    ------
    OptionError, SolverError : an unknown solver, as ``solver_row``; an option that is not read.
    UnsuitableError : the solver solves other programs; the hint lists those that solve this one.
    """
    # Whether a conic solver has the cones for a program of its class shows with the sizes.
    if solver is not None and not (
        is_solved_by(checked, solver) or any(_is_conic(row, checked) for row in _rows_of(solver))
    ):
        words = f"the kernel '{solver}' does not know" if is_kernel(solver) else f"{solver} does not solve"
        words = "no conic solver takes" if is_free(solver) else words
        able = ", ".join(row.name for row in ALL_SOLVERS if is_solved_by(checked, row))
        hint = f"these do: {able}" if able else "it is a closed form: leave out the solver"
        raise UnsuitableError(f"{words} '{checked.program.name}'", hint=hint)
    for option, value in options.items():
        if value is not None and value is not False and not reads_option(checked, option, solver):
            raise unread_option(option, checked, solver)


def reads_option(checked: Checked, option: str, solver: str | SolverRow | None = None) -> bool:
    """Whether something reads an option on the way to the program's solution, by a solver if one is named."""
    is_whole = checked.program.problem_class == "procedure" and option in OPTIONS_OF_THE_WHOLE
    return option not in READ_BY_CLASS or (
        not is_whole and any(_class_reads(one, option, solver) for one in _programs_solved(checked))
    )


def is_solved_by(checked: Checked, solver: str | SolverRow | Kernel) -> bool:
    """Whether a solver solves the program, or a step of it, at some size; errors as ``solver_row``."""
    rows = _rows_of(solver)
    return any(_solves(one, row) for one in _programs_solved(checked) for row in rows)


def unread_option(option: str, checked: Checked, by: str | SolverRow | None) -> OptionError:
    """The error for an option that the program's class, or its solver, does not read."""
    program, classes = checked.program, READ_BY_CLASS[option]
    rows = [row for row in ALL_SOLVERS if program.problem_class in classes and _solves(checked, row)]
    has_steps = program.problem_class == "procedure" and option not in OPTIONS_OF_THE_WHOLE
    who = str(by or rows[0].name) if rows else f"what '{program.name}' solves" if has_steps else ""
    able = [row.name for row in ALL_SOLVERS if option in OPTIONS_OF_SOLVERS and option in row.reads]
    hint = f"it is an option of class {' and '.join(', '.join(classes).rsplit(', ', 1))}"
    hint = f"these have it: {', '.join(able)}" if who and able else hint
    if option == "start" and program.givens:
        hint += "; a baseline can also be a given (--given NAME=haar, in Python givens={'NAME': 'haar'})"
    who = who or f"'{program.name}' is of class '{program.problem_class}', which"
    return OptionError(f"{who} has no option '{option}'", hint=hint)


def _class_reads(one: Checked, option: str, solver: str | SolverRow | None) -> bool:
    """Whether one program reads an option, by its class; an option of solvers, if ``solver`` has it."""
    program_class = one.program.problem_class
    # The search of class rank reads the options of solvers itself.
    if (
        program_class not in READ_BY_CLASS[option]
        or option not in OPTIONS_OF_SOLVERS
        or program_class == "rank"
    ):
        return program_class in READ_BY_CLASS[option]
    # Without kernels a step is searched by L-BFGS (``Task.of_step``).
    rows = (*_rows_of(solver), LBFGS) if is_free(solver) else _rows_of(solver)
    able = [row for row in rows if _solves(one, row)]
    # A smooth program goes to the first that solves it, L-BFGS being the last; a conic one may go to any.
    return any(option in row.reads for row in (able[:1] if program_class == "smooth" else able))


def _rows_of(solver: str | SolverRow | Kernel | None) -> tuple[Kernel | SolverRow, ...]:
    """The rows that a caller's solver may mean; errors as ``solver_row``."""
    if solver is None:
        return ALL_SOLVERS
    if not isinstance(solver, str):
        return (solver,)
    if is_free(solver):
        return SOLVERS
    ours = {row.name: row for row in ALL_SOLVERS if isinstance(row, Kernel) or row is LBFGS}
    return (ours.get(solver.lower()) or solver_row(solver, [CONIC, *ours]),)


def _solves(one: Checked, row: Kernel | SolverRow) -> bool:
    """Whether a kernel claims the program by its lines, or a conic solver has its kinds of cones."""
    if isinstance(row, Kernel):
        return known_as(row, one) is not None
    if _is_conic(row, one):
        return not missing_cones(row, cones(one, defaultdict(lambda: 3)))  # the same kinds at any size
    return row is LBFGS and one.program.problem_class == "smooth"


def _is_conic(row: Kernel | SolverRow, one: Checked) -> TypeGuard[SolverRow]:
    """Whether the row is of a conic solver, and the program of a class that conic solvers solve."""
    return isinstance(row, SolverRow) and row is not LBFGS and one.program.problem_class in CONES


def _programs_solved(checked: Checked) -> list[Checked]:
    """The programs to solve: this one, or those of the steps of a procedure."""
    sub_programs: list[Checked] = []
    steps = list(checked.program.steps)
    for step in steps:
        if isinstance(step, Repeat):
            steps += step.steps
        elif isinstance(step, SubProgram):
            sub_programs += _programs_solved(shipped(step.program))
    return sub_programs if checked.program.problem_class == "procedure" else [checked]


@contextmanager
def within_range() -> Iterator[None]:
    """Raise SolverError where arithmetic breaks down within: beyond doubles, or without convergence.

    Errors of ``of_caller`` stay as they are.
    """
    try:
        yield
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        if _OF_CALLER in getattr(error, "__notes__", ()):
            raise
        raise SolverError(
            "the numbers leave the range of floating point"
            + f": {error}" * isinstance(error, np.linalg.LinAlgError),
            hint="choose units in which queries, targets, data and variables are nearer to 1",
        ) from error


_OF_CALLER = "in the function given as progress"


@contextmanager
def of_caller() -> Iterator[None]:
    """Within, and in a function that it decorates, errors say that they are a caller's."""
    try:
        yield
    except ArithmeticError as error:
        error.add_note(_OF_CALLER)
        raise


def as_program(value: object) -> Program:
    """The program of this name or path, or the Program itself; errors also as ``Program.load``.

    Raises
    ------
    OptionError : anything else, with a hint.
    """
    if isinstance(value, str | Path):
        return Program.load(value)
    if isinstance(value, Program):
        return value
    kind = type(value).__name__
    hints = {
        "Privacy": "a program is solved for noise of scale 1, whatever the privacy: pass the privacy to "
        "plan or release",
        "Workload": "write solve(workload, program), certify(workload, strategy, program), "
        "explain(program, workload)",
    }
    raise OptionError(
        f"a {kind} is not a program, expected a name ('l2_strategy'), a path or a Program",
        hint=hints.get(kind, ""),
    )


def workload_for(value: WorkloadLike | None, *programs: str | Path | Program | None) -> Workload:
    """The workload; for None one query over one cell, where the programs need no workload.

    Raises
    ------
    OptionError : neither a workload nor a program is given.
    WorkloadError : as ``as_workload``; a program has givens of the workload, or its solution is a strategy.
    """
    if value is not None:
        return value if isinstance(value, Workload) else as_workload(value)
    if not programs or None in programs:
        raise OptionError(
            "neither a workload nor a program is given",
            hint="write solve(workload, program), or mmopt solve WORKLOAD",
        )
    for parsed in map(as_program, programs):
        if why := why_workload(parsed):
            raise WorkloadError(
                f"'{parsed.name}' is solved for a workload, and none is given: {why}",
                hint="give one: solve(workload, program), mmopt solve WORKLOAD --program …, mmopt explain … "
                "WORKLOAD",
            )
    return Workload.from_matrix([[1.0]])


def why_workload(program: Program) -> str:
    """Why a program needs a workload, in words; "" where it needs none."""
    needs = ", ".join(f"'{d.name}' is {d.source}" for d in program.givens if d.source)
    return needs or "its solution is a strategy" * (program.meaning.kind != "none")


def named_givens(givens: Mapping[str, Any] | None, program: Program, workload: Workload) -> dict[str, Any]:
    """The givens with the rows of a baseline where a string names one, for the norm of the program.

    OptionError for a string that names none, or one that does not apply to the workload.
    """
    return {
        name: design_rows(value, workload, program.meaning.norm) if isinstance(value, str) else value
        for name, value in (givens or {}).items()
    }


SAVED = ".npz"


def open_strategy(given: Any, workload: Workload, norm: int | None) -> Any:
    """The strategy of a path, of the name of a baseline or of a solution; anything else as it is.

    A baseline is an array, for a strategy of any norm; its rows may depend on ``norm``, by default 2.
    """
    if isinstance(given, Solution):
        return given.strategy
    if not isinstance(given, str | Path):
        return given
    if is_baseline(str(given)):
        return design_rows(str(given), workload, norm or 2)
    path = Path(given)
    if path.suffix.lower() == SAVED:
        return Solution.load(path).strategy
    if path.suffix.lower() in SUFFIXES:
        return read_array(path, "the strategy")
    raise OptionError(
        f"the strategy '{given}' is not a baseline or a {', '.join(SUFFIXES)} or {SAVED} file",
        hint=suggest(str(given), baseline_words()),
    )


def norm_of(given: Any) -> int | None:
    """The norm of a strategy; None for other values."""
    return given.norm if isinstance(given, StrategyForm) else None


def checked_strategy(workload: Workload, given: Any, covariance: Any, basis: Any, norm: int) -> Strategy:
    """The given strategy, or Σ^(-1/2) B of a covariance Σ on a basis B, checked against the workload.

    Raises
    ------
    OptionError : neither or both are given, they are not numbers, or beyond 1e100 or below 1e-100, have
        another number of cells, or do not support the workload.
    """
    if (given is None) == (covariance is None):
        both = (
            "both a strategy and a covariance" if given is not None else "neither a strategy nor a covariance"
        )
        raise OptionError(f"{both} given, expected one of them")
    if basis is not None and covariance is None:
        raise OptionError("a basis is given without the covariance of the noise on it")
    if covariance is not None:
        rows = workload.basis if basis is None else numbers("the basis", basis)
        strategy = Strategy.from_covariance(numbers("the covariance", covariance), rows, norm)
    else:
        is_form = isinstance(given, StrategyForm)
        strategy = as_dense(given) if is_form else Strategy(numbers("the strategy", given), norm)
    if strategy.n != workload.n:
        raise OptionError(f"the strategy has {strategy.n} cells, the workload has {workload.n}")
    # Squares of entries, and quotients by them, have to be finite.
    if 0 < (size := float(np.abs(strategy.matrix).max(initial=0.0))) < 1e-100 or size > 1e100:
        raise OptionError(
            f"the strategy's largest entry is {size:.3g}, expected 1e-100 to 1e+100",
            hint=f"divide it by {size:.3g}: a multiple of a strategy is the same strategy",
        )
    _check_support(strategy, workload)
    return strategy


def _check_support(strategy: Strategy, workload: Workload) -> None:
    """Refuse a strategy whose answers do not determine those of the workload."""
    outside = strategy.unsupported(workload)
    worst = int(np.argmax(outside))
    if strategy.supports(workload) and outside[worst] <= SUPPORT_TOLERANCE:
        return
    count = max(1, int((outside > SUPPORT_TOLERANCE).sum()))
    label, off = workload.labels()[worst], outside[worst]
    raise OptionError(
        f"the strategy does not support the workload: W A⁺ A differs from W for {count} of {workload.m} "
        f"queries, most for '{label}' (query {worst}), by {off:.1e} of its size",
        hint="add queries to the strategy until every query of the workload is a combination of them",
    )
