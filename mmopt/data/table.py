"""Open a table in an embedded DuckDB through Ibis, and turn the engine's errors into ours.

Errors of the engine quote the row that they stopped at. Rows are private, so only the line number and the
reason pass on, and the original exception is not chained.
"""

from __future__ import annotations

import glob
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mmopt.data.header import TableFile, check_gzip, csv_columns, not_utf8
from mmopt.errors import DataError, Location, suggest

__all__ = ["open_columns", "reading"]

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
        hint = "is the file complete, and is it Parquet?"
        return DataError(f"{file.path}: cannot be read as Parquet", hint=hint)
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
