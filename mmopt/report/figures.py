"""The charts of what users hold, by kind: of solutions, strategies and comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mmopt.comparison import Comparison
from mmopt.report.charts import need_matplotlib
from mmopt.report.convergence_chart import convergence_figure
from mmopt.report.frames import asked_of, kind_of, kinds_of, strategy_of
from mmopt.report.strategy_charts import error_figure, heat_map, profile_of_cells
from mmopt.request import WorkloadLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["chart"]


def chart(value: Any, kind: str = "", workload: WorkloadLike | None = None) -> Figure:
    """The chart of this kind; parameters and errors as ``notebook.Charted.plot``."""
    need_matplotlib()
    kinds = ("convergence",) if isinstance(value, Comparison) else kinds_of(value)
    kind = kind_of(kind, kinds, "chart")
    if isinstance(value, Comparison):
        return convergence_figure(value)
    if kind == "convergence":
        return convergence_figure([value], f"{value.program} by {value.solver}")
    strategy = strategy_of(value)
    title = getattr(value, "program", type(value).__name__)
    if kind == "strategy":
        return heat_map(strategy, title)
    if kind == "profile":
        return profile_of_cells(strategy, title)
    is_proved = getattr(value, "error_bound_grade", "") == "proved"  # of a strategy alone nothing is
    bound = value.error_bound if is_proved else None
    return error_figure(strategy, asked_of(value, workload, "plot"), title, bound)
