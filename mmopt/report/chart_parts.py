"""Parts that charts share.

All charts have the same colours, with dashes and marks that differ without colour, too. All are
put on their page (``on_its_page``) and saved in one way; text in an SVG is text.
"""

from __future__ import annotations

import functools
import importlib.util
import io
import textwrap
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.errors import OptionError
from mmopt.installation_and_files import write_whole
from mmopt.numerics.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Text
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

    with matplotlib.rc_context({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "mmopt"}):
        return _drawn(draw(), kind, 150)


def empty_figure(width: float, height: float) -> Figure:
    """A figure of so many inches without its legends, which ``on_its_page`` finishes when all is drawn.

    A notebook shows it also where pyplot was never imported.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = functools.partial(_drawn, figure, "png", 110)  # type: ignore[attr-defined]
    return figure


def on_its_page(figure: Figure) -> Figure:
    """The figure with all its words on the page, which grows by what legends below and further lines take.

    Lines of a panel become at most as wide as the panel, those of the figure as the page, and entries of a
    legend that is wider than the page, or beside a panel than a quarter of it, as their column. Where all
    places across are whole numbers, so are the ticks.
    """
    from matplotlib.text import Text
    from matplotlib.ticker import AutoLocator

    words = [
        (axes, text, text.get_text())
        for axes in figure.axes
        for text in [axes.xaxis.label, *axes.get_children()]
        if type(text) is Text and text.get_text()  # marks of lines are annotations
    ]
    for axes in figure.axes:
        if isinstance(locator := axes.xaxis.get_major_locator(), AutoLocator) and not any(
            (np.asarray(line.get_xdata(orig=False)) % 1).any() for line in axes.lines
        ):
            locator.set_params(integer=True, min_n_ticks=1)
    for text in figure.findobj(Text):
        # A name with two dollar signs is no formula; ticks of powers are formulas, and still empty.
        text.set_parse_math(not text.get_text())
    page = 0.97 * figure.bbox.width  # other fonts and resolutions make text a little wider
    legends = [
        *((one, page, one._ncols) for one in figure.legends),  # type: ignore[attr-defined]
        *((one, page / 4, 1) for axes in figure.axes if (one := axes.get_legend())),
    ]
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # letters that the font lacks
        for one, width, columns in legends:
            for text in one.findobj(Text) if one.get_window_extent().width > width else ():
                # Before an entry is its mark.
                _wrap(text, text.get_text(), width / columns - 0.75 * figure.dpi)
        below = sum(one.get_window_extent().height for one in figure.legends) / figure.dpi
        above = sum(_wrap(text, text.get_text(), page) for text in figure.texts)
        figure.set_figheight(figure.get_figheight() + below + above)
        for _, text, _ in words:
            text.set_text("x")  # a long title would make its panel narrow
        figure.draw_without_rendering()
        added = [_wrap(text, line, axes.bbox.width) for axes, text, line in words]
    figure.set_figheight(figure.get_figheight() + sum(added))
    return figure


def _wrap(text: Text, words: str, width: float) -> float:
    """Write words in lines of at most so many pixels; the inches that lines after the first take."""
    text.set_text(words)
    limit = len(words)
    while limit > 1 and text.get_window_extent().width > width:
        limit = int(0.95 * limit)
        text.set_text("\n".join(textwrap.fill(line, limit) for line in words.split("\n")))
    return text.get_text().count("\n") * float(text.get_fontsize()) / 60


def _drawn(figure: Figure, kind: str, dpi: int) -> bytes:
    """The bytes of a figure, for ``picture`` and for notebooks."""
    drawn = io.BytesIO()
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        # Letters that the font lacks: a PNG has boxes there, an SVG has the text.
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
    return entry(
        label,
        linestyle="none",
        marker=marker,
        markersize=7,
        markerfacecolor=face,
        markeredgecolor="0.3",
        markeredgewidth=1.4,
    )


def logarithmic(axes: Axes) -> None:
    """Make the lower axis logarithmic, with ticks at powers of ten, written in full.

    Where what is drawn spans two powers or less, twice and five times a power have ticks, too.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    is_short = axes.get_xlim()[1] < 200 * axes.get_xlim()[0]
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if is_short else (1.0,)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def draw_by_query(
    axes: Axes, groups: Iterable[tuple[str | None, np.typing.NDArray[Any], Array]], title: str, height: str
) -> None:
    """Draw a line (k,) at the queries (k,) of each group, by label; few of them have marks."""
    for number, (label, queries, values) in enumerate(groups):
        axes.plot(
            queries,
            values,
            label=label,
            marker="o" if len(queries) <= FEW_QUERIES else "",
            markersize=3,
            **stroke(number, number // len(COLOURS)),
        )
    axes.set_ylim(bottom=0)
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
