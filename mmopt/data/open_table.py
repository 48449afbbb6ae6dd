"""Any table, opened: its columns by name, and its rows.

``open_table`` finds columns by their names, and gives rows as an Ibis table, not yet read.
"""

import glob
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mmopt.data.cell_codes import by_days
from mmopt.data.connections import (
    catalogued,
    connected,
    connected_to,
    driver_errors,
    engine_error,
    is_connection,
    is_url,
    missing_rights,
    named_errors,
    named_table,
    path_of,
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

#: Texts that are more often a value than the name of a column.
VALUE = re.compile(r"[-+]?[0-9][0-9.,:/ -]*")

#: The purpose of the column of persons.
OF_PERSONS = "of persons, named under 'unit'"

#: Gives an Ibis table of the columns at some places, in that order; of any columns where there is no place.
_Select = Callable[[Sequence[int]], Any]


@dataclass(frozen=True)
class TableColumns:
    """A table of which only the names of the columns have been read.

    ``name`` for messages; ``places`` of the wanted columns among all ``names``; ``rows()`` gives an Ibis
    table and its wanted columns by name. ``values`` are those of columns of enumerations, which the schema
    lists. ``is_stored``: whether its rows can be read again and again, cheaply and without change.
    ``closed``: columns that this user has no right to read.
    """

    name: str
    places: Mapping[str, int]
    select: _Select
    names: Sequence[str]
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_stored: bool = False
    closed: Sequence[str] = ()

    def rows(self) -> tuple[Any, dict[str, Any]]:
        """The table and its wanted columns; to be called again only where ``is_stored``."""
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
    """A table in a file, open until the stack is closed."""
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
    select, names, *more = kind(stack, file, errors, wanted, delimiter if file.kind == "csv" else table)
    note = ""
    if file.kind == "csv" and delimiter is None and len(names) == 1 and any(w in names[0] for w in wanted):
        note = "the header is one field; if it is split elsewhere, write 'data: {delimiter: \"~\"}'"
    elif file.kind == "csv" and len(wanted) > 1 and sum(map(bool, map(str.strip, names))) == 1:
        note = "names come first; a line above them is left out by: tail -n +2 old.csv > new.csv"
    return TableColumns(
        file.path,
        _places(file.path, names, wanted, note, is_text=file.kind == "csv"),
        select,
        names,
        next(iter(more), {}),
        is_stored=file.kind == "parquet",
    )


def _refuse_changed(file: TableFile, kind: type[BaseException] | None, *_: object) -> None:
    """Raise at the end for a file that has changed, also in place of a DataError."""
    if (kind is None or issubclass(kind, DataError)) and not file.is_unchanged:
        raise DataError(
            f"{file.path}: the file changed while it was read; nothing was released",
            hint="use a copy that nobody writes to",
        ) from None


# The kinds of files. ``option`` is the delimiter of a text, the table of a database; ``errors`` the list of
# ``named_errors``.

#: The columns at some places of a table, the names of all, and the values of enumerations.
Opened = tuple[_Select, tuple[str, ...]] | tuple[_Select, tuple[str, ...], Mapping[str, Sequence[str]]]


def _csv(
    stack: ExitStack, file: TableFile, _: list[BaseException], wanted: Mapping[str, str], option: str | None
) -> Opened:
    """A text file, read by DuckDB."""
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
    """A Parquet file, read by DuckDB."""
    connection = stack.enter_context(connected())
    # From the least and largest values in the file DuckDB 2.0 concludes that no number is NaN.
    connection.raw_sql("SET disabled_optimizers = 'statistics_propagation'")
    literal = glob.escape(os.path.abspath(file.path))
    rows = connection.read_parquet(literal, hive_partitioning=False)  # else folders rename a column
    schema = "SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)"
    names, below = [], 0
    # The names as written; a schema is a tree in preorder, whose nodes below a column are left out.
    for name, children in connection.con.execute(schema, [literal]).fetchall()[1:]:
        if below == 0:
            names.append(name)
        below += children - (below > 0)

    def select(places: Sequence[int]) -> Any:
        # By place: DuckDB renames columns that differ in case only, maybe to the name of another column.
        return rows.select(*(by_days(rows[place]) for place in places)) if places else rows

    return select, tuple(names)


def _duckdb(
    stack: ExitStack, file: TableFile, _: list[BaseException], wanted: Mapping[str, str], option: str | None
) -> Opened:
    """A database file of DuckDB."""
    connection = stack.enter_context(connected(file.path))
    source = duckdb_columns(connection, file.path, option)
    return lambda places: duckdb_table(connection, source, places), source.columns, source.values


def _sqlite(
    stack: ExitStack,
    file: TableFile,
    errors: list[BaseException],
    wanted: Mapping[str, str],
    option: str | None,
) -> Opened:
    """A database file of SQLite, whose values reach DuckDB as texts."""
    database = stack.enter_context(sqlite_database(file.path))
    source = sqlite_columns(database, file.path, option)
    connection = stack.enter_context(connected())
    persons = [name for name, why in wanted.items() if why == OF_PERSONS]

    def select(places: Sequence[int]) -> Any:
        texts = sqlite_batches(database, file.path, source, places, persons)
        return streamed_table(connection, text_batches(max(1, len(places)), texts), errors)

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
    in_index = next((column for column in wanted if column in columns.index), "")
    note = f"'{in_index}' is a name of the frame's index, which is no column: pass data.reset_index()"
    places = _places(columns.name, columns.columns, wanted, note if in_index else "")
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
    with named_errors(name, lambda _: None, (*driver_errors(), NotImplementedError)):
        rows = named_table(connection, name, table)
    return _ibis_table(stack, rows, wanted, name)


def _ibis_table(
    stack: ExitStack, data: Any, wanted: Mapping[str, str], name: str = "the Ibis table"
) -> TableColumns:
    """The columns of an Ibis table, which its backend computes."""
    import ibis

    places = _places(name, data.columns, wanted)
    try:
        backend = data.get_backend()
    except ibis.IbisError as error:
        raise DataError(f"{name} cannot be computed: {error}") from None

    path = path_of(data)

    def columns_of(names: Iterable[str]) -> str:
        return f"{', '.join(map(repr, names))} of '{'.'.join(path)}'"

    def in_words(error: Exception) -> DataError:
        if not isinstance(error, ibis.common.exceptions.OperationNotDefinedError):
            return engine_error(
                name, error, f" while it read {columns_of(wanted)}" if path and wanted else ""
            )
        return DataError(
            f"{name}: its backend, {backend.name}, lacks an operation that the count needs",
            hint="read it into memory first: data.to_pyarrow()",
        )

    stack.enter_context(named_errors(name, in_words, driver_errors()))
    kinds, values, closed = catalogued(data)
    if refused := [column for column in wanted if column in closed]:
        raise DataError(
            f"{name}: this user has no right to read {columns_of(refused)}",
            hint=missing_rights(backend, path, refused),
        )

    def select(at: Sequence[int]) -> Any:
        # First: a query that names other columns, if only in an inner SELECT, needs the right to read them.
        rows = data.select(*(data[place] for place in at)) if at else data
        return rows.cast({n: kinds[n] for n in rows.columns if n in kinds}) if at else rows

    return TableColumns(name, places, select, tuple(data.columns), values, closed=closed)


# -- columns by name


def _places(
    table: str, names: Sequence[str], wanted: Mapping[str, str], note: str = "", *, is_text: bool = False
) -> dict[str, int]:
    """The places of the wanted columns among the names; DataError for one that is missing, or there twice.

    is_text : whether the names are the first line of a text, which may as well be a row: it is confidential.
    """
    for column, purpose in wanted.items():
        if column not in names:
            same = [name for name in names if name.casefold().strip() == column.casefold().strip()]
            near = note or (f"did you mean '{same[0]}'?" if same else suggest(column, names))
            may_be_row = is_text and not same and not any(name in wanted for name in names)
            if may_be_row and any(VALUE.fullmatch(name.strip()) for name in names):
                raise DataError(
                    f"{table}: no column '{column}' ({purpose}), and the first line reads like a row",
                    hint="add a line of names above it",
                )
            mark = " (confidential, for you alone, if its first line is a row)" if may_be_row else ""
            listed = f"the table has{mark}: {', '.join(names[:40])}{', …' if len(names) > 40 else ''}"
            hint = f"{near}\n  {listed}" if near and not near.startswith("known") else listed
            raise DataError(f"{table}: no column '{column}' ({purpose})", hint=hint)
        if (count := list(names).count(column)) > 1:
            raise DataError(
                f"{table}: column '{column}' stands in the header {count} times, not once",
                hint="rename the others, or name another column with 'column:' in the workload file",
            )
    return {column: list(names).index(column) for column in wanted}
