"""Which solver takes a convex program: a kernel that claims it, else a conic solver by its forecast."""

from __future__ import annotations

from mmopt.compiler import Instance, cones, variables
from mmopt.errors import SolverError, TooLargeError, UnsuitableError
from mmopt.solvers import (
    KERNELS,
    SOLVERS,
    Claim,
    Forecast,
    SolverRow,
    choose,
    claims,
    forecast,
    memory_limit,
    missing_cones,
    refuse_too_large,
    solver_named,
)

__all__ = ["choose_solver", "is_claimed", "pick_solver", "predicted"]


def choose_solver(instance: Instance, name: str | None) -> SolverRow | Claim:
    """The solver or kernel named; by default a kernel that claims the program, else the best conic solver.

    Raises
    ------
    OptionError, SolverError : unknown, not installed, it lacks a cone, or the kernel does not claim it.
    TooLargeError : the forecast does not fit into memory.
    """
    if name is not None and name.lower() not in {k.name for k in KERNELS}:
        return pick_solver(instance, name)
    for claim in claims(instance):
        if name is None or claim.name == name.lower():
            _refuse_too_large(instance, claim)
            return claim
    if name is None:
        return pick_solver(instance, None)
    kernel = next(k for k in KERNELS if k.name == name.lower())
    raise UnsuitableError(
        f"the kernel '{kernel.name}' does not know '{instance.program.name}'",
        hint=f"it solves {', '.join(kernel.programs)}, under any names",
    )


def is_claimed(instance: Instance, name: str | None, *, has_start: bool = False) -> bool:
    """Whether a kernel takes the instance: any by default, the one that is named otherwise.

    With a start none that finds local optima does.
    """
    own = (claim for claim in claims(instance) if not (has_start and claim.kernel.is_local))
    return any(name is None or claim.name == name.lower() for claim in own)


def predicted(instance: Instance, row: SolverRow | Claim) -> Forecast:
    """Memory and time of a solver on an instance."""
    if isinstance(row, Claim):
        return row.forecast(instance)
    sizes = instance.sizes()
    return forecast(row, cones(instance.checked, sizes), variables(instance.checked, sizes))


def _refuse_too_large(instance: Instance, claim: Claim) -> None:
    needed, limit = predicted(instance, claim).memory, memory_limit()
    if needed > limit:
        w, gigabyte = instance.workload, 2**30
        raise TooLargeError(
            f"'{instance.program.name}' with {claim.name} would need about {needed / gigabyte:.0f} GiB of "
            f"memory; the limit here is {limit / gigabyte:.0f} GiB",
            hint=f"the workload has {w.n:,} cells and {w.m:,} queries; use fewer cells",
        )


def pick_solver(instance: Instance, name: str | None) -> SolverRow:
    """The solver named, if it has the cones; else the first suitable one of the table.

    Raises
    ------
    OptionError, SolverError : unknown, not installed, or it lacks a cone (named).
    TooLargeError : the forecast does not fit into memory.
    """
    needed = cones(instance.checked, instance.sizes())
    unknowns = variables(instance.checked, instance.sizes())
    if name is not None:
        row = solver_named(name, [k.name for k in KERNELS])
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
        row = choose(rows, needed, unknowns)
    refuse_too_large(instance.program.name, row, needed, unknowns)
    return row
