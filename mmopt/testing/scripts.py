"""What scripts take of mmopt's command line: options, lists, tables, charts, and errors as messages."""

from __future__ import annotations

from mmopt.cli.guard import REFUTED, run_alone
from mmopt.cli.options import TimeLimit, Tolerance, names_in
from mmopt.cli.output import note, show
from mmopt.errors import OptionError
from mmopt.report.chart import COLOURS, DASHES, MARKERS, check_chart, plainly, save, write_whole
from mmopt.report.style import bold, by_reason, cell, duration, figure, gap, paragraphs, rows_table

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKERS",
    "REFUTED",
    "TimeLimit",
    "Tolerance",
    "bold",
    "by_reason",
    "cell",
    "check_chart",
    "duration",
    "figure",
    "gap",
    "integers_in",
    "names_in",
    "note",
    "paragraphs",
    "plainly",
    "rows_table",
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
