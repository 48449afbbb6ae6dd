"""Ladders: how the time of each solver grows with the size, and how far it gets within the limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aggregates import times_to

from mmopt.limits import Stop
from mmopt.report.chart_parts import (
    MARKERS,
    empty_figure,
    entry,
    logarithmic,
    need_matplotlib,
    on_its_page,
    plainly,
    stroke,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CHART", "ENOUGH", "Ladders", "climbed", "ladder_figure", "ladder_table", "largest"]

Ladders = Mapping[str, Mapping[str, Mapping[int, float]]]  # ladder, solver, size: seconds
CHART = "ladders.svg"
ENOUGH = 1e-6  # the gap at which a size is solved: proved from the solver's own x and y
COLUMNS = 5  # of the legend


def climbed(
    rows: Sequence[Mapping[str, Any]], clock: str, limit: float
) -> dict[str, dict[str, dict[int, float]]]:
    """By ladder, solver and size the seconds to ``ENOUGH``, infinity where that was not reached."""
    steps = [row for row in rows if row["ladder"] is not None and row["stop"] != Stop.UNSUITABLE]
    times = times_to(steps, ENOUGH, clock, limit)
    by_ladder: dict[str, dict[str, dict[int, float]]] = {}
    for row in steps:
        of_solver = by_ladder.setdefault(row["ladder"], {}).setdefault(row["solver"], {})
        of_solver[row["size"]] = times[row["solver"], row["instance"]]
    return by_ladder


def largest(sizes: Mapping[int, float]) -> int | None:
    """The largest size that was solved."""
    return max((size for size, seconds in sizes.items() if math.isfinite(seconds)), default=None)


def ladder_table(solvers: Mapping[str, Mapping[int, float]]) -> tuple[list[str], list[list[str]]]:
    """Heads and lines: the seconds for each size, and the largest that was solved; a dash: not called."""
    sizes = sorted({size for steps in solvers.values() for size in steps})
    lines = []
    for solver, steps in solvers.items():
        cells = [
            "-" if size not in steps else f"{steps[size]:.2g}" if math.isfinite(steps[size]) else "no"
            for size in sizes
        ]
        lines.append([solver, *cells, f"{largest(steps) or 'none'}"])
    return ["solver", *map(str, sizes), "largest"], lines


def ladder_figure(ladders: Ladders) -> Figure:
    """A panel for each ladder, one above the other: seconds against size, a line for each solver."""
    need_matplotlib()
    solvers = list(dict.fromkeys(name for steps in ladders.values() for name in steps))
    figure = empty_figure(6.0, 0.9 + 2.0 * len(ladders))
    panels = figure.subplots(len(ladders), 1, squeeze=False)[:, 0]
    styles = [
        {**stroke(i, i + i // len(MARKERS), 1.2), "marker": MARKERS[i % len(MARKERS)], "markersize": 4}
        for i in range(len(solvers))
    ]
    for axes, (name, by_solver) in zip(panels, ladders.items(), strict=True):
        for solver, steps in by_solver.items():
            solved = {size: seconds for size, seconds in steps.items() if math.isfinite(seconds)}
            axes.plot(list(solved), list(solved.values()), **styles[solvers.index(solver)])
        axes.set_yscale("log")
        sizes = sorted({size for steps in by_solver.values() for size in steps})
        logarithmic(axes)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        plainly(axes, name)
    panels[-1].set_xlabel("cells")
    figure.supylabel("seconds", fontsize=9)
    handles = [entry(solver, **style) for solver, style in zip(solvers, styles, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", frameon=False, fontsize=8, ncols=COLUMNS)
    return on_its_page(figure)
