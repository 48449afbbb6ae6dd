"""What kind of table a path names, and the column names of a CSV file.

The header is read here and not by DuckDB, for three reasons: DuckDB renames a column that occurs twice
without a word, compares names without regard to case, and guesses types from a sample, which turns the
text ``007`` into 7.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from dataclasses import dataclass
from typing import IO, cast

from mmopt.errors import DataError, Location, suggest

__all__ = ["TableFile", "csv_columns", "table_file"]

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
