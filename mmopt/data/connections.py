"""The embedded DuckDB, connections to servers, and the errors of both.

Errors of engines quote the row at which they stopped. Rows are confidential: only the line number and the
reason are passed on, and the original exception is not chained.

Messages show no credentials of a database server, which a URL or an Ibis connection names: they show scheme,
user, host, port and path of a URL. The password and everything behind ``?`` are left out, and so is the
message of a driver that cannot connect, except PostgreSQL's.
"""

import os
import re
import sqlite3
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from mmopt.data.table_file import chosen_table, quoted
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
            raise DataError(
                f"{name}: the table does not fit into memory while it is counted",
                hint="allow more memory, or count a copy in Parquet, which takes the least",
            ) from None
        raise in_words(error) or engine_error(name, error) from None


_ADMINISTRATOR = "ask the administrator of the database"

#: Patterns of SQLSTATEs, codes of SQLite and names of exceptions; what went wrong; what to do.
_STOPS = (
    (
        r"42501|28...|InsufficientPrivilege|Permission\w+|SQLITE_(AUTH|PERM|READONLY|CANTOPEN)\w*",
        "a right to read is missing",
        f"{_ADMINISTRATOR} for the right to read the table and its columns, or of a view, for its owner's "
        "right to all that it reads",
    ),
    (
        r"08...|57P0[2-5]|ConnectionException|HTTPException|Py4JNetworkError",
        "the connection was lost or refused",
        f"is the server up, and reached from here? run it again, or {_ADMINISTRATOR}",
    ),
    (
        r"57...|25P0[34]|40...|55...|InterruptException|SQLITE_(INTERRUPT|BUSY|LOCKED)\w*",
        "the query was ended by a limit of time, a lock or an administrator",
        "a limit of this user ends it again: PGOPTIONS='-c statement_timeout=0 -c lock_timeout=0' in the "
        f"environment lifts those of PostgreSQL; else run it again, or {_ADMINISTRATOR} for more time",
    ),
    (
        r"5[348]...|OutOfMemory\w*|\w*IOException|SQLITE_(FULL|NOMEM|IOERR)\w*",
        "the disk, the memory or another resource of the database is used up",
        f"{_ADMINISTRATOR} for more, or count a copy of the table elsewhere",
    ),
    (
        r"2....|Conversion\w+|OutOfRange\w+|InvalidInput\w+|(NumberFormat|DateTime|Arithmetic)Exception",
        "a value cannot be computed, as in a view that makes numbers of texts",
        "read the view by itself to see which; the value is confidential, and not shown here",
    ),
    (
        r"42...|0A...|\w*(Parser?|Binder|Catalog|Analysis|NotImplemented)Exception|SQLITE_ERROR",
        "it does not take the query: a bug of mmopt, unless a view of the table is broken",
        "please report it with the types of the columns and the version of the database; no row is needed",
    ),
    (
        "NotImplementedError|IbisTypeError",
        "a column is of a type that Ibis does not read, such as variants and most intervals of Spark",
        "name a view of the table without that column, or with a text or number made of it",
    ),
    # Of psycopg, where the server could not say why; else it has a SQLSTATE.
    ("OperationalError", "the connection was lost", f"run it again, or {_ADMINISTRATOR} why it ends"),
    (
        ".*",
        "",
        "read the table by itself to see why; the engine's message may quote a row, and is not shown here",
    ),
)


def engine_error(name: str, error: Exception, place: str = "") -> DataError:
    """Make a DataError of an engine's error, by its class alone, as its text may quote rows.

    ``place``: what was read.
    """
    state = (
        getattr(error, "sqlstate", None)
        or getattr(error, "sqlite_errorname", None)
        or getattr(error, "getSqlState", str)()
    )
    kinds = [state or "", *(kind.__name__ for kind in type(error).__mro__)]
    _, words, hint = next(row for row in _STOPS if any(re.fullmatch(row[0], kind) for kind in kinds))
    return DataError(
        f"{name}: the engine stopped{place} ({type(error).__name__}){': ' * bool(words)}{words}", hint=hint
    )


def missing_rights(connection: Any, path: Sequence[str], columns: Collection[str] = ()) -> str:
    """A hint: what gives a user of PostgreSQL the right to read a table, or columns of it."""
    role, listed = quoted(connection.con.info.user), f" ({', '.join(map(quoted, columns))})" * bool(columns)
    usage = "".join(f"GRANT USAGE ON SCHEMA {quoted(schema)} TO {role}; " for schema in path[:-1])
    return f"{_ADMINISTRATOR}: {usage}GRANT SELECT{listed} ON {'.'.join(map(quoted, path))} TO {role}"


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
        return called("convert_from", "string", called("convert_to", "binary", text, "UTF8"), "UTF8")
    return called("encode", "binary", text) if name == "duckdb" else text.cast("binary")


def hash_of(text: Any) -> Any:
    """SHA-256 in hexadecimal of a text in UTF-8, the same on every engine."""
    if text.get_backend().name != "postgres":
        return text.hexdigest("sha256")
    digest = called("sha256", "binary", called("convert_to", "binary", text, "UTF8"))
    return called("encode", "string", digest, "hex")


def called(name: str, kind: str, *arguments: Any) -> Any:
    """Call a database's own function, which Ibis 12 does not have, with a value and texts."""
    import ibis

    kinds = (arguments[0].type(), *["string"] * (len(arguments) - 1))
    # Never called: Ibis reads the number of arguments from them.
    shapes: tuple[Callable[..., Any], ...] = (lambda one: one, lambda one, two: (one, two))
    function = ibis.udf.scalar.builtin(shapes[len(arguments) - 1], name=name, signature=(kinds, kind))
    return function(*arguments)


def path_of(table: Any) -> list[str]:
    """Schema, where it is known, and name of a table of a database; nothing of another expression."""
    op = table.op()
    return [part for part in (op.namespace.database, op.name) if part] if hasattr(op, "namespace") else []


#: Schema and name of each table or view, materialised ones and foreign tables as well; whether its name alone
#: will do; whether this user may read some column.
_TABLES = """
    SELECT n.nspname, c.relname, n.oid = pg_my_temp_schema() OR n.nspname = current_schema() AS is_here,
      has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND (n.oid = pg_my_temp_schema() OR n.nspname !~ '^(pg_|information_schema$)')
    ORDER BY is_here DESC NULLS LAST, n.nspname, c.relname"""

_COLUMNS = """
    SELECT a.attname,
      CASE WHEN t.typtype = 'd' OR t.oid = 'money'::regtype
        THEN replace(format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL), 'money', 'numeric') END,
      array(SELECT enumlabel::text FROM pg_enum WHERE enumtypid IN (t.oid, t.typbasetype)
        ORDER BY enumsortorder),
      has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
    WHERE c.relname = %s AND CASE %s::text WHEN '' THEN pg_table_is_visible(c.oid) ELSE n.nspname = %s END
      AND a.attnum > 0 AND NOT a.attisdropped"""


def catalogued(table: Any) -> tuple[dict[str, Any], dict[str, list[str]], list[str]]:
    """Types of columns that Ibis takes for others, by name; the values of enumerations; what may not be read.

    Ibis 12 takes PostgreSQL's domains for other types, its money for decimals that it cannot be cast to, and
    Spark's instants for times without a zone.
    """
    backend = table.get_backend()
    if backend.name == "pyspark":
        require_session(backend)
        kinds = dict(backend._session.sql(backend.compile(table)).dtypes)
        return {n: "timestamp('UTC')" for n, kind in kinds.items() if kind == "timestamp"}, {}, []
    if backend.name != "postgres" or not path_of(table):
        return {}, {}, []
    *schemas, name = path_of(table)
    with backend.con.cursor() as cursor, backend.con.transaction():
        rows = cursor.execute(_COLUMNS, [name, *(schemas or [""]) * 2]).fetchall()
    values = {column: labels for column, _, labels, is_open in rows if labels and is_open}
    read = backend.compiler.type_mapper.from_string
    bases = {name: kind for name, base, *_ in rows if base and not (kind := read(base)).is_unknown()}
    enums = dict.fromkeys((column for column, _, labels, _ in rows if labels), "string")
    return bases | enums, values, [column for column, *_, is_open in rows if not is_open]


def require_session(backend: Any) -> None:
    """DataError for a Spark session that was stopped, which is an AttributeError of Spark's own otherwise."""
    context = getattr(getattr(backend, "_session", None), "_sc", None)  # a remote session has none
    if context is not None and context._jsc is None:
        raise DataError("the Spark session was stopped", hint="make a new session, and pass that")


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


#: Patterns of reasons why there is no connection to PostgreSQL, and what to do.
_WAYS_IN = (
    ("database .* does not exist", "name a database that is there: postgres://USER@HOST:5432/DATABASE"),
    ("SSL", "?sslmode=require behind the URL asks for an encrypted connection, sslmode=prefer for any"),
    (
        "refused|timeout|timed out|unreachable|No route|resolve",
        "is the server up, and reached from here by this host and port?",
    ),
    (
        "",
        "postgres://USER@HOST:5432/DATABASE, with the password in PGPASSWORD or in ~/.pgpass (in a URL its "
        "@, /, # and ? are spelled %40, %2F, %23 and %3F)",
    ),
)


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
        reason = _reason(url, error)
        hint = next(hint for pattern, hint in _WAYS_IN if re.search(pattern, reason))
        raise DataError(
            f"{shown}: cannot connect{reason}", hint=hint if backend == "postgres" else ""
        ) from None
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
    require_session(connection)
    if connection.name == "postgres":
        return _postgres_table(connection, shown, table)
    names = _tables_of(connection, None)
    schema, _, inner = (table or "").rpartition(".")
    # A schema that is not there has no tables.
    if table not in names and schema and inner in _tables_of(connection, schema):
        return connection.table(inner, database=schema)
    return connection.table(chosen_table(shown, names, table, hint="name one of a schema: 'a.b'"))


def _postgres_table(connection: Any, shown: str, table: str | None) -> Any:
    """``named_table`` of PostgreSQL, where names with points may be quoted: ``"a.b"."c"``."""
    with connection.con.cursor() as cursor, connection.con.transaction():
        rows = cursor.execute(_TABLES).fetchall()
    listed: dict[str, list[str]] = {"here": [], "": []}
    paths: dict[str, tuple[list[str], bool]] = {}
    for schema, name, is_here, is_readable in rows:
        path = [name] if is_here else [schema, name]
        for text in (".".join(path), f"{schema}.{name}", ".".join(map(quoted, path))):
            paths.setdefault(text, (path, is_readable))
        listed["here" if is_here else ""] += [".".join(path)] * is_readable
    names = listed["here"] if table is None and listed["here"] else listed["here"] + listed[""]
    if table not in paths:
        table = chosen_table(
            shown, names, table, hint=f"or this user may read none: {_ADMINISTRATOR} for the right to"
        )
    path, is_readable = paths[table]
    if not is_readable:
        raise DataError(
            f"{shown}: this user has no right to read '{table}'", hint=missing_rights(connection, path)
        )
    return connection.table(path[-1], database=tuple(path[:-1]) or None)


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
