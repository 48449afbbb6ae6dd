"""Strategies of several forms for one workload, the best first."""

from __future__ import annotations

import numpy as np
from rich.table import Table

from mmopt.driver.templates import Templates
from mmopt.report.style import cell, duration, figure, new_table

__all__ = ["templates_table"]


def templates_table(found: Templates) -> Table:
    """A row per template, then the bound: total error, root mean square per query, factor above the bound."""
    numbers = ("total error", "rmse", "error / bound", "time")
    table = new_table("template", *numbers, "strategy", right=numbers)
    for c in found.candidates:
        known = np.isfinite(c.error)
        table.add_row(
            cell(c.template, "bold"),
            figure(c.error if known else None, up=True),
            figure(c.rmse if known else None, up=True),
            figure(c.error / found.bound if known else None, 5, up=True),
            duration(c.seconds),
            cell(c.reason if c.strategy is None else repr(c.strategy)),
        )
    bound = figure(found.bound, up=False)
    table.add_row(cell("bound", "bold"), bound, "", "1", "", cell(f"by {found.bound_from}"))
    return table
