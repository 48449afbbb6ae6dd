"""Any table, opened, data frames among them.

``open_table`` finds columns by their names, and gives rows as an Ibis table, not yet read.

Data frames and dictionaries of columns are one stream of Arrow record batches that DuckDB reads. Frames come
through the Arrow PyCapsule interface (``__arrow_c_stream__``), which pandas, polars, pyarrow, DuckDB and
others have, else through ``__dataframe__``; none of these libraries is needed. Frames of the libraries listed
here are converted only in the columns that are read: an unused pandas column of mixed objects does no harm.
"""

import datetime
import glob
import itertools
import os
import re
import sqlite3
import urllib.parse
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mmopt.data.cell_codes import by_days
from mmopt.data.table_files_and_connections import (
    DATA_FRAME,
    DICTIONARY,
    TableFile,
    catalogued,
    check_gzip,
    connected,
    connected_to,
    csv_error,
    csv_header,
    csv_table,
    driver_errors,
    duckdb,
    duckdb_columns,
    duckdb_table,
    engine_error,
    ibis,
    is_connection,
    is_url,
    missing_rights,
    named_errors,
    named_table,
    pa,
    path_of,
    shown_url,
    sqlite_batches,
    sqlite_columns,
    sqlite_error,
    table_file,
)
from mmopt.errors import DataError, counted, suggest

#: Arrow's schema, and record batches of it: the columns ``c0`` and on.
Batches = tuple[Any, Iterator[Any]]


#: A table in memory: its name for messages, the names of its columns, what reads those at some places, once,
#: and the names that a frame has for its rows, which are no columns.
InMemory = tuple[str, tuple[str, ...], Callable[[Sequence[int]], Batches], tuple[str, ...]]


def frame_columns(data: Any) -> InMemory:
    """The columns of a frame; nothing is read yet, unless its library is unknown.

    Raises
    ------
    DataError : it is a single column, or has a type that Arrow does not have.
    """
    origins = {base.__module__.partition(".")[0] for base in type(data).__mro__}
    library = next((f for name, f in _LIBRARIES.items() if name in origins), _other)
    names, index, columns_at = library(data)

    def batches(places: Sequence[int]) -> Batches:
        if not places and library is not _other and isinstance(data, Sized):
            return _nulls(len(data))
        chosen, at = columns_at(places)
        reader = _reader(chosen)
        if reader is None:
            # Arrow's message may quote a value: the column at fault is found by reading each alone.
            wrong = next((p for p in places if _reader(columns_at([p])[0]) is None), places[0])
            raise _no_arrow(DATA_FRAME, names[wrong])
        return _plain(reader, at, DATA_FRAME) if places else _nulls(sum(batch.num_rows for batch in reader))

    return DATA_FRAME, tuple(names), batches, index


def dictionary_columns(data: Mapping[Any, Any]) -> InMemory:
    """The columns of a dictionary: name -> list or array of one length.

    Raises
    ------
    DataError : names that are no texts, values that are no columns, or columns of several lengths.
    """
    lengths: dict[int, str] = {}
    for name, column in data.items():
        if not isinstance(name, str):
            raise DataError(f"{DICTIONARY} has a key of type {type(name).__name__}, expected a column's name")
        is_one = isinstance(column, str | bytes | Mapping) or not isinstance(column, Sized)
        if is_one or getattr(column, "shape", None) == ():  # len() of an array of no dimensions raises
            raise DataError(
                f"{DICTIONARY}: column '{name}' is of type {type(column).__name__}, expected a list or an "
                "array"
            )
        lengths.setdefault(len(column), name)
    if len(lengths) > 1:
        (one, first), (other, second) = list(lengths.items())[:2]
        raise DataError(
            f"{DICTIONARY}: column '{first}' has {counted(one, 'value')}, column '{second}' {other} "
            "(confidential, do not publish)"
        )
    names = tuple(data)

    def batches(places: Sequence[int]) -> Batches:
        if not places:
            return _nulls(next(iter(lengths), 0))
        columns = [_column(data[names[place]], DICTIONARY, names[place]) for place in places]
        table = pa.table(columns, names=[names[place] for place in places])
        return _plain(table.to_reader(), range(len(places)), DICTIONARY)

    return DICTIONARY, names, batches, ()


def text_batches(count: int, columns: Iterator[list[list[str | None]]]) -> Batches:
    """Record batches of ``count`` columns of text."""
    schema = pa.schema([(f"c{i}", pa.string()) for i in range(count)])
    return schema, (
        pa.record_batch([pa.array(c, pa.string()) for c in each], schema=schema) for each in columns
    )


def streamed_table(connection: Any, batches: Batches, errors: list[BaseException]) -> Any:
    """Record batches as an Ibis table of DuckDB, to be read once. DuckDB passes on only the text of an error
    that is raised in it, so errors of ours are put into ``errors``, the list of ``named_errors``."""
    schema, records = batches

    def passed() -> Iterator[Any]:
        try:
            yield from records
        except (DataError, KeyboardInterrupt) as error:
            errors.append(error)
            raise

    connection.con.register("counted_rows", pa.RecordBatchReader.from_batches(schema, passed()))
    return connection.table("counted_rows")


# -- libraries

#: Gives an object that has the columns at some places, and their places in it.
ColumnsAt = Callable[[Sequence[int]], tuple[Any, Sequence[int]]]
#: What a library says of a frame: column names, names of its index, and the columns at some places.
Library = tuple[Sequence[str], tuple[str, ...], ColumnsAt]


def _pandas(data: Any) -> Library:
    """A data frame of pandas."""
    if data.ndim != 2:
        raise _single_column(data)
    index = tuple(name for name in data.index.names if isinstance(name, str))
    names = list(map(str, data.columns))

    def columns_at(places: Sequence[int]) -> tuple[Any, Sequence[int]]:
        # One by one: in a whole frame Arrow would take the index for further columns.
        columns = [_column(data.iloc[:, i], DATA_FRAME, names[i]) for i in places]
        return pa.table(columns, names=[names[i] for i in places]), range(len(places))

    return names, index, columns_at


def _polars(data: Any) -> Library:
    """A data frame of polars."""
    if not hasattr(data, "columns"):
        raise _single_column(data)
    names = data.columns
    return names, (), lambda p: (data.select([names[i] for i in p]), range(len(p)))


def _pyarrow(data: Any) -> Library:
    """A table, a record batch or a reader of batches of pyarrow."""
    if not hasattr(data, "schema"):
        raise _single_column(data)
    if not hasattr(data, "select"):  # a reader of batches
        return data.schema.names, (), lambda p: (_unread(data), p)
    return data.schema.names, (), lambda p: (data.select(list(p)), range(len(p)))


def _duckdb_relation(data: Any) -> Library:
    """A relation of DuckDB."""
    names = data.columns
    if len({name.casefold() for name in names}) < len(names):  # DuckDB ignores the case of a name
        return names, (), lambda p: (data, p)
    columns = [duckdb.ColumnExpression(name) for name in names]
    return names, (), lambda p: (data.select(*(columns[i] for i in p)), range(len(p)))


_LIBRARIES: Mapping[str, Callable[[Any], Library]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _pyarrow,
    "duckdb": _duckdb_relation,
}


def _other(data: Any) -> Library:
    """A frame of an unknown library, which gives all its columns."""
    reader = _reader(data)
    if reader is None:
        raise _single_column(data)
    return reader.schema.names, (), lambda p: (reader, p)


def _single_column(data: object) -> DataError:
    """The error for a series or an array in place of a frame."""
    return DataError(
        f"a {type(data).__name__} is not a table of named columns",
        hint="pass a data frame, or a dictionary of columns: {'age': …}",
    )


# -- Arrow


def _reader(data: Any) -> Any:
    """The record batches of a frame; None where Arrow has no type for it."""
    from pyarrow.interchange import from_dataframe

    if isinstance(data, pa.RecordBatchReader):
        return data
    try:
        with warnings.catch_warnings():
            # pandas and others deprecate ``__dataframe__`` where they have the stream, too.
            warnings.simplefilter("ignore", DeprecationWarning)
            if hasattr(data, "__arrow_c_stream__"):
                return pa.RecordBatchReader.from_stream(data)
            return from_dataframe(data).to_reader()
    except (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError):
        return None  # its text may quote a value


def _unread(reader: Any) -> Any:
    """A reader of batches; DataError for one that has none, or none left."""
    first = next(reader, None)
    if first is None:
        raise DataError(
            "the reader has no batches: it is empty, or was read before",
            hint="pass the table, or a new reader",
        )
    return pa.RecordBatchReader.from_batches(reader.schema, itertools.chain([first], reader))


def _no_arrow(what: str, column: str, values: object = None) -> DataError:
    """The error for a column, with these values where they are given, that Arrow has no type for."""
    way = ", for instance to text"
    if hasattr(values, "sparse"):  # of pandas
        way = f": data[{column!r}].sparse.to_dense()"
    elif hasattr(values, "iloc"):
        way = f": data[{column!r}].astype('string') is text; spelling='loose' then takes 3.0 for 3"
    return DataError(
        f"{what}: column '{column}' holds values of several types, or of one that Arrow does not have",
        hint=f"convert it first{way}",
    )


def _column(values: Any, what: str, name: str) -> Any:
    """The values as an Arrow array; ``what`` and ``name`` are the table and the column, for messages."""
    try:
        is_stream = hasattr(values, "__arrow_c_stream__")
        array = pa.chunked_array(values) if is_stream else pa.array(values, from_pandas=True)
        kind = getattr(array.type, "value_type", array.type)
        if pa.types.is_temporal(kind) and not getattr(kind, "tz", None):
            _refuse_misread(values, what, name)
        return array
    except (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError):
        if isinstance(values, Iterable) and all(v is None or type(v) is int for v in values):
            return pa.array([None if v is None else str(v) for v in values])  # beyond 64 bits
        raise _no_arrow(what, name, values) from None


def _refuse_misread(values: Any, what: str, name: str) -> None:
    """DataError for values that Arrow wrongly reads as instants without a time zone."""
    values = getattr(getattr(values, "cat", values), "categories", values)  # of pandas
    # In an array of one type any value shows it.
    is_mixed = not hasattr(values, "dtype") or values.dtype == object
    for value in values if is_mixed else values[:1]:
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            raise DataError(
                f"{what}: column '{name}' holds some times with a time zone and some without",
                hint="its day depends on the time zone: convert it first",
            )
        if isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[1] != 1:
            raise DataError(
                f"{what}: column '{name}' is of type {value.dtype}, which Arrow does not have",
                hint="convert it first: column.astype('datetime64[s]')",
            )


def _plain(reader: Any, places: Sequence[int], what: str) -> Batches:
    """The columns at these places as ``c0`` and on, of types that DuckDB knows.

    Raises
    ------
    DataError : a column of an extension type, whose stored values have another meaning: the months of a
        pandas period are stored as whole numbers.
    """
    fields = []
    for i, place in enumerate(places):
        field = reader.schema.field(place)
        kind = field.type
        if isinstance(kind, pa.BaseExtensionType) or b"ARROW:extension:name" in (field.metadata or {}):
            raise DataError(
                f"{what}: column '{field.name}' is of type {kind}, which is not read",
                hint="convert it first, for instance to text",
            )
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_timestamp(kind) and kind.unit == "ns" and kind.tz is None:
            kind = pa.timestamp("us")
        if pa.types.is_string_view(kind):  # of polars; DuckDB stops the process on those of an older pyarrow
            kind = pa.large_string()
        fields.append(pa.field(f"c{i}", pa.float32() if pa.types.is_float16(kind) else kind))
    schema = pa.schema(fields)

    def records() -> Iterator[Any]:
        for batch in reader:
            columns = [_decoded(batch.column(place)) for place in places]
            yield pa.record_batch(
                [c.cast(field.type) for c, field in zip(columns, fields, strict=True)], schema=schema
            )

    return schema, records()


def _decoded(column: Any) -> Any:
    """A column with its dictionary decoded, and with instants of nanoseconds cut to their days.

    DuckDB takes the first and the last instant of nanoseconds for infinities, which Arrow does not have.
    """
    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        if pa.types.is_string_view(values.type):  # which pyarrow cannot take entries of
            values = values.cast(pa.large_string())
        column = pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
    return column.cast(pa.date32()) if column.type == pa.timestamp("ns") else column


def _nulls(length: int) -> Batches:
    """A column of NULLs of this length: rows of which only the number is needed."""
    table = pa.table({"c0": pa.nulls(length)})
    return table.schema, iter(table.to_batches())


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
    is_frame = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__dataframe__")
    return is_frame or isinstance(data, str | os.PathLike | Mapping) or is_connection(data)


# -- files


def _file(
    stack: ExitStack, file: TableFile, wanted: Mapping[str, str], table: str | None, delimiter: str | None
) -> TableColumns:
    """A table in a file, open until the stack is closed."""
    stack.push(partial(_refuse_changed, file))
    if table is not None and file.kind not in ("duckdb", "sqlite"):
        raise DataError(
            f"{file.path}: the table '{table}' was requested, and the file is not a database",
            hint="leave out --table (table= in Python), or 'table' under 'data' in the workload file",
        )
    if delimiter is not None and file.kind != "csv":
        raise DataError(
            f"{file.path}: the delimiter '{delimiter}' is given, and the file is not a text file",
            hint="leave out 'delimiter'",
        )
    kind = {"csv": _csv, "parquet": _parquet, "duckdb": _duckdb, "sqlite": _sqlite}[file.kind]
    errors = stack.enter_context(named_errors(file.path, partial(_file_error, file)))
    select, names, *more = kind(stack, file, errors, wanted, delimiter if file.kind == "csv" else table)
    note = ""
    if file.kind == "csv" and delimiter is None and len(names) == 1 and any(w in names[0] for w in wanted):
        note = (
            "the header is one field; if another character separates columns, write 'data: {delimiter: "
            '"~"}\''
        )
    elif file.kind == "csv" and len(wanted) > 1 and sum(map(bool, map(str.strip, names))) == 1:
        note = "the names must come first; remove a line above them with: tail -n +2 old.csv > new.csv"
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
    uri = f"file:{urllib.parse.quote(os.path.abspath(file.path))}?mode=ro"
    # DuckDB reads rows through it in another thread.
    database = stack.enter_context(closing(sqlite3.connect(uri, uri=True, check_same_thread=False)))
    source = sqlite_columns(database, file.path, option)
    connection = stack.enter_context(connected())
    persons = [name for name, why in wanted.items() if why == OF_PERSONS]

    def select(places: Sequence[int]) -> Any:
        texts = sqlite_batches(database, file.path, source, places, persons)
        return streamed_table(connection, text_batches(max(1, len(places)), texts), errors)

    return select, source.columns


def _file_error(file: TableFile, error: Exception) -> DataError | None:
    """Our words for an engine's error that is about the file."""
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
    name, names, batches, index = (
        dictionary_columns(data) if isinstance(data, Mapping) else frame_columns(data)
    )
    in_index = next((column for column in wanted if column in index), "")
    note = f"'{in_index}' is a name of the frame's index, which is not a column: pass data.reset_index()"
    places = _places(name, names, wanted, note if in_index else "")
    errors = stack.enter_context(named_errors(name, lambda _: None))
    connection = stack.enter_context(connected())
    return TableColumns(
        name,
        places,
        lambda at: streamed_table(connection, batches(at), errors),
        names,
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
        raise DataError(f"{name}: the delimiter '{delimiter}' is given, and the table is not a text file")
    with named_errors(name, lambda _: None, (*driver_errors(), NotImplementedError)):
        rows = named_table(connection, name, table)
    return _ibis_table(stack, rows, wanted, name)


def _ibis_table(
    stack: ExitStack, data: Any, wanted: Mapping[str, str], name: str = "the Ibis table"
) -> TableColumns:
    """The columns of an Ibis table, which its backend computes."""
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
            mark = " (confidential, do not publish: its first line may be a row)" if may_be_row else ""
            listed = f"the table has{mark}: {', '.join(names[:40])}{', …' if len(names) > 40 else ''}"
            hint = f"{near}\n  {listed}" if near and not near.startswith("known") else listed
            raise DataError(f"{table}: no column '{column}' ({purpose})", hint=hint)
        if (count := list(names).count(column)) > 1:
            raise DataError(
                f"{table}: column '{column}' appears in the header {count} times, not once",
                hint="rename the others, or name another column with 'column:' in the workload file",
            )
    return {column: list(names).index(column) for column in wanted}
