"""Which solver takes a convex program: a kernel that claims it, else a conic solver by its forecast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mmopt.compiler import Instance, cones, variables
from mmopt.errors import OptionError, SolverError, UnsuitableError, whole
from mmopt.solvers.kernels import KERNELS, Claim, claims, is_kernel
from mmopt.solvers.table_of_solvers import (
    LBFGS,
    SOLVERS,
    Forecast,
    SolverRow,
    forecast,
    function_row,
    memory_limit,
    missing_cones,
    quickest,
    refuse_too_large,
    solver_row,
    too_large,
)

__all__ = ["SolverLike", "as_solver", "choose_solver", "conic_solver", "predicted", "solver_name"]

SolverLike = str | Callable[..., Any] | None
"""What callers name a solver by: a name, ``module:function``, a function of one ``ConicProblem``."""


def as_solver(solver: SolverLike) -> str | SolverRow | None:
    """A name as it is, and the row of a function; OptionError for anything else."""
    if solver is None or isinstance(solver, str):
        return solver
    if callable(solver):
        return function_row(solver)
    raise OptionError(
        f"a {type(solver).__name__} is no solver",
        hint="expected a name ('clarabel'), 'module:function', or a function of a ConicProblem",
    )


def solver_name(solver: SolverLike) -> str | None:
    """The name by which a process of its own finds a kernel, an installed solver or a function.

    Errors as ``solver_row``, and OptionError for a function that it would not find.
    """
    row = as_solver(solver)
    if isinstance(row, SolverRow):
        from mmopt.solvers.function_solver import reference

        return reference(row.function) if row.function is not None else row.name
    if row is None or is_kernel(row) or row.lower() == LBFGS.name:
        return None if row is None else row.lower()
    return solver_row(row, [k.name for k in KERNELS]).name


def choose_solver(instance: Instance, name: str | SolverRow | None) -> SolverRow | Claim:
    """The solver or kernel named; by default a kernel that claims the program, else the best conic solver.

    Raises
    ------
    OptionError, SolverError : unknown, not installed, it lacks a cone, or the kernel does not claim it.
    TooLargeError : the forecast does not fit into memory.
    """
    if not is_kernel(name):
        return conic_solver(instance, name)
    for claim in claims(instance):
        if name is None or claim.name == str(name).lower():
            w, needed = instance.workload, predicted(instance, claim)
            if needed.memory > memory_limit():
                hint = f"the workload has {whole(w.n)} cells and {w.m:,} queries; use fewer cells"
                raise too_large(instance.program.name, needed, hint)
            return claim
    if name is None:
        return conic_solver(instance, None)
    raise UnsuitableError(
        f"the kernel '{name}' does not know '{instance.program.name}' with what is given here",
        hint="leave out the solver",
    )


def predicted(instance: Instance, row: SolverRow | Claim) -> Forecast:
    """Memory and time of a solver on an instance."""
    if isinstance(row, Claim):
        return row.forecast(instance)
    sizes = instance.sizes()
    return forecast(row, cones(instance.checked, sizes), variables(instance.checked, sizes))


def conic_solver(instance: Instance, name: str | SolverRow | None) -> SolverRow:
    """The solver named, if it has the cones; else the first suitable one of the table.

    Raises
    ------
    OptionError, SolverError : unknown, not installed, or it lacks a cone (named).
    TooLargeError : the forecast does not fit into memory.
    """
    needed = cones(instance.checked, instance.sizes())
    unknowns = variables(instance.checked, instance.sizes())
    if name is not None:
        row = name if isinstance(name, SolverRow) else solver_row(name, [k.name for k in KERNELS])
        missing = missing_cones(row, needed)
        if missing:
            able = [r.name for r in SOLVERS if not missing_cones(r, needed)]
            raise UnsuitableError(
                f"'{instance.program.name}' does not work with {row.name}: "
                f"it must have the {' and the '.join(missing)} cone",
                hint=f"these have it: {', '.join(able)}",
            )
    else:
        rows = [r for r in SOLVERS if r.is_installed and not missing_cones(r, needed)]
        if not rows:
            raise SolverError(f"no installed solver has all the cones that '{instance.program.name}' needs")
        row = quickest(rows, needed, unknowns)
    refuse_too_large(instance.program.name, row, needed, unknowns)
    return row
