"""The chart of a measurement: CPU seconds against cells, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmopt.report.drawing import COLOURS, DASHES, MARKERS
from mmopt.testing.bench.fit import Exponent
from mmopt.testing.bench.measure import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

ACROSS = 2  # charts side by side


def draw(rows: Sequence[Row], found: Sequence[Exponent]) -> Figure:
    """A chart for each program and problem, a line for each solver: another marker, dash and colour.

    The legend has the fitted exponents. A filled marker is a solve that reached its gap, an open one another.
    """
    from matplotlib.figure import Figure

    groups = list(dict.fromkeys((row.program, row.problem) for row in rows))
    solvers = list(dict.fromkeys(row.solver for row in rows))
    down = -(-len(groups) // ACROSS) or 1
    across = min(ACROSS, max(len(groups), 1))
    figure = Figure(figsize=(4.6 * across, 3.6 * down), layout="constrained")
    for number, group in enumerate(groups):
        axes = figure.add_subplot(down, across, number + 1)
        for place, solver in enumerate(solvers):
            chosen = [
                r for r in rows if (r.program, r.problem, r.solver) == (*group, solver) and r.cpu is not None
            ]
            fit = next((e for e in found if (e.program, e.problem, e.solver) == (*group, solver)), None)
            if chosen:
                label = solver if fit is None else f"{solver}: n^{fit.cpu:.1f}"
                _draw_line(axes, sorted(chosen, key=lambda row: row.n), place, label)
        sizes = sorted({row.n for row in rows if (row.program, row.problem) == group})
        _dress(axes, f"{group[0]} on {group[1]}", sizes)
    return figure


def _draw_line(axes: Axes, rows: Sequence[Row], place: int, label: str) -> None:
    colour = COLOURS[place % len(COLOURS)]
    marker = MARKERS[place % len(MARKERS)]
    axes.plot(
        [row.n for row in rows],
        [row.cpu or 0.0 for row in rows],
        color=colour,
        linestyle=DASHES[place % len(DASHES)],
        linewidth=1.4,
        marker=marker,
        markersize=6,
        markerfacecolor=colour,
        label=label,
    )
    short = [row for row in rows if not row.has_reached]
    axes.plot(
        [row.n for row in short],
        [row.cpu or 0.0 for row in short],
        color=colour,
        linestyle="none",
        marker=marker,
        markersize=6,
        markerfacecolor="white",
    )


def _dress(axes: Axes, title: str, sizes: Sequence[int]) -> None:
    from matplotlib.ticker import NullFormatter

    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("cells")
    axes.set_ylabel("CPU seconds")
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(which="major", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if axes.lines:
        axes.legend(frameon=False, fontsize=8)
