"""Parts of mmopt's command line for scripts: options, lists, tables, charts, and errors as messages."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from mmopt.cli.app import run_alone
from mmopt.cli.command_inputs import names_in
from mmopt.cli.command_options import TimeLimit, Tolerance
from mmopt.cli.command_output import REFUTED, note, show
from mmopt.cli.solve_and_plan import options_for
from mmopt.errors import OptionError
from mmopt.installation_and_files import write_whole
from mmopt.report.chart_parts import COLOURS, DASHES, MARKERS, check_chart, plainly, save
from mmopt.report.table_style import (
    Table,
    bold,
    by_reason,
    cell,
    duration,
    figure,
    gap,
    paragraphs,
    rows_table,
)

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKERS",
    "REFUTED",
    "Table",
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
    "options_for",
    "paragraphs",
    "plainly",
    "rows_table",
    "run_alone",
    "save",
    "show",
    "write_columns",
    "write_whole",
]


def integers_in(text: str | None, option: str) -> list[int]:
    """The whole numbers of a list separated by commas; OptionError as ``names_in``."""
    names = names_in(text, option)
    for name in names:
        if not name.isdecimal():
            raise OptionError(f"{option} has '{name}', expected whole numbers separated by commas")
    return [int(name) for name in names]


def write_columns(columns: Callable[[int], Mapping[str, Any]], rows: int, path: str) -> None:
    """Write made-up columns of so many rows to a CSV file; the command line may name others: ROWS FILE."""
    arguments = sys.argv[1:]
    count = int(arguments[0]) if arguments else rows
    name = arguments[1] if len(arguments) > 1 else path
    table = columns(count)
    with open(name, "w", encoding="utf-8") as file:
        file.write(",".join(table) + "\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in zip(*table.values(), strict=True))
    show(f"{count:,} rows: {name}")
