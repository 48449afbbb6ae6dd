"""A text file with a table: where its lines are split, its header, its rows in DuckDB, and their errors.

The header is read here and not by DuckDB, for three reasons: DuckDB renames a column that occurs twice
without a word, compares names without regard to case, and guesses types from a sample, which turns the text
``007`` into 7. Where fields are split is decided by the header and the names that are looked for, never by a
row.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import re
import zlib
from collections.abc import Collection
from typing import IO, Any, cast

from mmopt.data.table_file import TableFile
from mmopt.errors import DataError, Location

__all__ = ["check_gzip", "csv_error", "csv_header", "csv_table"]

#: Where fields may be split, beside what the extension says.
_DELIMITERS = (",", ";", "\t", "|")
LONGEST_LINE = 2_000_000  # bytes, of the engine


def csv_header(file: TableFile, wanted: Collection[str], said: str | None) -> tuple[str, tuple[str, ...]]:
    """The delimiter, and the column names in the first line.

    Of the usual delimiters it is one at which all ``wanted`` names are columns, the one of the extension
    first; ``said`` overrides. Where no column is wanted, it is the one of the most columns.

    Raises
    ------
    DataError : the file cannot be read, its first line is not UTF-8, is empty, or is not CSV.
    """
    if said is not None:
        return said, _names(file, said)
    header: dict[str, tuple[str, ...]] = {file.delimiter: ()}
    refused: DataError | None = None
    for delimiter in dict.fromkeys((file.delimiter, *_DELIMITERS)):
        try:
            header[delimiter] = _names(file, delimiter)
        except DataError as error:
            refused = refused or error
    # The first of the best: the extension's, unless another one shows more of what is looked for.
    best = max(
        header, key=lambda d: (len(set(wanted).intersection(header[d])), not wanted and len(header[d]))
    )
    if not header[best]:
        assert refused is not None
        raise refused
    return best, header[best]


def _names(file: TableFile, delimiter: str) -> tuple[str, ...]:
    try:
        # Bytes that are not UTF-8 pass through here as surrogates, so that only the header itself is judged:
        # the text layer reads ahead, and a bad byte further down has its own line number, which DuckDB knows.
        with _binary(file) as raw:
            start = raw.read(1)  # a wrong magic number is told here, a wrong checksum at the end
            try:
                start += raw.read(LONGEST_LINE - 1)
            except gzip.BadGzipFile:
                raise _damaged(file.path) from None
        if len(start) == LONGEST_LINE and not re.search(rb"[\r\n]", start):
            raise DataError(
                f"the first line is longer than {LONGEST_LINE:,} bytes; expected column names",
                where=Location(file.path, 1, 1),
            )
        with io.TextIOWrapper(io.BytesIO(start), "utf-8-sig", "surrogateescape", newline="") as lines:
            names = next(csv.reader(lines, delimiter=delimiter, strict=True), [])
    except gzip.BadGzipFile as error:
        if str(error).startswith(("CRC check", "Incorrect length")):  # of a short file: what follows the data
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

    Numbered, so that names that differ in case only, or stand twice unused, do no harm.
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
        raise _damaged(file.path) from None


def _damaged(path: str) -> DataError:
    return DataError(f"{path}: the gzip stream is damaged or ends too early")


def _not_utf8(path: str, line: int) -> DataError:
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


def csv_error(file: TableFile, error: Exception) -> DataError | None:
    """Our words for an error of DuckDB about the file, without the row that it quotes."""
    import duckdb

    if isinstance(error, duckdb.NotImplementedException):
        # Its readers could not agree where lines begin; a single one does not see a quote left open.
        return DataError(f"{file.path}: quoted line breaks in a large CSV file", hint="convert it to Parquet")
    if type(error) not in (duckdb.InvalidInputException, duckdb.IOException, duckdb.Error):
        return None
    said = str(error)
    numbered = re.match(r"Invalid Input Error: CSV Error on Line: (\d+)", said)
    line = int(numbered.group(1)) if numbered else None
    if file.gzipped and said.startswith("IO Error"):
        # It unpacks (``check_gzip``); DuckDB knows no comment and no checksum in a gzip header.
        return DataError(
            f"{file.path}: this form of gzip is not read", hint="unpack it, or pack it with gzip"
        )
    if line is not None and "not utf-8 encoded" in said:
        return _not_utf8(file.path, line)
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
