"""URLs and connections: what is refused, and that no credentials are shown.

Guards errors.py, table_files_and_connections.py.
"""

from types import SimpleNamespace
from unittest.mock import Mock

import ibis
import pytest

from mmopt.data import data_vector
from mmopt.data.table_files_and_connections import require_session, shown_url
from mmopt.errors import DataError, Error
from mmopt.workloads import Workload
from tests.data.tables import refusal

ASKED = Workload.of(domain={"sex": ["F", "M"]}, workload=[{"marginal": ["sex"]}])


@pytest.mark.quick
def test_a_url_is_shown_without_its_secrets(subtests: pytest.Subtests) -> None:
    for url, shown in [
        ("postgres://host/db", "postgres://host/db"),
        ("postgres://ann@host:5432/db", "postgres://ann@host:5432/db"),
        ("postgres://ann:secret@host/db", "postgres://ann:***@host/db"),
        ("postgres://ann:se/cr?e#t@host/db", "postgres://***"),
        ("postgres://host/db?user=ann&password=hunter@secret", "postgres://***"),
        ("postgres://ann@host/db?password=se:cr@secret", "postgres://***"),
        ("postgres://ann:sec@ret@host/db", "postgres://ann:***@host/db"),
        ("postgres://:secret@host/db", "postgres://:***@host/db"),
        ("postgres://host/db?password=secret&user=ann", "postgres://host/db"),
        ("x://host/db#secret", "x://host/db"),
    ]:
        with subtests.test(url):
            assert shown_url(url) == shown and "secret" not in shown


@pytest.mark.quick
def test_a_message_is_without_the_password_of_its_url(subtests: pytest.Subtests) -> None:
    for name in ["ann", ""]:
        for password in ["secret", "sec@ret", "se/cr?e#t"]:
            with subtests.test(f"{name} {password}"):
                error = Error(f"no file 'postgres://{name}:{password}@host/db'")
                assert error.message == f"no file 'postgres://{name}:***@host/db'"


def test_no_error_shows_the_password_of_a_url(subtests: pytest.Subtests) -> None:
    for url in ["postgres://ann:secret@host/db", "postgres:/ann:se/cr@et@host/db"]:
        with subtests.test(url):
            error = Error(f"there is no '{url}'", hint=f"or '{url}'")
            assert str(error) == error.message + "\n  " + error.hint
            assert error.args == (error.message,) and error.message.endswith("/ann:***@host/db'")
            assert "secret" not in str(error) and "cr@et" not in str(error)


def test_what_is_no_server_is_refused() -> None:
    assert refusal("duckdb://a:secret@people.duckdb", ASKED) == (
        "duckdb://a:***@people.duckdb: a file is named by its path\n  for example people.duckdb"
    )
    assert refusal("pyspark://ann:secret@host", ASKED) == (
        "pyspark://ann:***@host: a Spark session is made in Python\n"
        "  mmopt.release(ibis.pyspark.connect(session), 'workload.yaml', table='people').save('answers')"
    )
    assert refusal("postgrs://ann:secret@host", ASKED) == (
        "postgrs://ann:***@host: there is no kind of database called 'postgrs'\n  did you mean 'postgres'?"
    )


def test_what_an_engine_says_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(error: Exception) -> None:
        monkeypatch.setattr(ibis, "connect", Mock(side_effect=error))

    fails(ModuleNotFoundError("no module for postgres://ann:secret@host"))
    assert refusal("postgresql://ann:secret@host/db", ASKED) == (
        "postgresql://ann:***@host/db: the package for postgres is not installed\n"
        "  pip install 'mmopt[postgres]'"
    )
    fails(ValueError("cannot read mysql://ann:secret@host/db"))
    told = refusal("mysql://ann:secret@host/db", ASKED)
    assert told == "mysql://ann:***@host/db: cannot connect (ValueError)"
    # Of a password that is no part of a URL: behind its '@' stands what is taken for the host.
    wrong = type("OperationalError", (ValueError,), {"__module__": "psycopg"})
    fails(wrong("failed to resolve host 'ss'"))  # which PostgreSQL's library names
    for password in ("p@ss/w#1", "ha/sh", "p@ss"):
        told = refusal(f"postgres://ann:{password}@host/db", ASKED)
        assert "(OperationalError)" in told and "'ss'" not in told
        assert told.endswith("(in a URL its @, /, # and ? are spelled %40, %2F, %23 and %3F)")
    for reason, hint in (
        ("Connection refused Is the server", "is the server up"),
        ("failed to resolve host 'h'", "is the server up"),
        ('FATAL: database "nodb" does not exist', "name a database that is there"),
        ("server does not support SSL, but SSL was required", "?sslmode=require"),
        ('password authentication failed for user "ann"', "postgres://USER@HOST"),
    ):
        fails(wrong(reason))
        assert refusal("postgres://ann@host/db", ASKED).splitlines()[1].startswith(f"  {hint}")
    stopped = SimpleNamespace(name="pyspark", _session=SimpleNamespace(_sc=SimpleNamespace(_jsc=None)))
    with pytest.raises(DataError, match="the Spark session was stopped"):
        require_session(stopped)
    require_session(SimpleNamespace(_session=SimpleNamespace()))  # a remote session


def test_the_table_of_a_connection_is_named() -> None:
    connection = ibis.duckdb.connect()
    shown = "the connection to duckdb"
    assert refusal(connection, ASKED) == (
        f"{shown}: the database has no table and no view\n  name one of a schema: 'a.b'"
    )
    connection.raw_sql("CREATE TABLE people AS SELECT 'F' AS sex; CREATE SCHEMA s")
    connection.raw_sql("CREATE TABLE s.others AS SELECT 'M' AS sex")
    assert data_vector(connection, ASKED).counts.tolist() == [1, 0]
    assert data_vector(connection, ASKED, table="s.others").counts.tolist() == [0, 1]
    assert refusal(connection, ASKED, table="peple") == (
        f"{shown}: no table or view 'peple'\n  did you mean 'people'?\n  the database has: people"
    )
    assert refusal(connection, ASKED, table="s.people") == (
        f"{shown}: no table or view 's.people'\n  did you mean 'people'?\n  the database has: people"
    )
    connection.raw_sql("CREATE VIEW women AS FROM people")
    assert refusal(connection, ASKED) == (
        f"{shown}: the database has 2 tables and views, and none is named: people, women\n"
        "  name one: --table 'people' (table= in Python)"
    )
    assert refusal(connection, ASKED, table="people", delimiter=";") == (
        f"{shown}: the delimiter ';' is given, and the table is not a text file"
    )
    connection.disconnect()
