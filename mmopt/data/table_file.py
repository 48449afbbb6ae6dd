"""Files that hold tables: text, Parquet, DuckDB and SQLite.

``table_file`` finds the kind of a file, and a stamp by which a change while it is counted is noticed.

The header of a text file is read here and not by DuckDB, for three reasons: DuckDB renames a column that
occurs twice without a word, compares names without regard to case, and guesses types from a sample, which
turns the text ``007`` into 7. The header and the wanted names decide where fields are split, never a row.

A database file, DuckDB or SQLite, has tables and views, of which one is read. DuckDB's extension for SQLite
would have to be downloaded, so Python's ``sqlite3`` reads these files, in batches. A column of SQLite may
hold values of any type in any row: all are read as text, numbers written out in full, and find their cells as
those of a text file do. It has no booleans: they are the numbers 0 and 1.
"""

import csv
import glob
import gzip
import io
import os
import re
import sqlite3
import urllib.parse
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import IO, Any, Literal, cast

from mmopt.errors import DataError, Location, suggest

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
    refused: DataError | None = None
    for delimiter in dict.fromkeys((file.delimiter, *_DELIMITERS)):
        try:
            header[delimiter] = _names(file, delimiter)
        except DataError as error:
            refused = refused or error
    # The first of the best: that of the extension, unless another one shows more of the wanted columns.
    best = max(
        header, key=lambda d: (len(set(wanted).intersection(header[d])), not wanted and len(header[d]))
    )
    if not header[best]:
        assert refused is not None
        raise refused
    return best, header[best]


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
    import duckdb

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


def sqlite_database(path: str) -> closing[sqlite3.Connection]:
    """A connection that cannot write. DuckDB reads rows through it in another thread."""
    uri = f"file:{urllib.parse.quote(os.path.abspath(path))}?mode=ro"
    return closing(sqlite3.connect(uri, uri=True, check_same_thread=False))


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
                    f"{path}: column '{columns[i]}' holds a BLOB, which is no value of an attribute",
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
