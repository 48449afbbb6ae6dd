"""Tables of a database server: a URL or an Ibis connection, without a word of its credentials.

What is shown of a URL is scheme, user, host, port and path: the password and everything behind ``?`` are left
out, and so is what a driver says when it cannot connect, but for PostgreSQL's own words.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from mmopt.data.database_file import chosen_table
from mmopt.data.engine import driver_errors
from mmopt.errors import DataError, suggest

__all__ = ["connected_to", "is_connection", "is_url", "named_table", "shown_source", "shown_url"]

_FILES = ("file", "duckdb", "sqlite", "csv", "parquet")
_SPARK = ("spark", "pyspark")
_EXTRAS = {"postgresql": "postgres"}


def is_url(data: object) -> bool:
    """Whether a table is looked for on a server: a text such as ``postgres://host/database``."""
    return isinstance(data, str) and "://" in data and not os.path.exists(data)


def is_connection(data: object) -> bool:
    """Whether this is an Ibis connection."""
    from ibis.backends import BaseBackend

    return isinstance(data, BaseBackend)


def shown_url(url: str) -> str:
    """A URL for messages, without password, options and fragment; else its scheme alone."""
    scheme, _, rest = url.partition("://")
    # By hand: urlsplit takes a password with '/', '?' or '#' for a path, and would show it.
    bare, _, place = rest.rpartition("@")
    if any(mark in bare for mark in "/?#"):  # of a password, or of options with an '@'
        return f"{scheme}://***"
    user = bare.partition(":")[0]
    hidden = f"{user}:***@" if ":" in bare else f"{user}@" if bare else ""
    return f"{scheme}://{hidden}{place.partition('?')[0].partition('#')[0]}"


def shown_source(data: str | os.PathLike[str]) -> str:
    """A path as it is; a URL as ``shown_url`` has it."""
    return shown_url(str(data)) if is_url(data) else str(data)


@contextmanager
def connected_to(url: str) -> Iterator[Any]:
    """An Ibis connection to the database of a URL.

    Raises
    ------
    DataError : a scheme that Ibis does not know, or that has another way in; a package that is not installed;
        a database that cannot be reached.
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
    known = sorted(point.name for point in ibis.util.backend_entry_points())
    if backend not in known:
        others = [name for name in known if name not in (*_FILES, *_SPARK)]
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


def named_table(connection: Any, shown: str, said: str | None) -> Any:
    """The table or view of that name, also ``schema.table``; the only one where none is named.

    Raises
    ------
    DataError : no such table, or several and none is named.
    """
    names = _tables_of(connection, None)
    if said is not None and said not in names and "." in said:
        schema, _, inner = said.rpartition(".")
        # A schema that is not there has no tables.
        if inner in _tables_of(connection, schema):
            return connection.table(inner, database=schema)
    return connection.table(chosen_table(shown, names, said, hint="name one of a schema: 'a.b'"))


def _tables_of(connection: Any, schema: str | None) -> list[str]:
    import ibis

    if connection.name == "duckdb":
        # Ibis 12 asks for them through a call that DuckDB 2 has no more.
        asked = "SELECT table_name FROM information_schema.tables WHERE table_schema = "
        own = connection.con.execute(f"{asked}coalesce(?, current_schema()) ORDER BY ALL", [schema])
        return [name for (name,) in own.fetchall()]
    if schema is None:
        return list(connection.list_tables())
    try:
        return list(connection.list_tables(database=schema))
    except ibis.IbisError:
        return []


def _reason(url: str, error: Exception) -> str:
    """Why, where that is sure to name no secret: PostgreSQL's library shows no password."""
    if type(error).__module__.partition(".")[0] != "psycopg":
        return f" ({type(error).__name__})"
    said, shown = " ".join(str(error).split()), shown_url(url)
    try:
        secret = urlsplit(url).password
    except ValueError:
        secret = None
    # Of a password whose '@', '/' or '#' is not spelled %40, %2F or %23, a part is taken for the host.
    is_odd = url.count("@") > 1 or shown.endswith("***") or bool(secret and secret in said)
    return f" ({type(error).__name__})" if is_odd else f": {said.replace(url, shown)}"


def _way_in(backend: str) -> str:
    if backend != "postgres":
        return ""
    return (
        "postgres://USER@HOST:5432/DATABASE, with the password in PGPASSWORD or in ~/.pgpass (in a URL its "
        "@, /, # and ? are spelled %40, %2F, %23 and %3F)"
    )
