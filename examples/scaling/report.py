"""Report a measurement: fitted exponents, tables, a chart, and three files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import Row
from rich.text import Text

from mmopt import ResultError
from mmopt.installation_and_files import write_whole
from mmopt.report.chart_parts import (
    COLOURS,
    DASHES,
    MARKERS,
    check_chart,
    empty_figure,
    on_its_page,
    plainly,
    save,
)
from mmopt.report.table_style import Table, by_reason, cell, figure, gap, rows_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SPAN = 8  # sizes below an eighth of the largest are left out: there the start of things dominates
NUMBERS = ("CPU s", "wall s", "iter.", "MB", "n² doubles", "gap", "ratio")
ACROSS = 2  # charts side by side
NAMES = ("bench.csv", "bench.json", "bench.svg")


# -- the exponent e of cost ~ n^e, by least squares on logarithms


@dataclass(frozen=True)
class Exponent:
    """cost ~ n^value over sizes from ``low`` to ``high``, of which there are ``count``."""

    program: str
    problem: str
    solver: str
    cpu: float
    memory: float | None
    low: int
    high: int
    count: int


def exponents(rows: Sequence[Row]) -> list[Exponent]:
    """One for each program, problem and solver with two or more sizes solved to the gap, in order."""
    curves: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.cpu is not None and row.has_reached:
            curves.setdefault(row.curve, []).append(row)
    fits = []
    for curve, sizes in curves.items():
        high = max(row.n for row in sizes)
        kept = [row for row in sizes if row.n * SPAN >= high]
        cpu = fitted([(row.n, row.cpu) for row in kept if row.cpu])
        if cpu is not None:
            memory = fitted([(row.n, float(row.memory)) for row in kept if row.memory])
            fits.append(Exponent(*curve, cpu, memory, min(row.n for row in kept), high, len(kept)))
    return fits


def fitted(points: Sequence[tuple[float, float]]) -> float | None:
    """The slope of log y against log x; None for fewer than two different x."""
    if len({x for x, _ in points}) < 2:
        return None
    x, y = np.log(np.array(points, dtype=float).T)
    return float(np.polyfit(x, y, 1)[0])


# -- on the screen


def tables(rows: Sequence[Row], fits: Sequence[Exponent], baseline: str) -> list[Table | Text]:
    """A table for each program and problem, the fitted exponents, what was not solved and why, a legend."""
    parts: list[Table | str] = []
    for group in dict.fromkeys(row.curve[:2] for row in rows):
        parts += [_table(group, [row for row in rows if row.curve[:2] == group]), ""]
    lists = {"Fitted exponents:": map(_law, fits), "Neither fitted nor compared:": _left_out(rows)}
    for title, lines in lists.items():
        texts = [f"  {line}" for line in lines]
        parts += [title, *texts, ""] if texts else []
    parts += [
        f"Medians of {max((row.repeats for row in rows), default=0)} solves, each in a fresh process; "
        "compiling and certifying included.",
        "MB, n² doubles: the most that the process held above what it held at its start.",
        "gap: objective / bound - 1, recomputed from the program file.",
        f"ratio: CPU seconds of {baseline} over these, measured in this run.",
    ]
    return [cell(part) if isinstance(part, str) else part for part in parts]


def _table(group: Sequence[str], rows: Sequence[Row]) -> Table:
    lines = []
    last = None
    for row in sorted(rows, key=lambda row: row.n):
        size = "" if row.n == last else f"{row.n:,}"
        last = row.n
        name = row.solver if row.chosen in ("", row.solver) else f"{row.solver} ({row.chosen})"
        numbers = (
            figure(row.cpu, 3),
            figure(row.wall, 3),
            str(row.iterations),
            "-" if row.memory is None else f"{row.memory / 1e6:.0f}",
            "-" if row.squares is None else f"{row.squares:,.1f}",
            gap(row.gap),
            "-" if row.ratio is None else f"{row.ratio:.3g}",
        )
        lines.append((size, name, *(["-"] * len(NUMBERS) if row.objective is None else numbers)))
    return rows_table(("n", "solver", *NUMBERS), lines, ("n", *NUMBERS), " on ".join(group), ("solver",))


def _law(e: Exponent) -> str:
    memory = "" if e.memory is None else f", memory ~ n^{e.memory:.2f}"
    sizes = f"n = {e.low:,} to {e.high:,}, {e.count} sizes"
    return f"{e.program} on {e.problem}, {e.solver}: CPU ~ n^{e.cpu:.2f}{memory} ({sizes})"


def _left_out(rows: Sequence[Row]) -> list[str]:
    """A line for each reason, with the sizes that have it."""
    reasons = []
    for row in rows:
        if not row.has_reached:
            reason = row.reason if row.gap is None else f"{row.stop}, at gap {gap(row.gap)}"
            reasons.append((f"{row.program} on {row.problem}, {row.solver}: {reason}", f"{row.n:,}"))
    return [f"{line} (n = {', '.join(sizes)})" for line, sizes in by_reason(reasons)]


# -- the chart


def draw(rows: Sequence[Row], fits: Sequence[Exponent]) -> Figure:
    """A chart for each program and problem, a line for each solver: another marker, dash and colour.

    The legend has the fitted exponents. A filled marker is a solve that reached its gap, an open one another.
    """
    groups = list(dict.fromkeys(row.curve[:2] for row in rows))
    solvers = list(dict.fromkeys(row.solver for row in rows))
    powers = {(e.program, e.problem, e.solver): f": n^{e.cpu:.1f}" for e in fits}
    down = -(-len(groups) // ACROSS) or 1
    across = min(ACROSS, max(len(groups), 1))
    chart = empty_figure(6.0 * across, 3.6 * down)
    for number, group in enumerate(groups):
        axes = chart.add_subplot(down, across, number + 1)
        for place, solver in enumerate(solvers):
            line = [row for row in rows if row.curve == (*group, solver) and row.cpu is not None]
            if line:
                label = solver + powers.get((*group, solver), "")
                _draw_line(axes, sorted(line, key=lambda row: row.n), place, label)
        _dress(axes, " on ".join(group), sorted({row.n for row in rows if row.curve[:2] == group}))
    return on_its_page(chart)


def _draw_line(axes: Axes, rows: Sequence[Row], place: int, label: str) -> None:
    style: dict[str, Any] = {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "markersize": 6,
    }
    solid = {"linestyle": DASHES[place % len(DASHES)], "linewidth": 1.4, "label": label}
    hollow = {"linestyle": "none", "markerfacecolor": "white"}
    for shown, look in ((rows, solid), ([row for row in rows if not row.has_reached], hollow)):
        axes.plot([row.n for row in shown], [row.cpu or 0.0 for row in shown], **style, **look)


def _dress(axes: Axes, title: str, sizes: Sequence[int]) -> None:
    from matplotlib.ticker import NullFormatter

    axes.set(xlabel="cells", ylabel="CPU seconds", yscale="log")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    plainly(axes, title)
    if axes.lines:
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))


# -- the files: rows as CSV, everything as JSON, the chart as SVG


def check_folder(folder: Path) -> None:
    """Create the folder; refuse before anything is measured when nothing could be written there.

    Raises
    ------
    ResultError : it cannot be created, or is a file.
    OptionError : matplotlib is not installed.
    """
    check_chart(folder / NAMES[2])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"the folder '{folder}' cannot be created: {error.strerror}") from None


def write(
    rows: Sequence[Row], fits: Sequence[Exponent], settings: Mapping[str, Any], folder: Path
) -> list[Path]:
    """Write the three files of ``NAMES``, in place of what was there; their paths.

    Parameters
    ----------
    settings : how it was measured, for the JSON file.

    Raises
    ------
    ResultError, OptionError : as ``check_folder``; a file cannot be written.
    """
    check_folder(folder)
    paths = [folder / name for name in NAMES]
    summaries = [row.summary() for row in rows]
    everything = {"settings": dict(settings), "rows": summaries, "exponents": [asdict(fit) for fit in fits]}
    text = io.StringIO()
    if summaries:
        sheet = csv.DictWriter(text, list(summaries[0]), lineterminator="\n")
        sheet.writeheader()
        sheet.writerows(summaries)
    write_whole(paths[0], text.getvalue().encode())
    write_whole(paths[1], json.dumps(everything, indent=2, allow_nan=False).encode())
    save(paths[2], lambda: draw(rows, fits))
    return paths
