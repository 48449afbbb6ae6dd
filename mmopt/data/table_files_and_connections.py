"""Files that hold tables, connections to databases, and the errors of both.

``table_file`` finds the kind of a file, text, Parquet, DuckDB or SQLite, and a stamp by which a change while
it is counted is noticed.

The header of a text file is read here and not by DuckDB, for three reasons: DuckDB renames a column that
occurs twice without a word, compares names without regard to case, and guesses types from a sample, which
turns the text ``007`` into 7. The header and the wanted names decide where fields are split, never a row.

A database file, DuckDB or SQLite, has tables and views, of which one is read. DuckDB's extension for SQLite
would have to be downloaded, so Python's ``sqlite3`` reads these files, in batches. A column of SQLite may
hold values of any type in any row: all are read as text, numbers written out in full, and find their cells as
those of a text file do. It has no booleans: they are the numbers 0 and 1.

Errors of engines quote the row at which they stopped. Rows are confidential: only the line number and the
reason are passed on, and the original exception is not chained.

Messages show no credentials of a database server, which a URL or an Ibis connection names: they show scheme,
user, host, port and path of a URL. The password and everything behind ``?`` are left out, and so is the
message of a driver that cannot connect, except PostgreSQL's.
"""

import csv
import glob
import gzip
import importlib
import io
import os
import re
import sqlite3
import sys
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Any, Literal, cast
from urllib.parse import urlsplit

from mmopt.errors import DataError, Location, suggest


@dataclass(frozen=True)
class _LoadedWhenUsed:
    """A library whose names are looked up in it when they are used: to load one takes 0.2 to 1 s."""

    library: str

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.library), name)


duckdb, ibis, pa = map(_LoadedWhenUsed, ("duckdb", "ibis", "pyarrow"))

Kind = Literal["csv", "parquet", "duckdb", "sqlite"]

#: The kind of file for an extension, and the delimiter of a text file unless its header shows another.
_TEXT: dict[str, tuple[Kind, str]] = {".csv": ("csv", ","), ".tsv": ("csv", "\t"), ".txt": ("csv", ",")}
_EXTENSIONS: dict[str, tuple[Kind, str]] = {
    **{key + packed: form for key, form in _TEXT.items() for packed in ("", ".gz")},
    ".parquet": ("parquet", ""),
    # The first bytes of a database decide its kind.
    **dict.fromkeys((".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db"), ("duckdb", "")),
}
KNOWN = f"known: {', '.join(_EXTENSIONS)}"
_SEVERAL = (
    "several Parquet files are one table as a view in a DuckDB file: "
    "CREATE VIEW events AS FROM read_parquet('FOLDER/**/*.parquet', hive_partitioning = true)"
)

# Names of tables in memory.
DATA_FRAME, DICTIONARY = "the data frame", "the dictionary of columns"

_SQLITE = b"SQLite format 3\0"
_DUCKDB = b"DUCK"  # from byte 8 on, after a checksum


@dataclass(frozen=True)
class TableFile:
    """A file that exists and whose kind is known.

    ``delimiter`` is that of a text file's extension; empty for others. ``stamp`` tells the file from one that
    is written in its place: device, inode, size and time of its last change.
    """

    path: str
    kind: Kind
    delimiter: str
    gzipped: bool
    stamp: tuple[int, ...]

    @property
    def is_unchanged(self) -> bool:
        """Whether the file is still the same."""
        try:
            return _stamp(self.path) == self.stamp
        except OSError:
            return False


def table_file(path: str | os.PathLike[str]) -> TableFile:
    """Look at a path before any engine does.

    Raises
    ------
    DataError : no such file, a directory, no regular file (a pipe would wait for ever, and could be read only
        once), an unknown extension, an empty file, or a database of neither kind.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise DataError(f"{name}: no such file", hint=_SEVERAL if "*" in name else _neighbours(name))
    if os.path.isdir(name):
        raise DataError(f"{name}: is a directory; expected one file", hint=f"{KNOWN}\n  {_SEVERAL}")
    if not os.path.isfile(name):
        raise DataError(f"{name}: is not a regular file", hint="write the table to a file first")
    extension = next((ending for ending in _EXTENSIONS if name.lower().endswith(ending)), None)
    if extension is None:
        suffix = os.path.splitext(name)[1]
        problem = f"unknown extension '{suffix}'" if suffix else "a file name without an extension"
        save = "save the sheet as CSV; " if suffix.lower() in (".xlsx", ".xls", ".ods") else ""
        raise DataError(f"{name}: {problem}", hint=f"{save}{KNOWN}")
    kind, delimiter = _EXTENSIONS[extension]
    try:
        stamp = _stamp(name)
        with open(name, "rb") as content:
            start = content.read(16)
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from None
    if not start:
        raise DataError(f"{name}: the file is empty (0 bytes)", hint="expected a table with column names")
    if kind == "duckdb" and start == _SQLITE:
        kind = "sqlite"
    elif kind == "duckdb" and start[8:12] != _DUCKDB:
        raise DataError(
            f"{name}: neither a DuckDB nor an SQLite database, by its first bytes",
            hint="is the file complete?",
        )
    return TableFile(name, kind, delimiter, extension.endswith(".gz"), stamp)


def _stamp(name: str) -> tuple[int, ...]:
    """The ``stamp`` of the file at a path; OSError where there is none."""
    status = os.stat(name)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _neighbours(name: str) -> str:
    """A hint for a mistyped name: a file of the folder that looks like it."""
    folder = os.path.dirname(name) or "."
    try:
        tables = [entry for entry in os.listdir(folder) if entry.lower().endswith(tuple(_EXTENSIONS))]
    except OSError:
        return f"there is no folder {folder}"
    near = suggest(os.path.basename(name), tables)
    return near if near.startswith("did you mean") else ""


#: Delimiters that are tried after that of the extension.
_DELIMITERS = (",", ";", "\t", "|")
LONGEST_LINE = 2_000_000  # bytes; the limit of DuckDB


def csv_header(file: TableFile, wanted: Collection[str], override: str | None) -> tuple[str, tuple[str, ...]]:
    """The delimiter, and the column names in the first line.

    Of the usual delimiters it is one at which all ``wanted`` names are columns, the one of the extension
    first; ``override`` takes its place. Where no column is wanted, it is the one of the most columns.

    Raises
    ------
    DataError : the file cannot be read, its first line is not UTF-8, is empty, or is not CSV.
    """
    if override is not None:
        return override, _names(file, override)
    header: dict[str, tuple[str, ...]] = {file.delimiter: ()}
    for delimiter in dict.fromkeys((file.delimiter, *_DELIMITERS)):
        with suppress(DataError):
            header[delimiter] = _names(file, delimiter)
    # The first of the best: that of the extension, unless another one shows more of the wanted columns.
    best = max(
        header, key=lambda d: (len(set(wanted).intersection(header[d])), not wanted and len(header[d]))
    )
    return best, header[best] or _names(file, best)  # whose error says why there are none


def _names(file: TableFile, delimiter: str) -> tuple[str, ...]:
    """The column names in the first line; errors as ``csv_header``."""
    try:
        # Bytes that are not UTF-8 pass through here as surrogates, so that only the header itself is judged:
        # the text layer reads ahead, and a bad byte further down has its own line number, which DuckDB knows.
        with _binary(file) as raw:
            start = raw.read(1)  # a wrong magic number is an error here, a wrong checksum at the end
            try:
                start += raw.read(LONGEST_LINE - 1)
            except gzip.BadGzipFile:
                raise _damaged(file.path) from None
        if len(start) == LONGEST_LINE and not re.search(rb"[\r\n]", start):
            raise DataError(
                f"the first line is longer than {LONGEST_LINE:,} bytes; expected column names",
                where=Location(file.path, 1, 1),
            )
        if (mark := re.match(rb"(\xef\xbb\xbf)?\"?(sep=.?)\"?[\r\n]", start)) is not None:
            raise DataError(
                f"the first line is '{mark[2].decode(errors='replace')}', no column names",
                where=Location(file.path, 1, 1),
                hint="leave it out, for instance: tail -n +2 old.csv > new.csv",
            )
        with io.TextIOWrapper(io.BytesIO(start), "utf-8-sig", "surrogateescape", newline="") as lines:
            names = next(csv.reader(lines, delimiter=delimiter, strict=True), [])
    except gzip.BadGzipFile as error:
        if str(error).startswith(("CRC check", "Incorrect length")):  # at the end of a short file
            raise _damaged(file.path) from None
        raise DataError(f"{file.path}: not a gzip file, though its name ends in .gz") from None
    except (EOFError, zlib.error):
        raise _damaged(file.path) from None
    except OSError as error:
        raise DataError(f"{file.path}: cannot be read: {error.strerror or error}") from None
    except csv.Error as error:
        raise DataError(
            f"the first line is not a header of column names: {error}", where=Location(file.path, 1, 1)
        ) from None
    if any("\udc80" <= character <= "\udcff" for name in names for character in name):
        raise _not_utf8(file.path, 1)
    if not any(name.strip() for name in names):
        raise DataError("the first line is empty; expected column names", where=Location(file.path, 1, 1))
    if any("\n" in name or "\r" in name for name in names):
        # DuckDB 2.0 takes it for the file's line end and then reads no row, without an error.
        raise DataError(
            "a column name holds a line break, or its quote is not closed", where=Location(file.path, 1, 1)
        )
    return tuple(names)


def csv_table(connection: Any, file: TableFile, delimiter: str, count: int) -> Any:
    """The rows as an Ibis table of text columns, numbered ``c0`` and on.

    Numbered, so that names that differ in case only, or occur twice unused, do no harm.
    """
    return connection.read_csv(
        # Without escaping, a file called data[1].csv would be read as a pattern.
        glob.escape(os.path.abspath(file.path)),
        auto_detect=False,
        header=True,
        delim=delimiter,
        quote='"',
        escape='"',
        columns={f"c{i}": "VARCHAR" for i in range(count)},
        compression="gzip" if file.gzipped else "none",
        hive_partitioning=False,
    )


def check_gzip(file: TableFile) -> None:
    """Read a gzipped table to its end, as DuckDB does not compare the checksum.

    Raises
    ------
    DataError : the checksum or the length is not that of the text, or the stream ends too early.
    """
    try:
        with _binary(file) as raw:
            while raw.read(2**20):
                pass
    except (OSError, EOFError, zlib.error):
        raise _damaged(file.path) from None


def _damaged(path: str) -> DataError:
    """The error for a gzip stream that cannot be unpacked to its end."""
    return DataError(f"{path}: the gzip stream is damaged or ends too early")


def _not_utf8(path: str, line: int) -> DataError:
    """The error for text in another encoding, in the header or in a row; its hint is by the first bytes."""
    with open(path, "rb") as content:
        mark = content.read(2)
    kind = "UTF-16" if mark in (b"\xff\xfe", b"\xfe\xff") else "CP1252"
    is_packed = mark == b"\x1f\x8b" and not path.lower().endswith(".gz")
    return DataError(
        "the text is not UTF-8",
        where=Location(path, line, 1),
        hint=f"it is packed with gzip, rename it: {os.path.basename(path)}.gz"
        if is_packed
        else f"convert the file first, for instance: iconv -f {kind} -t UTF-8 old.csv > new.csv",
    )


def _binary(file: TableFile) -> IO[bytes]:
    """The bytes of a text file, unpacked."""
    return cast(IO[bytes], gzip.open(file.path, "rb")) if file.gzipped else open(file.path, "rb")


#: Parts of DuckDB's messages, and our words for each.
_PROBLEMS = {
    "unterminated quote": "a quoted field that is not closed, or goes on after its closing quote",
    "Maximum line size": "a line longer than 2,000,000 bytes",
    "": "not well-formed CSV (RFC 4180), or line ends of several kinds",
}


def csv_error(file: TableFile, error: Exception) -> DataError | None:
    """Our error for one of DuckDB, without the row that it quotes; None where it is not about the file."""
    if isinstance(error, duckdb.NotImplementedException):
        # Its parallel readers disagreed where lines begin; a single one would not see a quote left open.
        return DataError(f"{file.path}: quoted line breaks in a large CSV file", hint="convert it to Parquet")
    if type(error) not in (duckdb.InvalidInputException, duckdb.IOException, duckdb.Error):
        return None
    text = str(error)
    numbered = re.match(r"Invalid Input Error: CSV Error on Line: (\d+)", text)
    line = int(numbered.group(1)) if numbered else None
    if file.gzipped and text.startswith("IO Error"):
        # ``check_gzip`` unpacked it; DuckDB does not read a gzip header with a comment or a checksum.
        return DataError(
            f"{file.path}: this form of gzip is not read", hint="unpack it, or pack it with gzip"
        )
    if line is not None and "not utf-8 encoded" in text:
        return _not_utf8(file.path, line)
    where = Location(file.path, line, 1) if line is not None else None
    problem = next(words for mark, words in _PROBLEMS.items() if mark in text)
    if fields := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text):
        problem = f"{fields.group(2)} fields in this row; the header has {fields.group(1)}"
    return DataError(
        problem if where else f"{file.path}: {problem}",
        where=where,
        hint='expected UTF-8 text, one row a line, fields quoted with " where they hold the separator\n'
        "  a large file whose quoted fields hold line breaks may be read from a copy in Parquet only",
    )


ROWS_AT_A_TIME = 50_000  # rows of SQLite at a time


@dataclass(frozen=True)
class DatabaseTable:
    """A table or view: its name as SQL, its column names, and the values of its enumerations by column."""

    quoted: str
    columns: tuple[str, ...]
    values: Mapping[str, list[str]] = field(default_factory=dict)


def quoted(name: str) -> str:
    """A name as SQL spells it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


# -- DuckDB


def duckdb_columns(connection: Any, path: str, table: str | None) -> DatabaseTable:
    """The table or view called ``table``, or the only one; from the catalogue alone.

    Raises
    ------
    DataError : there is none, there are several and none is named, or there is none of that name.
    """
    here = "database_name = current_database() AND NOT internal"
    names = connection.con.execute(
        f"SELECT schema_name, table_name FROM duckdb_tables() WHERE {here} "
        f"UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE {here} ORDER BY ALL"
    ).fetchall()
    shown = [name if schema == "main" else f"{schema}.{name}" for schema, name in names]
    chosen = chosen_table(path, shown, table)
    if shown.count(chosen) > 1:
        raise DataError(
            f"{path}: '{chosen}' is a name with a point, and a name in a schema", hint="rename one of the two"
        )
    schema, name = names[shown.index(chosen)]
    columns = connection.con.execute(
        f"SELECT column_name, data_type FROM duckdb_columns() WHERE {here} AND schema_name = ? "
        "AND table_name = ? ORDER BY column_index",
        [schema, name],
    ).fetchall()
    values = {
        column: connection.con.execute(f"SELECT enum_range(NULL::{kind})").fetchone()[0]
        for column, kind in columns
        if kind.startswith("ENUM(")
    }
    return DatabaseTable(f"{quoted(schema)}.{quoted(name)}", tuple(column for column, _ in columns), values)


def duckdb_table(connection: Any, source: DatabaseTable, places: Sequence[int]) -> Any:
    """The columns at these places as an Ibis table of ``c0`` and on, by a view that only this session has.

    Only these: Ibis may lack the types of the others.
    """
    columns = [f"{quoted(source.columns[place])} AS c{i}" for i, place in enumerate(places)]
    connection.raw_sql(
        f"CREATE TEMP VIEW counted_rows AS SELECT {', '.join(columns) or '1 AS c0'} FROM {source.quoted}"
    )
    return connection.table("counted_rows")


# -- SQLite


def sqlite_columns(connection: sqlite3.Connection, path: str, table: str | None) -> DatabaseTable:
    """The table or view called ``table``, or the only one; errors as ``duckdb_columns``."""
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' ORDER BY name"
    ).fetchall()
    name = quoted(chosen_table(path, tuple(name for (name,) in names), table))
    header = connection.execute(f"SELECT * FROM {name} LIMIT 0").description
    return DatabaseTable(name, tuple(column[0] for column in header))


def sqlite_batches(
    connection: sqlite3.Connection,
    path: str,
    source: DatabaseTable,
    places: Sequence[int],
    persons: Collection[str] = (),
) -> Iterator[list[list[str | None]]]:
    """The columns at these places as text, in batches of rows; one column of NULL where there is no place.

    One statement reads them all, so that rows written meanwhile are not read.

    Raises
    ------
    DataError : a value is a BLOB; in a column of ``persons`` a REAL, which may equal a whole number, or whole
        numbers beside texts, which may be spelled alike.
    """
    columns = [source.columns[place] for place in places]
    kinds: dict[int, set[type]] = {i: set() for i, column in enumerate(columns) if column in persons}
    query = f"SELECT {', '.join(map(quoted, columns)) or 'NULL'} FROM {source.quoted}"
    for batch in _batches(connection, path, query):
        for i in kinds:
            kinds[i] |= {type(row[i]) for row in batch}
            if float in kinds[i] or kinds[i] >= {int, str}:
                values = "REAL numbers" if float in kinds[i] else "whole numbers beside texts"
                raise DataError(
                    f"{path}: column '{columns[i]}' holds {values}; a person is named by a text or a "
                    "whole number",
                    hint="make a view of the table in which it is text",
                )
        texts = [list(map(_text, column)) for column in zip(*batch, strict=True)]
        for i, column in enumerate(texts):
            if any(isinstance(value, bytes) for value in column):
                raise DataError(
                    f"{path}: column '{columns[i]}' holds a BLOB, which cannot be a value of an attribute",
                    hint="make a view of the table in which it is text or a number",
                )
        yield texts


def _batches(connection: sqlite3.Connection, path: str, query: str) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a query, in batches; errors of SQLite become ours."""
    try:
        rows = connection.execute(query)
        while batch := rows.fetchmany(ROWS_AT_A_TIME):
            yield batch
    except sqlite3.Error as error:
        raise sqlite_error(path, error) from None


def sqlite_error(path: str, error: sqlite3.Error) -> DataError:
    """Our error for an error of SQLite. One about text that is not UTF-8 has no code, and quotes the text."""
    code = getattr(error, "sqlite_errorname", "text that is not UTF-8")
    hint = "it is being written; try again later" if code in ("SQLITE_BUSY", "SQLITE_LOCKED") else ""
    return DataError(f"{path}: cannot be read as an SQLite database ({code})", hint=hint)


def _text(value: Any) -> Any:
    """A number as a text with all its digits; other values as they are."""
    return value if value is None or isinstance(value, str | bytes) else repr(value)


def chosen_table(database: str, names: Sequence[str], table: str | None, hint: str = "") -> str:
    """The name ``table`` if it is one of ``names``; where it is None, the only name.

    Raises
    ------
    DataError : no such table, several and none is named, or none at all, with the ``hint``.
    """
    listed = f"{', '.join(names[:40])}{', …' if len(names) > 40 else ''}"
    if table is not None and table in names:
        return table
    if not names:
        raise DataError(f"{database}: the database has no table and no view", hint=hint)
    if table is not None:
        inside = [f"did you mean '{name}'?" for name in names if name.endswith(f".{table}")]
        near = inside[0] if inside else suggest(table, names)
        there = f"the database has: {listed}"
        raise DataError(
            f"{database}: no table or view '{table}'",
            hint=f"{near}\n  {there}" if near.startswith("did") else there,
        )
    if len(names) > 1:
        raise DataError(
            f"{database}: the database has {len(names)} tables and views, and none is named: {listed}",
            hint=f"name one: --table '{names[0]}' (table= in Python)",
        )
    return names[0]


#: Nothing is written (no spill folder) and nothing is downloaded.
_SETTINGS: dict[str, Any] = {
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


@contextmanager
def connected(path: str | None = None) -> Iterator[Any]:
    """An Ibis connection to a DuckDB in memory, or to a database file that is not written.

    Raises
    ------
    DataError : the file is open elsewhere, or is no database that this DuckDB reads.
    """
    try:
        connection = ibis.duckdb.connect(path or ":memory:", read_only=path is not None, **_SETTINGS)
    except duckdb.ConnectionException:
        raise DataError(
            f"{path}: the database is open in this process",
            hint="close that connection first, or pass a relation or Ibis table of it in place of the file",
        ) from None
    except duckdb.Error as error:
        if "Could not set lock" in str(error):
            raise DataError(
                f"{path}: the database is open for writing in another process", hint="close it there first"
            ) from None
        raise DataError(
            f"{path}: cannot be read as a DuckDB database ({type(error).__name__})",
            hint=f"is the file complete, and not of a version after {duckdb.__version__}?",
        ) from None
    try:
        # It is on in notebooks with ipywidgets; in those without it is off, and setting it is an error.
        ((is_on,),) = connection.raw_sql("SELECT current_setting('enable_progress_bar')").fetchall()
        if is_on:
            connection.raw_sql("SET enable_progress_bar = false")
        yield connection
    finally:
        connection.disconnect()


@contextmanager
def named_errors(
    name: str, in_words: Callable[[Exception], DataError | None], more: tuple[type[Exception], ...] = ()
) -> Iterator[list[BaseException]]:
    """Turn each error that an engine raises inside into a DataError.

    Parameters
    ----------
    name : the table, for messages.
    in_words : gives our error for an engine's error that is about the table itself, else None.
    more : further exceptions that count as an engine's.

    Yields a list: an error that is put there is raised in place of the engine's.
    """
    replacements: list[BaseException] = []
    try:
        with warnings.catch_warnings():
            # Ibis 12 asks for schemas through a call that DuckDB 2 deprecates.
            warnings.filterwarnings("ignore", "fetch_arrow_table", DeprecationWarning)
            yield replacements
    except (duckdb.Error, ibis.IbisError, sqlite3.Error, pa.ArrowException, *more) as error:
        if replacements:
            raise replacements[0] from None
        if isinstance(error, duckdb.OutOfMemoryException):
            raise DataError(
                f"{name}: the table does not fit into memory while it is counted",
                hint="allow more memory, or count a copy in Parquet, which takes the least",
            ) from None
        raise in_words(error) or engine_error(name, error) from None


_ADMINISTRATOR = "ask the administrator of the database"

#: Patterns of SQLSTATEs, codes of SQLite and names of exceptions; what went wrong; what to do.
_STOPS = (
    (
        r"42501|28...|InsufficientPrivilege|Permission\w+|SQLITE_(AUTH|PERM|READONLY|CANTOPEN)\w*",
        "a right to read is missing",
        f"{_ADMINISTRATOR} for the right to read the table and its columns, or of a view, for its owner's "
        "right to all that it reads",
    ),
    (
        r"08...|57P0[2-5]|ConnectionException|HTTPException|Py4JNetworkError",
        "the connection was lost or refused",
        f"is the server up, and reachable from here? run it again, or {_ADMINISTRATOR}",
    ),
    (
        r"57...|25P0[34]|40...|55...|InterruptException|SQLITE_(INTERRUPT|BUSY|LOCKED)\w*",
        "the query was ended by a limit of time, a lock or an administrator",
        "a limit of this user ends it again: PGOPTIONS='-c statement_timeout=0 -c lock_timeout=0' in the "
        f"environment lifts those of PostgreSQL; else run it again, or {_ADMINISTRATOR} for more time",
    ),
    (
        r"5[348]...|OutOfMemory\w*|\w*IOException|SQLITE_(FULL|NOMEM|IOERR)\w*",
        "the disk, the memory or another resource of the database is used up",
        f"{_ADMINISTRATOR} for more, or count a copy of the table elsewhere",
    ),
    (
        r"2....|Conversion\w+|OutOfRange\w+|InvalidInput\w+|(NumberFormat|DateTime|Arithmetic)Exception",
        "a value cannot be computed, as in a view that makes numbers of texts",
        "read the view by itself to see which; the value is confidential, and not shown here",
    ),
    (
        r"42...|0A...|\w*(Parser?|Binder|Catalog|Analysis|NotImplemented)Exception|SQLITE_ERROR",
        "it does not take the query: a bug of mmopt, unless a view of the table is broken",
        "please report it with the types of the columns and the version of the database; no row is needed",
    ),
    (
        "NotImplementedError|IbisTypeError",
        "a column is of a type that Ibis does not read, such as variants and most intervals of Spark",
        "name a view of the table without that column, or with a text or number made of it",
    ),
    # Of psycopg, where the server could not say why; else it has a SQLSTATE.
    ("OperationalError", "the connection was lost", f"run it again, or {_ADMINISTRATOR} why it ends"),
    (
        ".*",
        "",
        "read the table by itself to see why; the engine's message may quote a row, and is not shown here",
    ),
)


def engine_error(name: str, error: Exception, place: str = "") -> DataError:
    """Make a DataError of an engine's error, by its class alone, as its text may quote rows.

    ``place``: what was read.
    """
    state = (
        getattr(error, "sqlstate", None)
        or getattr(error, "sqlite_errorname", None)
        or getattr(error, "getSqlState", str)()
    )
    kinds = [state or "", *(kind.__name__ for kind in type(error).__mro__)]
    _, words, hint = next(row for row in _STOPS if any(re.fullmatch(row[0], kind) for kind in kinds))
    return DataError(
        f"{name}: the engine stopped{place} ({type(error).__name__}){': ' * bool(words)}{words}", hint=hint
    )


def missing_rights(connection: Any, path: Sequence[str], columns: Collection[str] = ()) -> str:
    """A hint: what gives a user of PostgreSQL the right to read a table, or columns of it."""
    role, listed = quoted(connection.con.info.user), f" ({', '.join(map(quoted, columns))})" * bool(columns)
    usage = "".join(f"GRANT USAGE ON SCHEMA {quoted(schema)} TO {role}; " for schema in path[:-1])
    return f"{_ADMINISTRATOR}: {usage}GRANT SELECT{listed} ON {'.'.join(map(quoted, path))} TO {role}"


def driver_errors() -> tuple[type[Exception], ...]:
    """The exceptions of the database drivers that are loaded: PEP 249's class Error, and those of Spark."""
    namespaces = [vars(module) for module in list(sys.modules.values()) if hasattr(module, "__dict__")]
    kinds: list[object] = [
        *(names.get("Error") for names in namespaces if isinstance(names.get("apilevel"), str)),
        getattr(sys.modules.get("pyspark.errors"), "PySparkException", None),
        getattr(sys.modules.get("py4j.protocol"), "Py4JError", None),
    ]
    return tuple(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception))


def uncollated(text: Any) -> Any:
    """A text, or its bytes, without the collation of its column, which may equate ``f`` with ``F``."""
    name = text.get_backend().name
    if name == "postgres":  # Ibis 12 writes no literals of bytes there
        return called("convert_from", "string", called("convert_to", "binary", text, "UTF8"), "UTF8")
    return called("encode", "binary", text) if name == "duckdb" else text.cast("binary")


def hash_of(text: Any) -> Any:
    """SHA-256 in hexadecimal of a text in UTF-8, the same on every engine."""
    if text.get_backend().name != "postgres":
        return text.hexdigest("sha256")
    digest = called("sha256", "binary", called("convert_to", "binary", text, "UTF8"))
    return called("encode", "string", digest, "hex")


def called(name: str, kind: str, *arguments: Any) -> Any:
    """Call a database's own function, which Ibis 12 does not have, with a value and texts."""
    kinds = (arguments[0].type(), *["string"] * (len(arguments) - 1))
    # Never called: Ibis reads the number of arguments from them.
    shapes: tuple[Callable[..., Any], ...] = (lambda one: one, lambda one, two: (one, two))
    return ibis.udf.scalar.builtin(shapes[len(arguments) - 1], name=name, signature=(kinds, kind))(*arguments)


def path_of(table: Any) -> list[str]:
    """Schema, where it is known, and name of a table of a database; nothing of another expression."""
    op = table.op()
    return [part for part in (op.namespace.database, op.name) if part] if hasattr(op, "namespace") else []


#: Schema and name of each table or view, materialised ones and foreign tables as well; whether its name alone
#: will do; whether this user may read some column.
_TABLES = """
    SELECT n.nspname, c.relname, n.oid = pg_my_temp_schema() OR n.nspname = current_schema() AS is_here,
      has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND (n.oid = pg_my_temp_schema() OR n.nspname !~ '^(pg_|information_schema$)')
    ORDER BY is_here DESC NULLS LAST, n.nspname, c.relname"""

_COLUMNS = """
    SELECT a.attname,
      CASE WHEN t.typtype = 'd' OR t.oid = 'money'::regtype
        THEN replace(format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL), 'money', 'numeric') END,
      array(SELECT enumlabel::text FROM pg_enum WHERE enumtypid IN (t.oid, t.typbasetype)
        ORDER BY enumsortorder),
      has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
    WHERE c.relname = %s AND CASE %s::text WHEN '' THEN pg_table_is_visible(c.oid) ELSE n.nspname = %s END
      AND a.attnum > 0 AND NOT a.attisdropped"""


def catalogued(table: Any) -> tuple[dict[str, Any], dict[str, list[str]], list[str]]:
    """Types of columns that Ibis takes for others, by name; the values of enumerations; what may not be read.

    Ibis 12 takes PostgreSQL's domains for other types, its money for decimals that it cannot be cast to, and
    Spark's instants for times without a zone.
    """
    backend = table.get_backend()
    if backend.name == "pyspark":
        require_session(backend)
        kinds = dict(backend._session.sql(backend.compile(table)).dtypes)
        return {n: "timestamp('UTC')" for n, kind in kinds.items() if kind == "timestamp"}, {}, []
    if backend.name != "postgres" or not path_of(table):
        return {}, {}, []
    *schemas, name = path_of(table)
    with backend.con.cursor() as cursor, backend.con.transaction():
        rows = cursor.execute(_COLUMNS, [name, *(schemas or [""]) * 2]).fetchall()
    values = {column: labels for column, _, labels, is_open in rows if labels and is_open}
    read = backend.compiler.type_mapper.from_string
    bases = {name: kind for name, base, *_ in rows if base and not (kind := read(base)).is_unknown()}
    enums = dict.fromkeys((column for column, _, labels, _ in rows if labels), "string")
    return bases | enums, values, [column for column, *_, is_open in rows if not is_open]


def require_session(backend: Any) -> None:
    """DataError for a Spark session that was stopped, which is an AttributeError of Spark's own otherwise."""
    context = getattr(getattr(backend, "_session", None), "_sc", None)  # a remote session has none
    if context is not None and context._jsc is None:
        raise DataError("the Spark session was stopped", hint="make a new session, and pass that")


# Schemes of URLs: of files, of Spark, and the backend of a scheme that has another name.
_FILES = ("file", "duckdb", "sqlite", "csv", "parquet")
_SPARK = ("spark", "pyspark")
_EXTRAS = {"postgresql": "postgres"}


def is_url(data: object) -> bool:
    """Whether this names a database on a server: a text such as ``postgres://host/database``."""
    return isinstance(data, str) and "://" in data and not os.path.exists(data)


def is_connection(data: object) -> bool:
    """Whether this is an Ibis connection."""
    return isinstance(data, ibis.backends.BaseBackend)


def shown_url(url: str) -> str:
    """A URL for messages, without password, options and fragment; else its scheme alone."""
    scheme, _, rest = url.partition("://")
    # By hand: urlsplit takes the end of a password with '/', '?' or '#' for a path, which would be shown.
    bare, _, place = rest.rpartition("@")
    if any(mark in bare for mark in "/?#"):  # in a password, or in options with an '@'
        return f"{scheme}://***"
    user = bare.partition(":")[0]
    hidden = f"{user}:***@" if ":" in bare else f"{user}@" if bare else ""
    return f"{scheme}://{hidden}{place.partition('?')[0].partition('#')[0]}"


def shown_source(data: str | os.PathLike[str]) -> str:
    """A path as it is, a URL as ``shown_url`` shows it."""
    return shown_url(str(data)) if is_url(data) else str(data)


#: Patterns of reasons why there is no connection to PostgreSQL, and what to do.
_WAYS_IN = (
    ("database .* does not exist", "name a database that is there: postgres://USER@HOST:5432/DATABASE"),
    ("SSL", "?sslmode=require behind the URL asks for an encrypted connection, sslmode=prefer for any"),
    (
        "refused|timeout|timed out|unreachable|No route|resolve",
        "is the server up, and reachable from here by this host and port?",
    ),
    (
        "",
        "postgres://USER@HOST:5432/DATABASE, with the password in PGPASSWORD or in ~/.pgpass (in a URL its "
        "@, /, # and ? are spelled %40, %2F, %23 and %3F)",
    ),
)


@contextmanager
def connected_to(url: str) -> Iterator[Any]:
    """An Ibis connection to the database of a URL.

    Raises
    ------
    DataError : a scheme that Ibis does not have, or that is not opened by a URL; a package that is not
        installed; a database that cannot be reached.
    """
    shown = shown_url(url)
    scheme = url.partition("://")[0].lower()
    if scheme in _FILES:
        raise DataError(f"{shown}: a file is named by its path", hint="for example people.duckdb")
    if scheme in _SPARK:
        raise DataError(
            f"{shown}: a Spark session is made in Python",
            hint="mmopt.release(ibis.pyspark.connect(session), 'workload.yaml', table='people')"
            ".save('answers')",
        )
    backend = _EXTRAS.get(scheme, scheme)
    backends = sorted(point.name for point in ibis.util.backend_entry_points())
    if backend not in backends:
        others = [name for name in backends if name not in (*_FILES, *_SPARK)]
        raise DataError(
            f"{shown}: there is no kind of database called '{scheme}'", hint=suggest(scheme, others)
        )
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unable to set session timezone")
            connection = ibis.connect(url)
    except ImportError:
        raise DataError(
            f"{shown}: the package for {backend} is not installed",
            hint=f"pip install '{'mmopt' if backend in _EXTRAS.values() else 'ibis-framework'}[{backend}]'",
        ) from None
    except (TypeError, ValueError, ibis.IbisError, *driver_errors()) as error:
        reason = _reason(url, error)
        hint = next(hint for pattern, hint in _WAYS_IN if re.search(pattern, reason))
        raise DataError(
            f"{shown}: cannot connect{reason}", hint=hint if backend == "postgres" else ""
        ) from None
    try:
        yield connection
    finally:
        connection.disconnect()


def named_table(connection: Any, shown: str, table: str | None) -> Any:
    """The table or view called ``table``, which may be ``schema.table``; the only one where that is None.

    Raises
    ------
    DataError : no such table, or several and none is named.
    """
    require_session(connection)
    if connection.name == "postgres":
        return _postgres_table(connection, shown, table)
    names = _tables_of(connection, None)
    schema, _, inner = (table or "").rpartition(".")
    # A schema that is not there has no tables.
    if table not in names and schema and inner in _tables_of(connection, schema):
        return connection.table(inner, database=schema)
    return connection.table(chosen_table(shown, names, table, hint="name one of a schema: 'a.b'"))


def _postgres_table(connection: Any, shown: str, table: str | None) -> Any:
    """``named_table`` of PostgreSQL, where names with points may be quoted: ``"a.b"."c"``."""
    with connection.con.cursor() as cursor, connection.con.transaction():
        rows = cursor.execute(_TABLES).fetchall()
    listed: dict[str, list[str]] = {"here": [], "": []}
    paths: dict[str, tuple[list[str], bool]] = {}
    for schema, name, is_here, is_readable in rows:
        path = [name] if is_here else [schema, name]
        for text in (".".join(path), f"{schema}.{name}", ".".join(map(quoted, path))):
            paths.setdefault(text, (path, is_readable))
        listed["here" if is_here else ""] += [".".join(path)] * is_readable
    names = listed["here"] if table is None and listed["here"] else listed["here"] + listed[""]
    if table not in paths:
        table = chosen_table(
            shown, names, table, hint=f"or this user may read none: {_ADMINISTRATOR} for the right to"
        )
    path, is_readable = paths[table]
    if not is_readable:
        raise DataError(
            f"{shown}: this user has no right to read '{table}'", hint=missing_rights(connection, path)
        )
    return connection.table(path[-1], database=tuple(path[:-1]) or None)


def _tables_of(connection: Any, schema: str | None) -> list[str]:
    """The tables and views of a schema, or of the current one; none for a schema that is not there."""
    if connection.name == "duckdb":
        # Ibis 12 asks for them through a call that DuckDB 2 has no more.
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = "
        rows = connection.con.execute(f"{query}coalesce(?, current_schema()) ORDER BY ALL", [schema])
        return [name for (name,) in rows.fetchall()]
    if schema is None:
        return list(connection.list_tables())
    try:
        return list(connection.list_tables(database=schema))
    except ibis.IbisError:
        return []


def _reason(url: str, error: Exception) -> str:
    """The reason, where it is sure to contain no secret: PostgreSQL's library shows no password."""
    if type(error).__module__.partition(".")[0] != "psycopg":
        return f" ({type(error).__name__})"
    text, shown = " ".join(str(error).split()), shown_url(url)
    try:
        secret = urlsplit(url).password
    except ValueError:
        secret = None
    # Where a password's '@', '/' or '#' is not spelled %40, %2F or %23, a part of it is taken for the host.
    is_odd = url.count("@") > 1 or shown.endswith("***") or bool(secret and secret in text)
    return f" ({type(error).__name__})" if is_odd else f": {text.replace(url, shown)}"
