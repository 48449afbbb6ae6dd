"""Which solver takes which program: the cones of each against the table of solvers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmopt.compiler import bind, cones
from mmopt.compiler.match import match
from mmopt.language import Program, check
from mmopt.language.procedures import solved_programs
from mmopt.queries import Workload
from mmopt.report.style import cell, new_table
from mmopt.solvers import KERNELS, SOLVERS, Kernel, SolverRow

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["lacking", "taken", "takers_table"]


def takers_table(programs: Sequence[Program]) -> Table:
    """A row for each program, a column for each kernel and for each conic solver.

    For a kernel an entry is ``yes`` or empty. For a conic solver it is ``yes`` or names the cones that the
    solver lacks; ``-`` where no conic solver is needed: programs of class smooth are searched by gradients,
    closed forms evaluated.
    """
    table = new_table("program", *(k.name for k in KERNELS), *(row.name for row in SOLVERS))
    for program in programs:
        own = ["yes" if taken(program, kernel) else "" for kernel in KERNELS]
        entries = [lacking(program, row) for row in SOLVERS]
        words = ["-" if e is None else f"no: {', '.join(e)}" if e else "yes" for e in entries]
        table.add_row(cell(program.name, "bold"), *map(cell, own), *map(cell, words))
    return table


def taken(program: Program, kernel: Kernel) -> bool:
    """Whether a kernel takes the program, or every program that a procedure solves."""
    if program.klass == "procedure":
        steps = [Program.load(name) for name in solved_programs(program.steps)]
        return bool(steps) and all(taken(step, kernel) for step in steps)
    return program.klass in ("convex", "smooth") and any(
        match(check(Program.load(known)), check(program)) for known in kernel.programs
    )


def lacking(program: Program, row: SolverRow) -> list[str] | None:
    """The cones that the program needs and the solver lacks, sorted; None when it needs none at all."""
    needed = _needed(program)
    return None if needed is None else sorted(needed - row.cones)


def _needed(program: Program) -> set[str] | None:
    """The kinds of cone of a program, or of the programs that a procedure solves; None without any."""
    if program.klass == "procedure":
        needs = [_needed(Program.load(name)) for name in solved_programs(program.steps)]
        conic = [need for need in needs if need is not None]
        return set().union(*conic) if conic else None
    if program.klass in ("smooth", "closed form"):
        return None
    workload = Workload.from_matrix([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], targets=[1.0] * 3)
    instance = bind(program, workload)
    return {cone.kind for cone in cones(instance.checked, instance.sizes())}
