"""Which options the way to a program's solution reads; one that nothing reads is refused before any work.

A procedure reads what a step of it reads. Read of every program are the limit of time, the threads (of the
linear algebra), and what only asks to see or to leave out something: verbose, history, progress, reduce.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, TypeGuard

from mmopt.compiler import cones
from mmopt.errors import OptionError, UnsuitableError
from mmopt.language import Checked, shipped
from mmopt.language.syntax.syntax_tree import Repeat, SubProgram
from mmopt.solvers import (
    KERNELS,
    LBFGS,
    SOLVERS,
    Kernel,
    SolverRow,
    is_kernel,
    known_as,
    missing_cones,
    solver_row,
)

__all__ = ["CLASSES", "OF_SOLVERS", "reads", "refuse_unread", "takes", "unread"]

CONIC, SEARCHED, SOLVED = ("convex", "rank"), ("rank", "smooth"), ("convex", "rank", "smooth")
# The other options, with the classes that read them.
CLASSES: Mapping[str, tuple[str, ...]] = {
    "solver": SOLVED,
    "tolerance": SOLVED,
    "max_iterations": SOLVED,
    "start": SEARCHED,
    "starts": SEARCHED,
    "seed": SEARCHED,
    "penalty": ("rank",),
    "arrays": ("convex",),
    "derive": ("convex",),
}
OF_THE_WHOLE = ("start", "derive")  # not handed on to the steps of a procedure
OF_SOLVERS = ("arrays", "starts", "seed", "max_iterations")  # which a solver reads if its row says so
ALL: tuple[Kernel | SolverRow, ...] = (*KERNELS, *SOLVERS, LBFGS)


def refuse_unread(checked: Checked, solver: str | SolverRow | None, asked: Mapping[str, Any]) -> None:
    """Refuse a solver that does not solve the program, and options that its way does not read.

    ``asked`` by name; None and False ask for nothing.

    Raises
    ------
    OptionError, SolverError : an unknown solver, as ``solver_row``; an option that is not read.
    UnsuitableError : the solver solves other programs; which do this one is said.
    """
    # Of a conic solver for a program of its class the cones are seen with the sizes.
    if solver is not None and not (takes(checked, solver) or _is_conic(_row(solver), checked)):
        words = f"the kernel '{solver}' does not know" if is_kernel(solver) else f"{solver} does not solve"
        able = ", ".join(row.name for row in ALL if takes(checked, row))
        hint = f"these do: {able}" if able else "it is a closed form: leave out the solver"
        raise UnsuitableError(f"{words} '{checked.program.name}'", hint=hint)
    for option, value in asked.items():
        if value is not None and value is not False and not reads(checked, option, solver):
            raise unread(option, checked, solver)


def reads(checked: Checked, option: str, solver: str | SolverRow | None = None) -> bool:
    """Whether the way to the program's solution, by a solver if one is named, reads an option."""
    is_whole = checked.program.klass == "procedure" and option in OF_THE_WHOLE
    return option not in CLASSES or (
        not is_whole and any(_reads(one, option, solver) for one in _solved(checked))
    )


def takes(checked: Checked, solver: str | SolverRow | Kernel) -> bool:
    """Whether a solver solves the program, or a step of it, at some size; errors as ``solver_row``."""
    return any(_does(one, _row(solver)) for one in _solved(checked))


def unread(option: str, checked: Checked, by: str | SolverRow | None) -> OptionError:
    """The error for an option that the program's class does not read, or whoever solves it."""
    program, classes = checked.program, CLASSES[option]
    who = [str(by or row.name) for row in ALL if program.klass in classes and _does(checked, row)]
    who += [f"what '{program.name}' solves"] * (program.klass == "procedure" and option not in OF_THE_WHOLE)
    able = [row.name for row in ALL if option in OF_SOLVERS and option in row.reads]
    hint = f"it belongs to class {' and '.join(', '.join(classes).rsplit(', ', 1))}"
    hint = f"these have it: {', '.join(able)}" if who and able else hint
    hint += "; a baseline can also be a given (--given NAME=haar)" * (
        option == "start" and bool(program.givens)
    )
    who += [f"'{program.name}' is of class '{program.klass}', which"]
    return OptionError(f"{who[0]} has no option '{option}'", hint=hint)


def _reads(one: Checked, option: str, solver: str | SolverRow | None) -> bool:
    klass = one.program.klass
    if klass not in CLASSES[option] or option not in OF_SOLVERS or klass == "rank":
        return klass in CLASSES[option]
    able = [row for row in (ALL if solver is None else [_row(solver)]) if _does(one, row)]
    return any(option in row.reads for row in (able[:1] if klass == "smooth" else able))


def _row(solver: str | SolverRow | Kernel) -> Kernel | SolverRow:
    """The row of a solver; errors as ``solver_row``."""
    if not isinstance(solver, str):
        return solver
    ours = {row.name: row for row in ALL if isinstance(row, Kernel) or row is LBFGS}
    return ours.get(solver.lower()) or solver_row(solver, list(ours))


def _does(one: Checked, row: Kernel | SolverRow) -> bool:
    """Whether a kernel knows what is solved by its lines, or a conic solver has the kinds of cone for it."""
    if isinstance(row, Kernel):
        return known_as(row, one) is not None
    if _is_conic(row, one):
        return not missing_cones(row, cones(one, defaultdict(lambda: 3)))  # the kinds hang on no size
    return row is LBFGS and one.program.klass == "smooth"


def _is_conic(row: Kernel | SolverRow, one: Checked) -> TypeGuard[SolverRow]:
    return isinstance(row, SolverRow) and row is not LBFGS and one.program.klass in CONIC


def _solved(checked: Checked) -> list[Checked]:
    """What is solved: the program, or what the steps of a procedure solve."""
    found: list[Checked] = []
    steps = list(checked.program.steps)
    for step in steps:
        if isinstance(step, Repeat):
            steps += step.steps
        elif isinstance(step, SubProgram):
            found += _solved(shipped(step.program))
    return found if checked.program.klass == "procedure" else [checked]
