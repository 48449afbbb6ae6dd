"""What all charts share: colours, dashes and marks that differ without colour too, and how one is saved."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmopt.errors import OptionError
from mmopt.report.whole import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = ["COLOURS", "DASHES", "MARKERS", "check_chart", "mark", "save", "stroke"]

FORMATS = (".svg", ".png")
# Okabe & Ito, which readers without red or green tell apart; their yellow is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")  # one for each time that the colours are used up
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def check_chart(path: Path) -> None:
    """OptionError unless the file ends in .svg or .png and matplotlib is installed."""
    if path.suffix.lower() not in FORMATS:
        raise OptionError(f"a chart is written to an .svg or .png file, not to '{path}'")
    if importlib.util.find_spec("matplotlib") is None:
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
        metadata = {"Date": None} if kind == "svg" else None
        draw().savefig(picture, format=kind, dpi=150, metadata=metadata)
    write_whole(path, picture.getvalue())


def stroke(number: int) -> dict[str, Any]:
    """The line of the curve of this number: a colour, and another dash each time that these are used up."""
    dashes = DASHES[number // len(COLOURS) % len(DASHES)]
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": dashes, "linewidth": 1.4}


def mark(marker: str, label: str, face: str) -> Line2D:
    """An entry of a legend: a marker alone."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {
        "linestyle": "none",
        "markersize": 7,
        "markeredgecolor": "0.3",
        "markeredgewidth": 1.4,
    }
    return Line2D([], [], marker=marker, label=label, markerfacecolor=face, **style)
