"""The embedded DuckDB, connections to servers, and the errors of both.

Errors of engines quote the row at which they stopped. Rows are confidential: only the line number and the
reason are passed on, and the original exception is not chained.

Messages show no credentials of a database server, which a URL or an Ibis connection names: they show scheme,
user, host, port and path of a URL. The password and everything behind ``?`` are left out, and so is the
message of a driver that cannot connect, except PostgreSQL's.
"""

import os
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from mmopt.data.table_file import chosen_table
from mmopt.errors import DataError, suggest

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
    import duckdb
    import ibis
    import pyarrow as pa

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
            raise DataError(f"{name}: the table does not fit into memory while it is counted") from None
        # Else it is not about the table: only its kind is named, as its text may quote rows, too.
        raise in_words(error) or DataError(f"{name}: the engine stopped ({type(error).__name__})") from None


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
    # Never called: Ibis reads the number of arguments from them.
    shapes: tuple[Callable[..., Any], ...] = (lambda one: one, lambda one, two: (one, two))
    function = ibis.udf.scalar.builtin(shapes[len(arguments) - 1], name=name, signature=(kinds, kind))
    return function(*arguments)


# Schemes of URLs: of files, of Spark, and the backend of a scheme that has another name.
_FILES = ("file", "duckdb", "sqlite", "csv", "parquet")
_SPARK = ("spark", "pyspark")
_EXTRAS = {"postgresql": "postgres"}


def is_url(data: object) -> bool:
    """Whether this names a database on a server: a text such as ``postgres://host/database``."""
    return isinstance(data, str) and "://" in data and not os.path.exists(data)


def is_connection(data: object) -> bool:
    """Whether this is an Ibis connection."""
    from ibis.backends import BaseBackend

    return isinstance(data, BaseBackend)


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


@contextmanager
def connected_to(url: str) -> Iterator[Any]:
    """An Ibis connection to the database of a URL.

    Raises
    ------
    DataError : a scheme that Ibis does not have, or that is not opened by a URL; a package that is not
        installed; a database that cannot be reached.
    """
    import ibis

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
        raise DataError(f"{shown}: no kind of database is called '{scheme}'", hint=suggest(scheme, others))
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
        raise DataError(f"{shown}: cannot connect{_reason(url, error)}", hint=_way_in(backend)) from None
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
    names = _tables_of(connection, None)
    if table is not None and table not in names and "." in table:
        schema, _, inner = table.rpartition(".")
        # A schema that is not there has no tables.
        if inner in _tables_of(connection, schema):
            return connection.table(inner, database=schema)
    return connection.table(chosen_table(shown, names, table, hint="name one of a schema: 'a.b'"))


def _tables_of(connection: Any, schema: str | None) -> list[str]:
    """The tables and views of a schema, or of the current one; none for a schema that is not there."""
    import ibis

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


def _way_in(backend: str) -> str:
    """A hint: the form of the URL of a backend, where it is known."""
    if backend != "postgres":
        return ""
    return (
        "postgres://USER@HOST:5432/DATABASE, with the password in PGPASSWORD or in ~/.pgpass (in a URL its "
        "@, /, # and ? are spelled %40, %2F, %23 and %3F)"
    )
