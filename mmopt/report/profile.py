"""The cells that pay less than the largest privacy cost, and what could be answered there for free."""

from __future__ import annotations

import numpy as np
from rich.table import Table

from mmopt.report.orbits import orbit_label
from mmopt.report.style import cell, figure, new_table
from mmopt.results import Solution
from mmopt.results.shown import levels
from mmopt.strategies import ComponentStrategy
from mmopt.workloads import Workload

__all__ = ["SHOWN", "slack_table"]

SHOWN = 10


def slack_table(solution: Solution, workload: Workload) -> Table | None:
    """Cells with slack, the most first; None when there are none.

    Measuring the count of cell i with variance v adds 1 / v to its cost and to no other, so a variance of
    1 / slack leaves the privacy cost of the whole as it is (PVLDB 2021, section 4: personalised costs).
    """
    slack, sizes = levels(solution.slack)
    profile, _ = levels(solution.profile)
    order = [int(i) for i in np.argsort(-slack, kind="stable") if slack[i] > 0]
    if not order:
        return None
    table = new_table("cell with slack", "cost / Δ²", "its count could be answered with variance")
    largest = profile.max()
    for i in order[:SHOWN]:
        name = _name(solution, workload, i)
        variance = figure(1 / slack[i], 4, up=True)
        table.add_row(cell(name), cell(f"{profile[i] / largest:.4f}"), cell(f">= {variance}"))
    if len(order) > SHOWN:
        table.add_row(cell(f"and {int(sizes[order[SHOWN:]].sum())} more"), "", "")
    return table


def _name(solution: Solution, workload: Workload, number: int) -> str:
    """A cell by its values, or an orbit of cells."""
    if isinstance(solution.strategy, ComponentStrategy):
        return orbit_label(solution.strategy.cells, workload.domain, number)
    return ", ".join(workload.domain.cell(number))
