"""What scripts take of mmopt's command line: options, lists, tables, charts, and errors as messages."""

from __future__ import annotations

from mmopt.cli.guard import REFUTED, run_alone
from mmopt.cli.options import TimeLimit, Tolerance, names_in
from mmopt.cli.output import note, show
from mmopt.errors import OptionError
from mmopt.report.drawing import COLOURS, DASHES, MARKERS, check_chart, save
from mmopt.report.style import cell, duration, figure, gap, new_table, paragraphs
from mmopt.report.whole import write_whole

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKERS",
    "REFUTED",
    "TimeLimit",
    "Tolerance",
    "cell",
    "check_chart",
    "duration",
    "figure",
    "gap",
    "integers_in",
    "names_in",
    "new_table",
    "note",
    "paragraphs",
    "run_alone",
    "save",
    "show",
    "write_whole",
]


def integers_in(text: str | None, option: str) -> list[int]:
    """The whole numbers of a list separated by commas; OptionError as ``names_in``."""
    names = names_in(text, option)
    for name in names:
        if not name.isdecimal():
            raise OptionError(f"{option} has '{name}', expected whole numbers separated by commas")
    return [int(name) for name in names]
