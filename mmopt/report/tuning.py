"""The errors of every part of a workload, by what the strategy was optimised for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.table import Table

from mmopt.driver import Tuned
from mmopt.report.style import cell, figure, gap, new_table
from mmopt.results import Solution
from mmopt.workloads import Workload
from mmopt.workloads.variants import only, subworkloads

__all__ = ["subworkloads_table", "tuning_table"]


def subworkloads_table(solution: Solution, workload: Workload) -> Table:
    """Each sub-workload: how many queries, and their errors for unit noise per unit of sensitivity."""
    numbers = ("queries", "rmse", "largest")
    table = new_table("sub-workload", *numbers, right=numbers)
    for name in subworkloads(workload):
        part = only(workload, name)
        variances = solution.sensitivity**2 * solution.strategy.variances(part)
        errors = [figure(float(np.sqrt(v)), 5, up=True) for v in (variances.mean(), variances.max())]
        table.add_row(cell(name, "bold"), f"{part.m:,}", *errors)
    return table


def tuning_table(tuned: Sequence[Tuned]) -> Table:
    """A row per strategy: the root mean square error per query of each part, and the gap of total error."""
    parts = list(dict.fromkeys(part for row in reversed(tuned) for part in row.rmse))
    table = new_table("optimised for", *parts, "gap", right=(*parts, "gap"))
    for row in tuned:
        errors = [figure(row.rmse.get(part), 5, up=True) for part in parts]
        table.add_row(cell(row.optimised, "bold"), *errors, gap(row.gap))
    return table
