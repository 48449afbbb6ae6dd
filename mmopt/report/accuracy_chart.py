"""A chart of the half widths of all queries' intervals, before any data: a line for each group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mmopt.mechanism import Plan
from mmopt.mechanism.accuracy_columns import accuracy_figures
from mmopt.numerics.outward import rounded
from mmopt.report.charts import empty_figure, need_matplotlib, plainly, save, stroke
from mmopt.report.table_style import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["accuracy_figure", "write_accuracy_chart"]

GROUPS_NAMED = 12  # in the legend
FEW_QUERIES = 60  # of a group, up to which each has a mark


def write_accuracy_chart(plan: Plan, confidence: float, path: Path, title: str = "") -> None:
    """Draw into a file, whole or not at all. OptionError, ResultError as ``charts.save``."""
    save(path, lambda: accuracy_figure(plan, confidence, title))


def accuracy_figure(plan: Plan, confidence: float, title: str = "") -> Figure:
    """Half widths by query, in the order of the workload; what was asked for as a dotted line above.

    OptionError where matplotlib is not installed.
    """
    need_matplotlib()
    errors = accuracy_figures(plan, confidence)
    widths = errors["half_width"]
    asked = errors.get("within", np.full(len(widths), np.nan))
    from matplotlib.ticker import MaxNLocator

    figure = empty_figure(8.0, 4.0)
    axes = figure.add_subplot()
    for number, (name, part) in enumerate(plan.workload.groups()):
        queries = np.arange(part.start, part.stop)
        style = stroke(number)
        marker = "o" if len(queries) < FEW_QUERIES else ""
        label = name if number < GROUPS_NAMED else None
        axes.plot(queries, widths[part], label=label, marker=marker, markersize=3, **style)
        axes.plot(queries, asked[part], color=style["color"], linestyle=":", linewidth=1.0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("query, in the order of the workload")
    axes.set_ylabel(f"± counts at {percent(confidence)}")
    if np.isfinite(asked).any():
        axes.plot([], [], color="0.4", linestyle=":", label="asked for")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    unit, spent = plan.spent
    said = f"{plan.law.name} noise, {unit} {rounded(str(spent), 4, up=True)}"
    plainly(axes, f"{title}: {said}" if title else said)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure
