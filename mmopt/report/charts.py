"""Charts: colours, dashes and marks that differ without colour too, saving, and that of a comparison."""

from __future__ import annotations

import importlib.util
import io
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mmopt.comparison import Outcome
from mmopt.errors import OptionError
from mmopt.report.comparison_tables import in_groups
from mmopt.results.whole_file import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKERS",
    "Curve",
    "check_chart",
    "curves",
    "draw",
    "has_matplotlib",
    "need_matplotlib",
    "plainly",
    "save",
    "write_chart",
]

FORMATS = (".svg", ".png")
# Okabe & Ito, which readers without red or green tell apart; their yellow is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")  # one for each time that the colours are used up
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
ASKED_STYLE: Mapping[str, Any] = MappingProxyType(
    {"color": "0.4", "linewidth": 1.0, "linestyle": (0, (1, 2))}
)
PALE_COLOURS = COLOURS[3:6]  # black digits are read on these, white ones on the others
LARGEST_GAP = 1e3  # a gap above this says nothing, and would press the others together
SMALLEST_GAP = 1e-16  # a gap of zero has no logarithm

Curve = list[tuple[float, float]]


def check_chart(path: Path) -> None:
    """OptionError unless the file ends in .svg or .png and matplotlib is installed."""
    if path.suffix.lower() not in FORMATS:
        raise OptionError(f"a chart is written to an .svg or .png file, not to '{path}'")
    need_matplotlib()


def has_matplotlib() -> bool:
    """Whether charts can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


def need_matplotlib() -> None:
    """OptionError unless matplotlib is installed."""
    if not has_matplotlib():
        raise OptionError("a chart needs matplotlib, which is not installed", hint="pip install mmopt[chart]")


def save(path: Path, draw: Callable[[], Figure]) -> None:
    """Draw, and write the figure whole or not at all; the same picture is the same file.

    Raises
    ------
    OptionError : as ``check_chart``.
    ResultError : the file cannot be written.
    """
    check_chart(path)
    import matplotlib

    kind = path.suffix.lower().removeprefix(".")
    picture = io.BytesIO()
    with matplotlib.rc_context({"font.size": 9, "svg.fonttype": "path", "svg.hashsalt": "mmopt"}):
        draw().savefig(picture, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    write_whole(path, picture.getvalue())


def stroke(number: int) -> dict[str, Any]:
    """The line of the curve of this number: a colour, and another dash each time that these are used up."""
    dashes = DASHES[number // len(COLOURS) % len(DASHES)]
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": dashes, "linewidth": 1.4}


def entry(label: str, **style: Any) -> Line2D:
    """An entry of a legend: a line in a style, or with ``linestyle="none"`` words alone."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def mark(marker: str, label: str, face: str) -> Line2D:
    """An entry of a legend: a marker alone."""
    edge = {"markeredgecolor": "0.3", "markeredgewidth": 1.4}
    return entry(label, linestyle="none", marker=marker, markersize=7, markerfacecolor=face, **edge)


def plainly(axes: Axes, title: str) -> None:
    """A title on the left, a pale grid below everything, no frame above and on the right."""
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(which="major", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


# -- the chart of a comparison: certified gap against seconds


def write_chart(outcomes: Sequence[Outcome], path: Path, title: str = "") -> None:
    """Draw into a file, whole or not at all.

    Raises
    ------
    OptionError, ResultError : as ``save``.
    """
    save(path, lambda: draw(outcomes, title))


def curves(outcome: Outcome) -> Curve:
    """(seconds, gap) of its certified points, and of its solution if that has another gap.

    Gaps of ``LARGEST_GAP`` and more are left out.
    """
    found = [
        (point.seconds, max(point.gap, SMALLEST_GAP))
        for point in outcome.history
        # Steps of a procedure solve other programs.
        if point.program == outcome.program and point.gap is not None and point.gap < LARGEST_GAP
    ]
    last = None if outcome.solution is None else outcome.solution.gap
    if last is not None and last < LARGEST_GAP and (not found or found[-1][1] != max(last, SMALLEST_GAP)):
        found.append((outcome.seconds, max(last, SMALLEST_GAP)))
    return found


def draw(outcomes: Sequence[Outcome], title: str = "") -> Figure:
    """The figure: a colour per program, a marker per solver, a line that falls from point to point.

    A filled marker ends a run that reached the gap asked for; an open one any other. When there are more
    programs than colours, the markers are numbered as in the legend.
    """
    from matplotlib.figure import Figure

    ordered = in_groups(outcomes)
    drawn = [(outcome, curve) for outcome in ordered if (curve := curves(outcome))]
    programs = _numbered(outcome.program for outcome, _ in drawn)
    solvers = _numbered(outcome.solver for outcome, _ in drawn)
    entries = len(programs) + len(solvers) + 6
    figure = Figure(figsize=(8.0, max(4.5, 0.6 + 0.19 * entries)), layout="constrained")
    axes = figure.add_subplot()
    for outcome, curve in drawn:
        number = programs[outcome.program]
        _draw_run(axes, outcome, curve, number, solvers[outcome.solver])
        if len(programs) > len(COLOURS):
            _write_number(axes, outcome, curve, number)
    _dress(axes, title)
    asked = sorted({_tolerance(outcome) for outcome, _ in drawn} - {0.0})
    for tolerance in asked:
        axes.axhline(tolerance, zorder=1, **ASKED_STYLE)
    claimed = {o.program for o, _ in drawn if o.solution and o.solution.bound_grade == "claimed"}
    numbered = len(programs) > len(COLOURS)
    labels = {name: f"{n + 1}  {name}" if numbered else name for name, n in programs.items()}
    handles = [
        entry("program", linestyle="none"),
        *(entry(labels[p] + " (bound claimed)" * (p in claimed), **stroke(n)) for p, n in programs.items()),
        entry(" ", linestyle="none"),
        entry("solver", linestyle="none"),
        *(mark(MARKERS[number % len(MARKERS)], name, "0.3") for name, number in solvers.items()),
    ]
    if not all(_has_reached(outcome, curve) for outcome, curve in drawn):
        handles.append(mark("o", "open: gap not reached", "white"))
    if asked:
        handles.append(entry("gap asked for", **ASKED_STYLE))
    figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize=8)
    missing = dict.fromkeys(o.program for o in ordered if o.program not in programs)
    if missing:
        text = textwrap.fill(f"Without a certified gap below {LARGEST_GAP:g}: {', '.join(missing)}", 110)
        figure.supxlabel(text, x=0.01, ha="left", fontsize=8, color="0.35")
    return figure


def _draw_run(axes: Axes, outcome: Outcome, curve: Curve, program: int, solver: int) -> None:
    seconds, gaps = zip(*curve, strict=True)
    line = stroke(program)
    colour = line["color"]
    axes.plot(seconds, gaps, drawstyle="steps-post", alpha=0.75, **line)
    axes.plot(seconds[:-1], gaps[:-1], linestyle="none", marker=".", markersize=4, color=colour)
    axes.plot(
        seconds[-1:],
        gaps[-1:],
        linestyle="none",
        marker=MARKERS[solver % len(MARKERS)],
        markersize=9,
        markeredgecolor=colour,
        markeredgewidth=1.4,
        markerfacecolor=colour if _has_reached(outcome, curve) else "white",
        zorder=3 + program / 1000,  # a mark hides the number of the mark below it
    )


def _write_number(axes: Axes, outcome: Outcome, curve: Curve, program: int) -> None:
    colour = stroke(program)["color"]
    ink = colour if not _has_reached(outcome, curve) else "black" if colour in PALE_COLOURS else "white"
    style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": 5.5, "fontweight": "bold"}
    axes.annotate(str(program + 1), curve[-1], color=ink, zorder=3.0005 + program / 1000, **style)


def _dress(axes: Axes, title: str) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set(xscale="log", yscale="log", xlabel="seconds since the start, compiling included")
    axes.set_ylabel("gap (objective / bound − 1)")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(0.06)
    plainly(axes, title)


def _tolerance(outcome: Outcome) -> float:
    """The gap asked for, or 0 when there is no solution that says."""
    return 0.0 if outcome.solution is None else float(outcome.solution.options.get("tolerance") or 0.0)


def _has_reached(outcome: Outcome, curve: Curve) -> bool:
    return curve[-1][1] <= _tolerance(outcome)


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}
