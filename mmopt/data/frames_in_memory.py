"""Data frames and dictionaries of columns, as one stream of Arrow record batches that DuckDB reads.

Frames come through the Arrow PyCapsule interface (``__arrow_c_stream__``), which pandas, polars, pyarrow,
DuckDB and others have, else through ``__dataframe__``; none of these libraries is needed. Frames of the
libraries listed here are converted only in the columns that are read: an unused pandas column of mixed
objects does no harm.
"""

import datetime
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

from mmopt.data.table_file import DATA_FRAME, DICTIONARY
from mmopt.errors import DataError, counted

#: Arrow's schema, and record batches of it: the columns ``c0`` and on.
Batches = tuple[Any, Iterator[Any]]


@dataclass(frozen=True)
class ColumnStream:
    """Columns by name; ``batches(places)`` reads those at some places, once.

    ``index``: the names that a frame has for its rows, which are no columns.
    """

    name: str
    columns: tuple[str, ...]
    batches: Callable[[Sequence[int]], Batches]
    index: tuple[str, ...] = ()


def is_frame(data: object) -> bool:
    """Whether an object is a frame whose columns can be read."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__dataframe__")


def frame_columns(data: Any) -> ColumnStream:
    """The columns of a frame; nothing is read yet, unless its library is unknown.

    Raises
    ------
    DataError : it is a single column, or has a type that Arrow does not have.
    """
    what = DATA_FRAME
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
            raise _no_arrow(what, names[wrong])
        return _plain(reader, at, what) if places else _nulls(sum(batch.num_rows for batch in reader))

    return ColumnStream(what, tuple(names), batches, index)


def dictionary_columns(data: Mapping[Any, Any]) -> ColumnStream:
    """The columns of a dictionary: name -> list or array of one length.

    Raises
    ------
    DataError : names that are no texts, values that are no columns, or columns of several lengths.
    """
    what = DICTIONARY
    lengths: dict[int, str] = {}
    for name, column in data.items():
        if not isinstance(name, str):
            raise DataError(f"{what} has a key of type {type(name).__name__}, expected a column's name")
        is_one = isinstance(column, str | bytes | Mapping) or not isinstance(column, Sized)
        if is_one or getattr(column, "shape", None) == ():  # len() of an array of no dimensions raises
            raise DataError(
                f"{what}: column '{name}' is of type {type(column).__name__}, expected a list or an array"
            )
        lengths.setdefault(len(column), name)
    if len(lengths) > 1:
        (one, first), (other, second) = list(lengths.items())[:2]
        raise DataError(
            f"{what}: column '{first}' has {counted(one, 'value')}, column '{second}' {other} (confidential, "
            "for you alone)"
        )
    names = tuple(data)

    def batches(places: Sequence[int]) -> Batches:
        if not places:
            return _nulls(next(iter(lengths), 0))
        import pyarrow as pa

        columns = [_column(data[names[place]], what, names[place]) for place in places]
        table = pa.table(columns, names=[names[place] for place in places])
        return _plain(table.to_reader(), range(len(places)), what)

    return ColumnStream(what, names, batches)


def text_batches(count: int, columns: Iterator[list[list[str | None]]]) -> Batches:
    """Record batches of ``count`` columns of text."""
    import pyarrow as pa

    schema = pa.schema([(f"c{i}", pa.string()) for i in range(count)])
    return schema, (
        pa.record_batch([pa.array(c, pa.string()) for c in each], schema=schema) for each in columns
    )


def streamed_table(connection: Any, batches: Batches, errors: list[BaseException]) -> Any:
    """Record batches as an Ibis table of DuckDB, to be read once. DuckDB passes on only the text of an error
    that is raised in it, so errors of ours are put into ``errors``, the list of ``named_errors``."""
    import pyarrow as pa

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
        import pyarrow as pa

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


def _duckdb(data: Any) -> Library:
    """A relation of DuckDB."""
    import duckdb

    names = data.columns
    if len({name.casefold() for name in names}) < len(names):  # DuckDB ignores the case of a name
        return names, (), lambda p: (data, p)
    columns = [duckdb.ColumnExpression(name) for name in names]
    return names, (), lambda p: (data.select(*(columns[i] for i in p)), range(len(p)))


_LIBRARIES: Mapping[str, Callable[[Any], Library]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _pyarrow,
    "duckdb": _duckdb,
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
        f"a {type(data).__name__} is no table of named columns",
        hint="pass a data frame, or a dictionary of columns: {'age': …}",
    )


# -- Arrow


def _reader(data: Any) -> Any:
    """The record batches of a frame; None where Arrow has no type for it."""
    import pyarrow as pa
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
    import pyarrow as pa

    first = next(reader, None)
    if first is None:
        raise DataError(
            "the reader of batches has none: it is empty, or was read before",
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
    import pyarrow as pa

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
    import numpy as np

    values = getattr(getattr(values, "cat", values), "categories", values)  # of pandas
    # In an array of one type any value shows it.
    is_mixed = not hasattr(values, "dtype") or values.dtype == object
    for value in values if is_mixed else values[:1]:
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            raise DataError(
                f"{what}: column '{name}' holds times with a time zone beside others without",
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
    import pyarrow as pa

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
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        if pa.types.is_string_view(values.type):  # which pyarrow cannot take entries of
            values = values.cast(pa.large_string())
        column = pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
    return column.cast(pa.date32()) if column.type == pa.timestamp("ns") else column


def _nulls(length: int) -> Batches:
    """A column of NULLs of this length: rows of which only the number is needed."""
    import pyarrow as pa

    table = pa.table({"c0": pa.nulls(length)})
    return table.schema, iter(table.to_batches())
