"""A table file: what kind it is, its column names, and its columns in an embedded DuckDB through Ibis.

The header of a CSV file is read here and not by DuckDB, for three reasons: DuckDB renames a column that
occurs twice without a word, compares names without regard to case, and guesses types from a sample, which
turns the text ``007`` into 7.

Errors of the engine quote the row that they stopped at. Rows are confidential, so only the line number and
the reason pass on, and the original exception is not chained.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import re
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, cast

from mmopt.errors import DataError, Location, suggest

__all__ = ["TableFile", "open_columns", "reading", "table_file"]

_SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
_EXTENSIONS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


@dataclass(frozen=True)
class TableFile:
    """A file that exists and whose extension is known; ``separator`` is None for Parquet."""

    path: str
    separator: str | None
    gzipped: bool


def table_file(path: str | os.PathLike[str]) -> TableFile:
    """Look at a path before any engine does.

    Raises
    ------
    DataError : no such file, a directory, no regular file (a pipe would wait for ever, and could be read only
        once), an unknown extension, or an empty file.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise DataError(f"{name}: no such file", hint=_neighbours(name))
    if os.path.isdir(name):
        raise DataError(f"{name}: is a directory; expected one file", hint=f"known: {', '.join(_EXTENSIONS)}")
    if not os.path.isfile(name):
        raise DataError(f"{name}: is not a regular file", hint="write the table to a file first")
    extension = next((known for known in reversed(_EXTENSIONS) if name.lower().endswith(known)), None)
    if extension is None:
        found = os.path.splitext(name)[1]
        said = f"unknown extension '{found}'" if found else "a file name without an extension"
        raise DataError(f"{name}: {said}", hint=f"known: {', '.join(_EXTENSIONS)}")
    try:
        with open(name, "rb") as content:
            empty = not content.read(1)
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from None
    if empty:
        raise DataError(f"{name}: the file is empty (0 bytes)", hint="expected a table with column names")
    return TableFile(name, _SEPARATORS.get(extension), extension.endswith(".gz"))


def csv_columns(file: TableFile) -> tuple[str, ...]:
    """The column names in the first line of a CSV or TSV file.

    Raises
    ------
    DataError : the file cannot be read, its first line is not UTF-8, is empty, or is not CSV.
    """
    assert file.separator is not None
    try:
        # Bytes that are not UTF-8 pass through here as surrogates, so that only the header itself is judged:
        # the text layer reads ahead, and a bad byte further down has its own line number, which DuckDB knows.
        with _binary(file) as raw, io.TextIOWrapper(raw, "utf-8-sig", "surrogateescape", newline="") as lines:
            names = next(csv.reader(lines, delimiter=file.separator, strict=True), [])
    except gzip.BadGzipFile:
        raise DataError(f"{file.path}: not a gzip file, though its name ends in .gz") from None
    except (EOFError, zlib.error):
        raise damaged(file.path) from None
    except OSError as error:
        raise DataError(f"{file.path}: cannot be read: {error.strerror or error}") from None
    except csv.Error as error:
        raise DataError(
            f"the first line is not a header of column names: {error}", where=Location(file.path, 1, 1)
        ) from None
    if any("\udc80" <= character <= "\udcff" for name in names for character in name):
        raise not_utf8(file.path, 1)
    if not any(name.strip() for name in names):
        raise DataError("the first line is empty; expected column names", where=Location(file.path, 1, 1))
    if any("\n" in name or "\r" in name for name in names):
        # DuckDB 2.0 takes it for the file's line end and then reads no row, without an error.
        raise DataError(
            "a column name holds a line break, or its quote is not closed", where=Location(file.path, 1, 1)
        )
    return tuple(names)


def check_gzip(file: TableFile) -> None:
    """Read a gzipped table to its end, whose checksum DuckDB does not look at.

    Raises
    ------
    DataError : the checksum or the length is not that of the text, or the stream ends too early.
    """
    try:
        with _binary(file) as raw:
            while raw.read(2**20):
                pass
    except (OSError, EOFError, zlib.error):
        raise damaged(file.path) from None


def damaged(path: str) -> DataError:
    """The error for a gzip stream that is not what was packed."""
    return DataError(f"{path}: the gzip stream is damaged or ends too early")


def not_utf8(path: str, line: int) -> DataError:
    """The error for text in another encoding, used for the header and for the rows; by the first bytes."""
    with open(path, "rb") as content:
        mark = content.read(2)
    kind = "UTF-16" if mark in (b"\xff\xfe", b"\xfe\xff") else "LATIN1"
    is_packed = mark == b"\x1f\x8b" and not path.lower().endswith(".gz")
    return DataError(
        "the text is not UTF-8",
        where=Location(path, line, 1),
        hint=f"it is packed with gzip, rename it: {os.path.basename(path)}.gz"
        if is_packed
        else f"convert the file first, for instance: iconv -f {kind} -t UTF-8 old.csv > new.csv",
    )


def _binary(file: TableFile) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(file.path, "rb")) if file.gzipped else open(file.path, "rb")


def _neighbours(name: str) -> str:
    """Tables that do stand in the folder, for a mistyped name."""
    folder = os.path.dirname(name) or "."
    try:
        tables = [entry for entry in os.listdir(folder) if entry.lower().endswith(_EXTENSIONS)]
    except OSError:
        return f"there is no folder {folder}"
    near = suggest(os.path.basename(name), tables)
    return near if near.startswith("did you mean") else ""


#: Nothing is written (no spill folder) and nothing is downloaded.
_SETTINGS: dict[str, Any] = {
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


@contextmanager
def reading(file: TableFile) -> Iterator[Any]:
    """An Ibis connection for one read; whatever the engine raises inside becomes a DataError."""
    import duckdb
    import ibis

    connection = ibis.duckdb.connect(**_SETTINGS)
    try:
        with warnings.catch_warnings():
            # Ibis 12 asks for schemas through a call that DuckDB 2 deprecates.
            warnings.filterwarnings("ignore", "fetch_arrow_table", DeprecationWarning)
            connection.raw_sql("SET enable_progress_bar = false")  # notebooks have it on
            yield connection
    except duckdb.OutOfMemoryException:
        raise DataError(f"{file.path}: the table does not fit into memory while it is counted") from None
    except (duckdb.Error, ibis.IbisError) as error:
        if isinstance(error, duckdb.NotImplementedException):
            # Its readers could not agree where lines begin; a single one does not see a quote left open.
            raise DataError(
                f"{file.path}: quoted line breaks in a large CSV file", hint="convert it to Parquet"
            ) from None
        if type(error) not in (duckdb.InvalidInputException, duckdb.IOException, duckdb.Error):
            # Not about the file: name the kind of error only, its text may quote rows too.
            raise DataError(f"{file.path}: the engine stopped ({type(error).__name__})") from None
        raise _translate(file, str(error)) from None
    finally:
        connection.disconnect()


def open_columns(connection: Any, file: TableFile, wanted: dict[str, str]) -> tuple[Any, dict[str, Any]]:
    """The table and, per attribute, the column that it reads.

    Parameters
    ----------
    wanted : attribute name -> column name. All columns of a CSV file come as text.

    Raises
    ------
    DataError : a column is missing, or stands twice in the header.
    """
    # Without escaping, a file called data[1].csv would be read as a pattern.
    literal = glob.escape(os.path.abspath(file.path))
    if file.separator is None:
        table = connection.read_parquet(literal, hive_partitioning=False)  # else folders rename a column
        names = _parquet_columns(connection, literal)
        # By place: DuckDB renames what differs in case only, maybe to the name of another column.
        places = dict(zip(names, table.columns, strict=True))
    else:
        names = csv_columns(file)
        if file.gzipped:
            check_gzip(file)
        # Columns are numbered, so that names that differ in case only, or stand twice unused, do no harm.
        places = {name: f"c{i}" for i, name in enumerate(names)}
        table = connection.read_csv(
            literal,
            auto_detect=False,
            header=True,
            delim=file.separator,
            quote='"',
            escape='"',
            columns={f"c{i}": "VARCHAR" for i in range(len(names))},
            compression="gzip" if file.gzipped else "none",
            hive_partitioning=False,
        )
    for attribute, column in wanted.items():
        if column not in places:
            raise _missing_column(file, attribute, column, names)
        if names.count(column) > 1:
            raise DataError(
                f"{file.path}: column '{column}' stands in the header {names.count(column)} times, not once",
                hint="rename the others, or name another column with 'column:' in the workload file",
            )
    return table, {attribute: table[places[column]] for attribute, column in wanted.items()}


def _parquet_columns(connection: Any, literal: str) -> tuple[str, ...]:
    """The names as written; those of a tree's inner nodes, listed in preorder, are left out."""
    schema = "SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)"
    names, inner = [], 0
    for name, children in connection.con.execute(schema, [literal]).fetchall()[1:]:
        if inner == 0:
            names.append(name)
        inner += children - (inner > 0)
    return tuple(names)


def _missing_column(file: TableFile, attribute: str, column: str, names: tuple[str, ...]) -> DataError:
    known = f"the table has: {', '.join(names[:40])}{', …' if len(names) > 40 else ''}"
    same = [name for name in names if name.casefold().strip() == column.casefold().strip()]
    near = f"did you mean '{same[0]}'?" if same else suggest(column, names)
    if file.separator is not None and len(names) == 1 and re.search("[;\t|,]", names[0]):
        near = "the header is one field; a .csv file is split at commas, a .tsv file at tabs"
    hint = f"{near}\n  {known}" if near and not near.startswith("known") else known
    return DataError(f"{file.path}: no column '{column}' (attribute '{attribute}')", hint=hint)


def _translate(file: TableFile, said: str) -> DataError:
    """Our words for an error of DuckDB, without the row that it quotes."""
    if file.separator is None:
        return DataError(
            f"{file.path}: cannot be read as Parquet", hint="is the file complete, and is it Parquet?"
        )
    numbered = re.match(r"Invalid Input Error: CSV Error on Line: (\d+)", said)
    line = int(numbered.group(1)) if numbered else None
    if file.gzipped and said.startswith("IO Error"):
        # It unpacks (``check_gzip``); DuckDB knows no comment and no checksum in a gzip header.
        return DataError(
            f"{file.path}: this form of gzip is not read", hint="unpack it, or pack it with gzip"
        )
    if line is not None and "not utf-8 encoded" in said:
        return not_utf8(file.path, line)
    where = Location(file.path, line, 1) if line is not None else None
    fields = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", said)
    if fields:
        problem = f"{fields.group(2)} fields in this row; the header has {fields.group(1)}"
    elif "unterminated quote" in said:
        problem = "a quoted field that is not closed, or goes on after its closing quote"
    elif "Maximum line size" in said:
        problem = "a line longer than 2,000,000 bytes"
    else:
        problem = "not well-formed CSV (RFC 4180), or line ends of several kinds"
    return DataError(
        problem if where else f"{file.path}: {problem}",
        where=where,
        hint='expected UTF-8 text, one row a line, fields quoted with " where they hold the separator\n'
        "  a large file whose quoted fields hold line breaks may be read from a copy in Parquet only",
    )
