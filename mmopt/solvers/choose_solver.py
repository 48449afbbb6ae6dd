"""Which solver takes a convex program: a kernel that claims it, else a conic solver by its forecast."""

from __future__ import annotations

from mmopt.compiler import Instance, cones, variables
from mmopt.errors import SolverError, UnsuitableError
from mmopt.solvers.kernels import KERNELS, Claim, claims
from mmopt.solvers.table_of_solvers import (
    SOLVERS,
    Forecast,
    SolverRow,
    forecast,
    memory_limit,
    missing_cones,
    quickest,
    refuse_too_large,
    solver_row,
    too_large,
)

__all__ = ["choose_solver", "conic_solver", "predicted", "solver_name"]


def solver_name(name: str) -> str:
    """The name of a kernel or of an installed conic solver; errors as ``solver_row``."""
    lower, kernels = name.lower(), [k.name for k in KERNELS]
    return lower if lower in kernels else solver_row(name, kernels).name


def choose_solver(instance: Instance, name: str | None) -> SolverRow | Claim:
    """The solver or kernel named; by default a kernel that claims the program, else the best conic solver.

    Raises
    ------
    OptionError, SolverError : unknown, not installed, it lacks a cone, or the kernel does not claim it.
    TooLargeError : the forecast does not fit into memory.
    """
    if name is not None and name.lower() not in {k.name for k in KERNELS}:
        return conic_solver(instance, name)
    for claim in claims(instance):
        if name is None or claim.name == name.lower():
            w, needed = instance.workload, predicted(instance, claim)
            if needed.memory > memory_limit():
                hint = f"the workload has {w.n:,} cells and {w.m:,} queries; use fewer cells"
                raise too_large(instance.program.name, needed, hint)
            return claim
    if name is None:
        return conic_solver(instance, None)
    kernel = next(k for k in KERNELS if k.name == name.lower())
    raise UnsuitableError(
        f"the kernel '{kernel.name}' does not know '{instance.program.name}'",
        hint=f"it solves {', '.join(kernel.programs)}, under any names",
    )


def predicted(instance: Instance, row: SolverRow | Claim) -> Forecast:
    """Memory and time of a solver on an instance."""
    if isinstance(row, Claim):
        return row.forecast(instance)
    sizes = instance.sizes()
    return forecast(row, cones(instance.checked, sizes), variables(instance.checked, sizes))


def conic_solver(instance: Instance, name: str | None) -> SolverRow:
    """The solver named, if it has the cones; else the first suitable one of the table.

    Raises
    ------
    OptionError, SolverError : unknown, not installed, or it lacks a cone (named).
    TooLargeError : the forecast does not fit into memory.
    """
    needed = cones(instance.checked, instance.sizes())
    unknowns = variables(instance.checked, instance.sizes())
    if name is not None:
        row = solver_row(name, [k.name for k in KERNELS])
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
