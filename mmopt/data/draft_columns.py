"""Columns for a draft of a workload file: by name and type; of public tables also by their values."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from mmopt.data.connection import is_url, shown_source
from mmopt.data.open_table import open_table
from mmopt.data.table_file import table_file
from mmopt.data.text_file import csv_header
from mmopt.errors import DataError

__all__ = ["column_kinds", "public_forms"]

MOST_COLUMNS = 1000
LONGEST_NAME = 150  # letters; a key of YAML has 1024 at most, and a letter may be spelled with six
MOST_VALUES = 20  # that are listed one by one
CELLS = 20  # about as many for a range of numbers
BY_MONTH = 3  # years up to which dates are counted by month
UNWRITTEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # that no text of a workload file holds
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,14}")
UNTYPED = ("csv", "sqlite")  # whose columns may hold anything in any row


def column_kinds(data: str | Path, table: str | None = None) -> dict[str, str]:
    """Column name -> ``values``, ``numbers``, ``dates``, ``truth`` or ``unknown``, by its type alone.

    ``data`` is a path, or the URL of a database. Nothing but names and types is read: the first line of a
    text file, the schema of any other. Columns without a name of their own, or with one that no file can
    write, are left out.

    Raises
    ------
    DataError : as ``data_vector``; more than ``MOST_COLUMNS`` columns, or none.
    """
    file = None if is_url(data) else table_file(data)
    if file is not None and file.kind == "csv" and table is None:
        names: Sequence[str] = csv_header(file, (), None)[1]
        kinds = ["unknown"] * len(names)
    else:
        with open_table(data, {}, table) as opened:
            names = opened.names
            kinds = ["unknown"] * len(names)
            if file is None or file.kind not in UNTYPED:
                kinds = [_kind(kind) for kind in opened.select(range(len(names))).schema().types]
    if len(names) > MOST_COLUMNS:
        raise DataError(
            f"{shown_source(data)}: {len(names):,} columns, and a draft has at most {MOST_COLUMNS:,}",
            hint="write the workload file for the columns that queries are about",
        )
    times = Counter(names)
    usable = {
        name: kind
        for name, kind in zip(names, kinds, strict=True)
        if name.strip() and times[name] == 1 and _is_written(name)
    }
    if not usable:
        raise DataError(f"{shown_source(data)}: no column has a name of its own")
    return usable


def _is_written(name: str) -> bool:
    """Whether a workload file can have such a key."""
    return name != "<<" and len(name) <= LONGEST_NAME and not UNWRITTEN.search(name)


def _kind(type_: Any) -> str:
    if type_.is_boolean():
        return "truth"
    if type_.is_numeric():
        return "numbers"
    if type_.is_date() or type_.is_timestamp():
        return "dates"
    return "values" if type_.is_string() else "unknown"


def public_forms(
    data: str | Path, kinds: Mapping[str, str], table: str | None = None
) -> dict[str, dict[str, Any]]:
    """Column name -> the keys of a form that holds all its values; for tables that may be seen.

    Few values are listed, ranges of numbers and dates have round ends; a column of many texts has none.

    Raises
    ------
    DataError : as ``data_vector``.
    """
    with open_table(data, dict.fromkeys(kinds, "to draft a form"), table) as opened:
        rows, columns = opened.rows()
        # A stream of rows is read once; a column is asked several times.
        with rows.select(**{f"c{i}": column for i, column in enumerate(columns.values())}).cache() as kept:
            forms = {name: _form(kept[f"c{i}"]) for i, name in enumerate(columns)}
    return {name: form for name, form in forms.items() if form}


def _form(column: Any) -> dict[str, Any]:
    """``values``, or ``range`` and ``width``; and ``missing`` where there are NULLs."""
    table = column.as_table()
    column = table[table.columns[0]]
    kind = _kind(column.type())
    values = [row.as_py() for row in table.distinct().limit(MOST_VALUES + 2).to_pyarrow().column(0)]
    present = [value for value in values if value is not None]
    missing = {"missing": {"cell": "missing"}} if column.isnull().any().execute() else {}
    if not present:
        return {}
    if kind == "values" and all(INTEGER.fullmatch(value) for value in present):
        present = [int(value) for value in present]
    is_listed = kind in ("values", "truth") or all(isinstance(value, int) for value in present)
    if is_listed and len(present) <= MOST_VALUES:
        return {"values": sorted(present), **missing}
    for kinds, cast, form in (
        (("values", "numbers"), "float64", _range_of_numbers),
        (("values", "dates"), "date", _range_of_dates),
    ):
        if kind not in kinds:
            continue
        read = column.try_cast(cast)
        if not (read.isnull() & column.notnull()).any().execute():
            low, high = read.min().execute(), read.max().execute()
            return {**form(low, high), **missing} if form(low, high) else {}
    return {}


def _range_of_numbers(low: float, high: float) -> dict[str, Any]:
    """Round ends and a width of 1, 2 or 5 times a power of ten, for about ``CELLS`` cells."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return {}
    least = max(high - low, 1.0) / CELLS
    power = math.floor(math.log10(least))
    digit = next(digit for digit in (1, 2, 5, 10) if digit * 10.0**power >= least * (1 - 1e-9))
    width = digit * 10.0**power
    ends = (math.floor(low / width), math.floor(high / width) + 1)
    return {"range": [_short(end * width) for end in ends], "width": _short(width)}


def _short(value: float) -> float:
    number = float(f"{value:.12g}")
    return int(number) if number.is_integer() else number


def _range_of_dates(low: Any, high: Any) -> dict[str, Any]:
    """Whole years, by month or by year; none where the last year is that of the calendar."""
    if high.year == date.max.year:
        return {}
    first, end = date(low.year, 1, 1), date(high.year + 1, 1, 1)
    width = "month" if end.year - first.year <= BY_MONTH else "year"
    return {"range": [first.isoformat(), end.isoformat()], "width": width}
