"""Cones and solvers of a problem as tables."""

from __future__ import annotations

from rich.table import Table

from mmopt.report.sizes import Sizes
from mmopt.report.style import cell, duration, memory, new_table

__all__ = ["cones_table", "solvers_table"]


def cones_table(sizes: Sizes) -> Table:
    """The cones that the problem is handed over in, and the line of the program that each comes from."""
    table = new_table("cone", "size", "count", "from", right=("size", "count"))
    for cone in sizes.cones:
        table.add_row(cell(cone.kind), f"{cone.size:,}", f"{cone.count:,}", cell(cone.origin))
    return table


def solvers_table(sizes: Sizes) -> Table:
    """Which solver takes the problem, or the cone that it lacks; predicted memory and time."""
    table = new_table("solver", "memory", "time", "remark", right=("memory", "time"))
    for solver in sizes.solvers:
        if solver.missing:
            table.add_row(
                cell(solver.name), "-", "-", cell(f"lacks the {' and the '.join(solver.missing)} cone")
            )
            continue
        remarks = []
        if solver.name == sizes.chosen:
            remarks.append("chosen")
        if not solver.installed:
            remarks.append("not installed")
        if solver.memory > sizes.memory_limit:
            remarks.append(f"over the limit of {memory(sizes.memory_limit)}")
        table.add_row(
            cell(solver.name),
            memory(solver.memory),
            f"≈ {duration(solver.seconds)}",
            cell(", ".join(remarks)),
        )
    return table
