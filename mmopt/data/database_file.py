"""A database file, DuckDB or SQLite: its tables and views, and the columns of one of them.

DuckDB's extension for SQLite would have to be downloaded, so Python's ``sqlite3`` reads these files, in
batches. A column of SQLite may hold values of any type in any row: all come as text, numbers as they are
written out in full, which is how the cells of a text file are found. It has no booleans: they are the numbers
0 and 1.
"""

from __future__ import annotations

import os
import sqlite3
import urllib.parse
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mmopt.errors import DataError, suggest

__all__ = [
    "DatabaseTable",
    "chosen_table",
    "duckdb_columns",
    "duckdb_table",
    "sqlite_batches",
    "sqlite_columns",
    "sqlite_database",
    "sqlite_error",
]

_BATCH = 50_000  # rows of SQLite at a time


@dataclass(frozen=True)
class DatabaseTable:
    """A table or view: its name as SQL, and its column names."""

    quoted: str
    columns: tuple[str, ...]


def quoted(name: str) -> str:
    """A name as SQL spells it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


# -- DuckDB


def duckdb_columns(connection: Any, path: str, said: str | None) -> DatabaseTable:
    """The table or view called ``said``, or the only one; from the catalogue alone.

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
    chosen = chosen_table(path, shown, said)
    if shown.count(chosen) > 1:
        raise DataError(
            f"{path}: '{chosen}' is a name with a point, and a name in a schema", hint="rename one of the two"
        )
    schema, name = names[shown.index(chosen)]
    columns = connection.con.execute(
        f"SELECT column_name FROM duckdb_columns() WHERE {here} AND schema_name = ? AND table_name = ? "
        "ORDER BY column_index",
        [schema, name],
    ).fetchall()
    return DatabaseTable(f"{quoted(schema)}.{quoted(name)}", tuple(column for (column,) in columns))


def duckdb_table(connection: Any, source: DatabaseTable, places: Sequence[int]) -> Any:
    """The columns at these places as an Ibis table of ``c0`` and on; a view of it that only this session has.

    Only these: Ibis need not know the types of the others.
    """
    columns = [f"{quoted(source.columns[place])} AS c{i}" for i, place in enumerate(places)]
    connection.raw_sql(
        f"CREATE TEMP VIEW counted_rows AS SELECT {', '.join(columns) or '1 AS c0'} FROM {source.quoted}"
    )
    return connection.table("counted_rows")


# -- SQLite


@contextmanager
def sqlite_database(path: str) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write; DuckDB asks for rows in a thread of its own."""
    uri = f"file:{urllib.parse.quote(os.path.abspath(path))}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    try:
        yield connection
    finally:
        connection.close()


def sqlite_columns(connection: sqlite3.Connection, path: str, said: str | None) -> DatabaseTable:
    """As ``duckdb_columns``."""
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' ORDER BY name"
    ).fetchall()
    name = quoted(chosen_table(path, tuple(name for (name,) in names), said))
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

    One statement reads them all, so that what is written meanwhile is not seen.

    Raises
    ------
    DataError : a value is a BLOB; in a column of ``persons`` a REAL, which may equal a whole number, or whole
        numbers beside texts, which may be spelled alike.
    """
    columns = [source.columns[place] for place in places]
    named = [i for i, column in enumerate(columns) if column in persons]
    kinds: dict[int, set[type]] = {i: set() for i in named}
    read = f"SELECT {', '.join(map(quoted, columns)) or 'NULL'} FROM {source.quoted}"
    for batch in _batches(connection, path, read):
        for i in named:
            kinds[i] |= {type(row[i]) for row in batch}
            if float in kinds[i] or kinds[i] >= {int, str}:
                held = "REAL numbers" if float in kinds[i] else "whole numbers beside texts"
                raise DataError(
                    f"{path}: column '{columns[i]}' holds {held}; a person is named by a text or a "
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


def _batches(connection: sqlite3.Connection, path: str, read: str) -> Iterator[list[tuple[Any, ...]]]:
    try:
        rows = connection.execute(read)
        while batch := rows.fetchmany(_BATCH):
            yield batch
    except sqlite3.Error as error:
        raise sqlite_error(path, error) from None


def sqlite_error(path: str, error: sqlite3.Error) -> DataError:
    """Our words for an error of SQLite; that for text which is not UTF-8 has no code, and quotes the text."""
    code = getattr(error, "sqlite_errorname", "text that is not UTF-8")
    hint = "it is being written; try again later" if code in ("SQLITE_BUSY", "SQLITE_LOCKED") else ""
    return DataError(f"{path}: cannot be read as an SQLite database ({code})", hint=hint)


def _text(value: Any) -> Any:
    return value if value is None or isinstance(value, str | bytes) else repr(value)


def chosen_table(database: str, names: Sequence[str], said: str | None, hint: str = "") -> str:
    """The table or view of that name; the only one where none is named.

    Raises
    ------
    DataError : no such table, several and none is named, or none at all, with the ``hint``.
    """
    listed = f"{', '.join(names[:40])}{', …' if len(names) > 40 else ''}"
    if said is not None and said in names:
        return said
    if not names:
        raise DataError(f"{database}: the database has no table and no view", hint=hint)
    if said is not None:
        near = suggest(said, names)
        there = f"the database has: {listed}"
        raise DataError(
            f"{database}: no table or view '{said}'",
            hint=f"{near}\n  {there}" if near.startswith("did") else there,
        )
    if len(names) > 1:
        raise DataError(
            f"{database}: the database has {len(names)} tables and views, and none is named: {listed}",
            hint=f"name one: --table '{names[0]}' (table= in Python)",
        )
    return names[0]
