"""Any table, opened: its columns by name, its rows, and columns for a draft.

``open_table`` finds columns by their names, and gives rows as an Ibis table, not yet read. ``column_kinds``
and ``public_forms`` describe columns for a draft of a workload file: by name and type, those of a public
table also by their values.
"""

import glob
import math
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from mmopt.data.cell_codes import by_days
from mmopt.data.connections import (
    connected,
    connected_to,
    driver_errors,
    is_connection,
    is_url,
    named_errors,
    named_table,
    shown_source,
    shown_url,
)
from mmopt.data.frames_in_memory import (
    dictionary_columns,
    frame_columns,
    is_frame,
    streamed_table,
    text_batches,
)
from mmopt.data.table_file import (
    TableFile,
    check_gzip,
    csv_error,
    csv_header,
    csv_table,
    duckdb_columns,
    duckdb_table,
    sqlite_batches,
    sqlite_columns,
    sqlite_database,
    sqlite_error,
    table_file,
)
from mmopt.errors import DataError, suggest

OF_PERSONS = "of persons, named under 'unit'"
"""The purpose of the column of persons."""

#: Gives an Ibis table of the columns at some places, in that order; of any columns where there is no place.
_Select = Callable[[Sequence[int]], Any]


@dataclass(frozen=True)
class TableColumns:
    """A table of which only the names of the columns have been read.

    ``name`` for messages; ``places`` of the wanted columns among all ``names``; ``rows()`` gives an Ibis
    table and its wanted columns by name.
    """

    name: str
    places: Mapping[str, int]
    select: _Select
    names: Sequence[str]

    def rows(self) -> tuple[Any, dict[str, Any]]:
        """The table and its wanted columns; to be called once."""
        table = self.select(list(self.places.values()))
        return table, {name: table[i] for i, name in enumerate(self.places)}


@contextmanager
def open_table(
    data: object, wanted: Mapping[str, str], table: str | None = None, delimiter: str | None = None
) -> Iterator[TableColumns]:
    """Open a table and find the wanted columns; errors of engines inside become errors that name it.

    Parameters
    ----------
    data : path, URL, Ibis connection or table, data frame or dictionary of columns, as ``data_vector`` takes
        it.
    wanted : column name -> its purpose, for messages.
    table, delimiter : as ``data_vector``.

    Raises
    ------
    DataError : the table cannot be read, or changed meanwhile; a column is missing, or is there twice.
    """
    import ibis

    with ExitStack() as stack:
        if is_url(data) or is_connection(data):
            yield _server(stack, data, wanted, table, delimiter)
            return
        if isinstance(data, str | os.PathLike):
            yield _file(stack, table_file(data), wanted, table, delimiter)
            return
        for option, given in (("table", table), ("delimiter", delimiter)):
            if given is not None:
                raise DataError(
                    f"{option} is '{given}', which is for files, and the data is a {type(data).__name__}",
                    hint=f"leave {option} out",
                )
        yield (
            _ibis_table(stack, data, wanted) if isinstance(data, ibis.Table) else _stream(stack, data, wanted)
        )


def is_table(data: object) -> bool:
    """Whether ``open_table`` takes such an object."""
    return isinstance(data, str | os.PathLike | Mapping) or is_frame(data) or is_connection(data)


# -- files


def _file(
    stack: ExitStack, file: TableFile, wanted: Mapping[str, str], table: str | None, delimiter: str | None
) -> TableColumns:
    stack.push(partial(_refuse_changed, file))
    if table is not None and file.kind not in ("duckdb", "sqlite"):
        raise DataError(
            f"{file.path}: the table '{table}' is asked for, and the file is no database",
            hint="leave out --table (table= in Python), or 'table' under 'data' in the workload file",
        )
    if delimiter is not None and file.kind != "csv":
        raise DataError(
            f"{file.path}: the delimiter '{delimiter}' is given, and the file is no text",
            hint="leave out 'delimiter'",
        )
    kind = {"csv": _csv, "parquet": _parquet, "duckdb": _duckdb, "sqlite": _sqlite}[file.kind]
    errors = stack.enter_context(named_errors(file.path, partial(_file_error, file)))
    select, names = kind(stack, file, errors, wanted, delimiter if file.kind == "csv" else table)
    note = ""
    if file.kind == "csv" and delimiter is None and len(names) == 1 and any(w in names[0] for w in wanted):
        note = "the header is one field; if it is split elsewhere, write 'data: {delimiter: \"~\"}'"
    return TableColumns(file.path, _places(file.path, names, wanted, note), select, names)


def _refuse_changed(file: TableFile, kind: type[BaseException] | None, *_: object) -> None:
    """Raise at the end for a file that has changed, also in place of a DataError."""
    if (kind is None or issubclass(kind, DataError)) and not file.is_unchanged:
        raise DataError(
            f"{file.path}: the file changed while it was read; nothing was released",
            hint="use a copy that nobody writes to",
        ) from None


Opened = tuple[_Select, tuple[str, ...]]


def _csv(
    stack: ExitStack, file: TableFile, _: list[BaseException], wanted: Mapping[str, str], option: str | None
) -> Opened:
    delimiter, names = csv_header(file, wanted, option)
    if file.gzipped:
        check_gzip(file)
    connection = stack.enter_context(connected())

    def select(places: Sequence[int]) -> Any:
        rows = csv_table(connection, file, delimiter, len(names))
        return rows.select(*(rows[place] for place in places)) if places else rows

    return select, names


def _parquet(
    stack: ExitStack, file: TableFile, _: list[BaseException], wanted: Mapping[str, str], option: str | None
) -> Opened:
    connection = stack.enter_context(connected())
    literal = glob.escape(os.path.abspath(file.path))
    rows = connection.read_parquet(literal, hive_partitioning=False)  # else folders rename a column
    schema = "SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)"
    names, inner = [], 0
    # The names as written; a schema is a tree in preorder, whose nodes below a column are left out.
    for name, children in connection.con.execute(schema, [literal]).fetchall()[1:]:
        if inner == 0:
            names.append(name)
        inner += children - (inner > 0)

    def select(places: Sequence[int]) -> Any:
        # By place: DuckDB renames columns that differ in case only, maybe to the name of another column.
        return rows.select(*(by_days(rows[place]) for place in places)) if places else rows

    return select, tuple(names)


def _duckdb(
    stack: ExitStack, file: TableFile, _: list[BaseException], wanted: Mapping[str, str], option: str | None
) -> Opened:
    connection = stack.enter_context(connected(file.path))
    source = duckdb_columns(connection, file.path, option)
    return lambda places: duckdb_table(connection, source, places), source.columns


def _sqlite(
    stack: ExitStack,
    file: TableFile,
    kept: list[BaseException],
    wanted: Mapping[str, str],
    option: str | None,
) -> Opened:
    database = stack.enter_context(sqlite_database(file.path))
    source = sqlite_columns(database, file.path, option)
    connection = stack.enter_context(connected())
    persons = [name for name, why in wanted.items() if why == OF_PERSONS]

    def select(places: Sequence[int]) -> Any:
        read = sqlite_batches(database, file.path, source, places, persons)
        return streamed_table(connection, text_batches(max(1, len(places)), read), kept)

    return select, source.columns


def _file_error(file: TableFile, error: Exception) -> DataError | None:
    """Our words for an engine's error that is about the file."""
    import duckdb

    if file.kind == "csv":
        return csv_error(file, error)
    if isinstance(error, sqlite3.Error):
        return sqlite_error(file.path, error)
    if file.kind == "parquet" and type(error) in (
        duckdb.InvalidInputException,
        duckdb.IOException,
        duckdb.Error,
    ):
        return DataError(
            f"{file.path}: cannot be read as Parquet", hint="is the file complete, and is it Parquet?"
        )
    return None


# -- objects


def _stream(stack: ExitStack, data: Any, wanted: Mapping[str, str]) -> TableColumns:
    """The columns of a dictionary or a frame."""
    columns = dictionary_columns(data) if isinstance(data, Mapping) else frame_columns(data)
    lost = next((column for column in wanted if column in columns.index), "")
    note = f"'{lost}' is a name of the frame's index, which is no column: pass data.reset_index()"
    places = _places(columns.name, columns.columns, wanted, note if lost else "")
    errors = stack.enter_context(named_errors(columns.name, lambda _: None))
    connection = stack.enter_context(connected())
    return TableColumns(
        columns.name,
        places,
        lambda at: streamed_table(connection, columns.batches(at), errors),
        columns.columns,
    )


def _server(
    stack: ExitStack, data: Any, wanted: Mapping[str, str], table: str | None, delimiter: str | None
) -> TableColumns:
    """A table of a database; a connection that is opened from a URL is closed at the end."""
    if isinstance(data, str):
        connection, name = stack.enter_context(connected_to(data)), shown_url(data)
    else:
        connection, name = data, f"the connection to {data.name}"
    if delimiter is not None:
        raise DataError(f"{name}: the delimiter '{delimiter}' is given, and the table is no text")
    with named_errors(name, lambda _: None, driver_errors()):
        rows = named_table(connection, name, table)
    return _ibis_table(stack, rows, wanted, name)


def _ibis_table(
    stack: ExitStack, data: Any, wanted: Mapping[str, str], name: str = "the Ibis table"
) -> TableColumns:
    import ibis

    places = _places(name, data.columns, wanted)
    try:
        backend = data.get_backend()
    except ibis.IbisError as error:
        raise DataError(f"{name} cannot be computed: {error}") from None

    def named(error: Exception) -> DataError | None:
        if not isinstance(error, ibis.common.exceptions.OperationNotDefinedError):
            return None
        return DataError(
            f"{name}: its backend, {backend.name}, lacks an operation that the count needs",
            hint="read it into memory first: data.to_pyarrow()",
        )

    stack.enter_context(named_errors(name, named, driver_errors()))
    return TableColumns(
        name,
        places,
        lambda at: data.select(*(data[place] for place in at)) if at else data,
        tuple(data.columns),
    )


# -- columns by name


def _places(table: str, names: Sequence[str], wanted: Mapping[str, str], note: str = "") -> dict[str, int]:
    """The places of the wanted columns among the names; DataError for one that is missing, or there twice."""
    for column, purpose in wanted.items():
        if column not in names:
            same = [name for name in names if name.casefold().strip() == column.casefold().strip()]
            near = note or (f"did you mean '{same[0]}'?" if same else suggest(column, names))
            listed = f"the table has: {', '.join(names[:40])}{', …' if len(names) > 40 else ''}"
            hint = f"{near}\n  {listed}" if near and not near.startswith("known") else listed
            raise DataError(f"{table}: no column '{column}' ({purpose})", hint=hint)
        if (count := list(names).count(column)) > 1:
            raise DataError(
                f"{table}: column '{column}' stands in the header {count} times, not once",
                hint="rename the others, or name another column with 'column:' in the workload file",
            )
    return {column: list(names).index(column) for column in wanted}


MOST_COLUMNS = 1000
LONGEST_NAME = 150  # letters; a key of YAML has 1024 at most, and a letter may be spelled with six
MOST_VALUES = 20  # values that are listed one by one
CELLS = 20  # about this number for a range of numbers
BY_MONTH = 3  # years up to which dates are counted by month
UNWRITTEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # in no text of a workload file
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,14}")
UNTYPED = ("csv", "sqlite")  # kinds of files whose columns may hold any value in any row


def column_kinds(data: str | Path, table: str | None = None) -> dict[str, str]:
    """Column name -> ``values``, ``numbers``, ``dates``, ``truth`` or ``unknown``, by its type alone.

    ``data`` is a path, or the URL of a database. Only names and types are read: the first line of a text
    file, the schema of any other. Columns without a unique name, or with one that no workload file can
    contain, are left out.

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
        if name.strip()
        and times[name] == 1
        # A workload file can have such a key.
        and name != "<<"
        and len(name) <= LONGEST_NAME
        and not UNWRITTEN.search(name)
    }
    if not usable:
        raise DataError(f"{shown_source(data)}: no column has a name of its own")
    return usable


_KINDS = {
    "truth": ("boolean",),
    "numbers": ("numeric",),
    "dates": ("date", "timestamp"),
    "values": ("string",),
}
"""The kinds of columns, by kinds of Ibis types."""


def _kind(type_: Any) -> str:
    fits = (kind for kind, types in _KINDS.items() if any(getattr(type_, f"is_{one}")() for one in types))
    return next(fits, "unknown")


def public_forms(
    data: str | Path, kinds: Mapping[str, str], table: str | None = None
) -> dict[str, dict[str, Any]]:
    """Column name -> the keys of a form that holds all its values; for public tables.

    Few values are listed, ranges of numbers and dates have round ends; a column of many texts has no form.

    Raises
    ------
    DataError : as ``data_vector``.
    """
    with open_table(data, dict.fromkeys(kinds, "to draft a form"), table) as opened:
        rows, columns = opened.rows()
        # A stream of rows can be read once only, and a column is used several times.
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
    """Whole years, by month or by year; no form where the last year is the last of the calendar."""
    if high.year == date.max.year:
        return {}
    first, end = date(low.year, 1, 1), date(high.year + 1, 1, 1)
    width = "month" if end.year - first.year <= BY_MONTH else "year"
    return {"range": [first.isoformat(), end.isoformat()], "width": width}
