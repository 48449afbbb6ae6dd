"""The embedded DuckDB, and what happens to the errors of engines.

They quote the row that they stopped at. Rows are confidential, so only the line number and the reason pass
on, and the original exception is not chained.
"""

from __future__ import annotations

import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mmopt.errors import DataError

__all__ = ["connected", "driver_errors", "hash_of", "named_errors", "uncollated"]

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
    import duckdb
    import ibis

    try:
        if path is None:
            connection = ibis.duckdb.connect(**_SETTINGS)
        else:
            connection = ibis.duckdb.connect(path, read_only=True, **_SETTINGS)
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
        # Notebooks with ipywidgets have it on; in those without, where it is off, it may not even be set.
        ((is_on,),) = connection.raw_sql("SELECT current_setting('enable_progress_bar')").fetchall()
        if is_on:
            connection.raw_sql("SET enable_progress_bar = false")
        yield connection
    finally:
        connection.disconnect()


@contextmanager
def named_errors(
    name: str, named: Callable[[Exception], DataError | None], more: tuple[type[Exception], ...] = ()
) -> Iterator[list[BaseException]]:
    """Whatever an engine raises inside becomes a DataError.

    Parameters
    ----------
    name : the table, for messages.
    named : our words for an engine's error that is about the table itself, else None.
    more : further exceptions that stand for an engine's.

    Yields a list: an error that is put there is raised in place of the engine's.
    """
    import duckdb
    import ibis
    import pyarrow as pa

    kept: list[BaseException] = []
    try:
        with warnings.catch_warnings():
            # Ibis 12 asks for schemas through a call that DuckDB 2 deprecates.
            warnings.filterwarnings("ignore", "fetch_arrow_table", DeprecationWarning)
            yield kept
    except (duckdb.Error, ibis.IbisError, sqlite3.Error, pa.ArrowException, *more) as error:
        if kept:
            raise kept[0] from None
        if isinstance(error, duckdb.OutOfMemoryException):
            raise DataError(f"{name}: the table does not fit into memory while it is counted") from None
        # Else not about the table: name the kind of error only, its text may quote rows too.
        raise named(error) or DataError(f"{name}: the engine stopped ({type(error).__name__})") from None


def driver_errors() -> tuple[type[Exception], ...]:
    """What loaded drivers of databases raise: the class that PEP 249 calls Error; and what Spark does."""
    found: list[object] = [
        vars(module).get("Error") for module in list(sys.modules.values()) if _is_driver(module)
    ]
    for name, kind in (("pyspark.errors", "PySparkException"), ("py4j.protocol", "Py4JError")):
        found.append(getattr(sys.modules.get(name), kind, None))
    return tuple(kind for kind in found if isinstance(kind, type) and issubclass(kind, Exception))


def _is_driver(module: object) -> bool:
    return hasattr(module, "__dict__") and isinstance(vars(module).get("apilevel"), str)


def uncollated(text: Any) -> Any:
    """A text, or its bytes, that no collation of its column takes for another, as ``f`` for ``F``."""
    name = text.get_backend().name
    if name == "postgres":  # of bytes Ibis 12 writes no literals there
        return _called("convert_from", "string", _called("convert_to", "binary", text, "UTF8"), "UTF8")
    return _called("encode", "binary", text) if name == "duckdb" else text.cast("binary")


def hash_of(text: Any) -> Any:
    """SHA-256 in hexadecimal of a text in UTF-8, the same on every engine."""
    if text.get_backend().name != "postgres":
        return text.hexdigest("sha256")
    digest = _called("sha256", "binary", _called("convert_to", "binary", text, "UTF8"))
    return _called("encode", "string", digest, "hex")


def _called(name: str, kind: str, *arguments: Any) -> Any:
    """Call a database's own function, which Ibis 12 does not have, with a value and texts."""
    import ibis

    kinds = (arguments[0].type(), *["string"] * (len(arguments) - 1))
    # Never called: they say how many arguments there are.
    shapes: tuple[Callable[..., Any], ...] = (lambda one: one, lambda one, two: (one, two))
    own = ibis.udf.scalar.builtin(shapes[len(arguments) - 1], name=name, signature=(kinds, kind))
    return own(*arguments)
