"""Parts that charts share.

All charts have the same colours, with dashes and marks that differ without colour, too, and are saved in one
way.
"""

from __future__ import annotations

import functools
import importlib.util
import io
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from mmopt.errors import OptionError
from mmopt.installation_and_files import write_whole
from mmopt.numerics.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
FORMATS = (".svg", ".png")
# Okabe & Ito's, which are distinct also for readers who do not see red or green; their yellow is too pale.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")  # one for each time that the colours are used up
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
FEW_QUERIES = 60  # of a line, up to which each has a mark


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
    write_whole(path, picture(draw, path.suffix.lower().removeprefix(".")))


def picture(draw: Callable[[], Figure], kind: str) -> bytes:
    """The bytes of a drawing as ``svg`` or ``png``, without a date."""
    import matplotlib

    with matplotlib.rc_context({"font.size": 9, "svg.fonttype": "path", "svg.hashsalt": "mmopt"}):
        return _drawn(draw(), kind, 150)


def empty_figure(width: float, height: float) -> Figure:
    """A figure of so many inches, which a notebook shows also where pyplot was never imported."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = functools.partial(_drawn, figure, "png", 110)  # type: ignore[attr-defined]
    return figure


def _drawn(figure: Figure, kind: str, dpi: int) -> bytes:
    """The bytes of a figure, for ``picture`` and for notebooks."""
    drawn = io.BytesIO()
    with warnings.catch_warnings():
        # About letters that the font lacks: the chart has boxes there, tables have the text.
        warnings.filterwarnings("ignore", "Glyph")
        figure.savefig(drawn, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else None)
    return drawn.getvalue()


def stroke(number: int, dash: int, width: float = 1.4) -> dict[str, Any]:
    """The style of a line: the colour and the dashes with these numbers, which start again when used up."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[dash % len(DASHES)],
        "linewidth": width,
    }


def entry(label: str, **style: Any) -> Line2D:
    """An entry of a legend: a line in a style, or with ``linestyle="none"`` words alone."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def mark(marker: str, label: str, face: str) -> Line2D:
    """An entry of a legend: a marker alone."""
    style = {"markersize": 7, "markerfacecolor": face, "markeredgecolor": "0.3", "markeredgewidth": 1.4}
    return entry(label, linestyle="none", marker=marker, **style)


def logarithmic(axes: Axes, multiples: tuple[float, ...] = (1.0, 2.0, 5.0)) -> None:
    """Make the lower axis logarithmic, with ticks at these multiples of powers of ten, written in full."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=multiples))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def draw_by_query(
    axes: Axes, groups: Iterable[tuple[str | None, npt.NDArray[Any], Array]], title: str, height: str
) -> None:
    """Draw a line (k,) at the queries (k,) of each group, by label; few of them have marks."""
    from matplotlib.ticker import MaxNLocator

    for number, (label, queries, values) in enumerate(groups):
        marker = "o" if len(queries) <= FEW_QUERIES else ""
        axes.plot(
            queries,
            values,
            label=label,
            marker=marker,
            markersize=3,
            **stroke(number, number // len(COLOURS)),
        )
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="query, in the order of the workload", ylabel=height)
    plainly(axes, title)


def titled(title: str, subject: str) -> str:
    """The subject, after the title where there is one."""
    return f"{title}: {subject}" if title else subject


def plainly(axes: Axes, title: str) -> None:
    """A title on the left, a pale grid below everything, no frame above and on the right."""
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(which="major", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
