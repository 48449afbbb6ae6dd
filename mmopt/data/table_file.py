"""A file that may hold a table: its kind, and whether it is still the same file after it was counted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from mmopt.errors import DataError, suggest

__all__ = ["TableFile", "table_file"]

Kind = Literal["csv", "parquet", "duckdb", "sqlite"]

#: What an extension says: the kind, and for text where fields are split unless the header says otherwise.
_TEXT: dict[str, tuple[Kind, str]] = {".csv": ("csv", ","), ".tsv": ("csv", "\t"), ".txt": ("csv", ",")}
_EXTENSIONS: dict[str, tuple[Kind, str]] = {
    **{key + packed: form for key, form in _TEXT.items() for packed in ("", ".gz")},
    ".parquet": ("parquet", ""),
    # Of databases the first bytes decide.
    **dict.fromkeys((".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db"), ("duckdb", "")),
}
KNOWN = f"known: {', '.join(_EXTENSIONS)}"

_SQLITE = b"SQLite format 3\0"
_DUCKDB = b"DUCK"  # from byte 8 on, after a checksum


@dataclass(frozen=True)
class TableFile:
    """A file that exists and whose kind is known.

    ``delimiter`` is what the extension of a text file says; empty for others. ``stamp`` tells the file from
    what may be written in its place: device, inode, size and time of its last change.
    """

    path: str
    kind: Kind
    delimiter: str
    gzipped: bool
    stamp: tuple[int, ...]

    @property
    def is_unchanged(self) -> bool:
        """Whether the same file still stands there."""
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
        raise DataError(f"{name}: no such file", hint=_neighbours(name))
    if os.path.isdir(name):
        raise DataError(f"{name}: is a directory; expected one file", hint=KNOWN)
    if not os.path.isfile(name):
        raise DataError(f"{name}: is not a regular file", hint="write the table to a file first")
    extension = next((known for known in _EXTENSIONS if name.lower().endswith(known)), None)
    if extension is None:
        suffix = os.path.splitext(name)[1]
        said = f"unknown extension '{suffix}'" if suffix else "a file name without an extension"
        save = "save the sheet as CSV; " if suffix.lower() in (".xlsx", ".xls", ".ods") else ""
        raise DataError(f"{name}: {said}", hint=f"{save}{KNOWN}")
    kind, delimiter = _EXTENSIONS[extension]
    try:
        stamp = _stamp(name)
        with open(name, "rb") as content:
            start = content.read(16)
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from None
    if not start:
        raise DataError(f"{name}: the file is empty (0 bytes)", hint="expected a table with column names")
    if kind == "duckdb":
        kind = _database(name, start)
    return TableFile(name, kind, delimiter, extension.endswith(".gz"), stamp)


def _database(name: str, start: bytes) -> Kind:
    if start == _SQLITE:
        return "sqlite"
    if start[8:12] == _DUCKDB:
        return "duckdb"
    raise DataError(
        f"{name}: neither a DuckDB nor an SQLite database, by its first bytes", hint="is the file complete?"
    )


def _stamp(name: str) -> tuple[int, ...]:
    status = os.stat(name)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _neighbours(name: str) -> str:
    """Tables that do stand in the folder, for a mistyped name."""
    folder = os.path.dirname(name) or "."
    try:
        tables = [entry for entry in os.listdir(folder) if entry.lower().endswith(tuple(_EXTENSIONS))]
    except OSError:
        return f"there is no folder {folder}"
    near = suggest(os.path.basename(name), tables)
    return near if near.startswith("did you mean") else ""
