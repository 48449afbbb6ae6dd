"""Which solver takes which program: the cones of each against the table of solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from mmopt.compiler import bind, cones
from mmopt.compiler.match import match
from mmopt.language import Checked, shipped
from mmopt.language.check.procedures import solved_programs
from mmopt.report.style import cell, new_table
from mmopt.solvers import KERNELS, SOLVERS, Kernel, SolverRow
from mmopt.workloads import Workload

__all__ = ["Takers", "takers", "takers_table"]


@dataclass(frozen=True)
class Takers:
    """Who takes a program.

    kernels : names of those that do. cones : kinds of cone that a conic solver needs for it; None where none
    is needed: programs of class smooth are searched by gradients, closed forms evaluated.
    """

    kernels: tuple[str, ...]
    cones: frozenset[str] | None

    def lacking(self, row: SolverRow) -> list[str] | None:
        """The cones that a solver lacks, sorted; None when none are needed at all."""
        return None if self.cones is None else sorted(self.cones - row.cones)


def takers(checked: Checked) -> Takers:
    """Who takes a program; of a procedure, who takes every program that it solves."""
    if checked.program.klass != "procedure":
        return Takers(tuple(k.name for k in KERNELS if _claims(k, checked)), _cones(checked))
    steps = [takers(shipped(name)) for name in solved_programs(checked.program.steps)]
    kernels = (k.name for k in KERNELS if steps and all(k.name in step.kernels for step in steps))
    conic = [step.cones for step in steps if step.cones is not None]
    return Takers(tuple(kernels), frozenset().union(*conic) if conic else None)


def _claims(kernel: Kernel, checked: Checked) -> bool:
    known = kernel.programs if checked.program.klass in ("convex", "smooth") else ()
    return any(match(shipped(name), checked) for name in known)


def _cones(checked: Checked) -> frozenset[str] | None:
    if checked.program.klass in ("smooth", "closed form"):
        return None
    workload = Workload.from_matrix([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], targets=[1.0] * 3)
    instance = bind(checked, workload)
    return frozenset(cone.kind for cone in cones(instance.checked, instance.sizes()))


def takers_table(programs: Sequence[Checked]) -> Table:
    """A row for each program: the kernel, and the conic solvers with the cones that some lack."""
    table = new_table("program", "kernel", "conic solvers")
    for checked in programs:
        found = takers(checked)
        lacks = {row.name: found.lacking(row) for row in SOLVERS}
        unable = [f"{name} ({', '.join(kinds)})" for name, kinds in lacks.items() if kinds]
        conic = f"all but {', '.join(unable)}" if unable else "all"
        entries = ", ".join(found.kernels), "none needed" if found.cones is None else conic
        table.add_row(cell(checked.program.name, "bold"), *map(cell, entries))
    return table
