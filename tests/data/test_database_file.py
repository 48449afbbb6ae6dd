"""Databases: which table is read, and everything that is refused.

Guards cell_codes.py, table_files_and_connections.py.
"""

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mmopt.data import check_columns, data_vector
from mmopt.workloads import Attribute, Domain
from tests.data.tables import ONE, refusal, values


def in_duckdb(*statements: str, name: str = "t.duckdb") -> str:
    with duckdb.connect(name) as connection:
        for statement in statements:
            connection.execute(statement)
    return name


def in_sqlite(*statements: str, name: str = "t.sqlite") -> str:
    connection = sqlite3.connect(name)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return name


PEOPLE = 'CREATE TABLE people ("a" INTEGER, b INTEGER)'
ROWS = "INSERT INTO people VALUES (1, 9), (2, 9), (2, 9)"
OTHERS = ("CREATE VIEW seen AS SELECT a FROM people WHERE a = 2", 'CREATE TABLE "o""ther" (a INTEGER)')


@pytest.mark.parametrize("make", [in_duckdb, in_sqlite])
def test_the_only_table_or_the_one_that_is_named(make: Any) -> None:
    path = make(PEOPLE, ROWS)
    assert data_vector(path, ONE).counts.tolist() == [1, 2]
    make(*OTHERS)
    assert data_vector(path, ONE, table="people").counts.tolist() == [1, 2]
    assert data_vector(path, ONE, table="seen").counts.tolist() == [0, 2]
    assert data_vector(path, ONE, table='o"ther').counts.tolist() == [0, 0]
    names = 'o"ther, people, seen'
    assert refusal(path) == (
        f"{path}: the database has 3 tables and views, and none is named: {names}\n"
        "  name one: --table 'o\"ther' (table= in Python)"
    )
    assert refusal(path, table="peple") == (
        f"{path}: no table or view 'peple'\n  did you mean 'people'?\n  the database has: {names}"
    )
    assert refusal(path, table="zzz") == f"{path}: no table or view 'zzz'\n  the database has: {names}"


def test_a_name_with_a_point_beside_one_in_a_schema() -> None:
    path = in_duckdb(
        'CREATE TABLE "a.b" AS SELECT 1 AS a', "CREATE SCHEMA a", "CREATE TABLE a.b AS SELECT 2 AS a"
    )
    assert "2 tables and views, and none is named: a.b, a.b" in refusal(path)
    assert refusal(path, table="a.b") == (
        f"{path}: 'a.b' is a name with a point, and a name in a schema\n  rename one of the two"
    )


def test_a_type_whose_text_is_another_value_is_refused(subtests: pytest.Subtests) -> None:
    """The day in UTC of an instant, or digits of bits, would be another value."""
    day = Domain.of(a={"bins": ["2019-12-31", "2020-01-01", "2020-01-02"]})
    instant = "'2020-01-01 00:30:00+02'::timestamptz"
    for value, shown, over, hint in [
        (f"{instant}_ns", "TIMESTAMPTZ_NS", day, "its day depends on the time zone: write 'a: {…, zone: "),
        (f"union_value(a := {instant})", "UNION", day, 'for instance CAST("a" AS text)'),
        ("'101'::BIT", "BIT", ONE, 'for instance CAST("a" AS text)'),
    ]:
        with subtests.test(shown):
            said = refusal(in_duckdb(f"CREATE OR REPLACE TABLE t AS SELECT {value} AS a"), over)
            assert said.startswith(f"t.duckdb: column 'a' is of type {shown}; attribute 'a' declares ")
            assert hint in said
    for value in ("2::BIGNUM", "2::UHUGEINT", "'2'::ENUM('2')"):
        with subtests.test(value):
            path = in_duckdb(f"CREATE OR REPLACE TABLE t AS SELECT {value} AS a")
            assert data_vector(path, ONE).counts.tolist() == [0, 1]


@pytest.mark.parametrize("make", [in_duckdb, in_sqlite])
def test_a_database_without_tables_or_columns(make: Any) -> None:
    path = make("CREATE TABLE b (x INTEGER)", "DROP TABLE b")
    assert refusal(path) == f"{path}: the database has no table and no view"
    make("CREATE TABLE b (x INTEGER)")
    assert refusal(path) == f"{path}: no column 'a' (attribute 'a')\n  the table has: x"


def test_tables_of_other_schemas_are_named_with_them() -> None:
    path = in_duckdb(PEOPLE, ROWS, "CREATE SCHEMA s", "CREATE TABLE s.people AS SELECT 1 AS a")
    assert "2 tables and views, and none is named: people, s.people" in refusal(path)
    assert data_vector(path, ONE, table="s.people").counts.tolist() == [1, 0]


def test_columns_of_types_that_ibis_lacks_do_no_harm() -> None:
    path = in_duckdb("CREATE TABLE t AS SELECT union_value(k := 1) AS u, 1 AS a, 'x'::ENUM('x', 'y') AS e")
    over = Domain((*ONE.attributes, Attribute("e", ("x", "y"))))
    assert data_vector(path, over).counts.tolist() == [1, 0, 0, 0]


def test_a_view_is_counted_without_its_rows_in_memory() -> None:
    path = in_duckdb("CREATE VIEW v AS SELECT range % 2 + 1 AS a FROM range(1000000)")
    assert data_vector(path, ONE).counts.tolist() == [500_000, 500_000]


def test_a_view_that_fails_keeps_its_rows_to_itself() -> None:
    path = in_duckdb("CREATE VIEW v AS SELECT ('secret' || range)::INTEGER AS a FROM range(3)")
    check_columns(path, ONE)
    assert refusal(path) == (
        f"{path}: the engine stopped (ConversionException): a value cannot be computed, as in a view that "
        "makes numbers of texts\n"
        "  read the view by itself to see which; the value is confidential, and not shown here"
    )


def test_values_of_any_type_in_one_column_of_sqlite() -> None:
    path = in_sqlite(
        "CREATE TABLE t (a)", "INSERT INTO t VALUES (1), (1.0), ('1'), ('x'), (NULL), (2.5), (3)"
    )
    found = data_vector(path, Domain((values("a", 1, "x", 2.5, "3", missing="drop"),)))
    assert found.counts.tolist() == [3, 1, 1, 1] and found.dropped["a"] == 1


def test_a_blob_and_text_that_is_not_utf8() -> None:
    path = in_sqlite("CREATE TABLE t (a, b)", "INSERT INTO t VALUES (1, x'00')")
    assert data_vector(path, ONE).counts.tolist() == [1, 0]
    in_sqlite("INSERT INTO t VALUES (x'736563726574', 1)")
    assert refusal(path) == (
        f"{path}: column 'a' holds a BLOB, which cannot be a value of an attribute\n"
        "  make a view of the table in which it is text or a number"
    )
    in_sqlite("DELETE FROM t", "INSERT INTO t VALUES (CAST(x'7365ff' AS TEXT), 1)")
    assert refusal(path) == f"{path}: cannot be read as an SQLite database (text that is not UTF-8)"


def test_files_that_are_no_databases() -> None:
    for name in ("t.duckdb", "t.sqlite", "t.db"):
        Path(name).write_text("a\n1\n")
        assert refusal(name) == (
            f"{name}: neither a DuckDB nor an SQLite database, by its first bytes\n  is the file complete?"
        )
    whole = Path(in_sqlite(PEOPLE, ROWS, name="whole.sqlite")).read_bytes()
    Path("half.sqlite").write_bytes(whole[:600])
    assert refusal("half.sqlite") == "half.sqlite: cannot be read as an SQLite database (SQLITE_CORRUPT)"
    whole = Path(in_duckdb(PEOPLE, ROWS, name="whole.duckdb")).read_bytes()
    Path("half.duckdb").write_bytes(whole[:5000])
    assert refusal("half.duckdb") == (
        "half.duckdb: cannot be read as a DuckDB database (IOException)\n"
        f"  is the file complete, and not of a version after {duckdb.__version__}?"
    )


def test_the_first_bytes_tell_databases_apart() -> None:
    for name in ("t.db", "t.sqlite"):
        assert data_vector(in_duckdb(PEOPLE, ROWS, name=name), ONE).counts.tolist() == [1, 2]
        Path(name).unlink()
    assert data_vector(in_sqlite(PEOPLE, ROWS, name="t.db"), ONE).counts.tolist() == [1, 2]


def test_a_database_that_is_open_elsewhere() -> None:
    path = in_duckdb(PEOPLE, ROWS)
    with duckdb.connect(path):
        assert refusal(path) == (
            f"{path}: the database is open in this process\n"
            "  close that connection first, or pass a relation or Ibis table of it in place of the file"
        )
    script = f"import duckdb; c = duckdb.connect({path!r}); print('open', flush=True); input()"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        assert refusal(path) == (
            f"{path}: the database is open for writing in another process\n  close it there first"
        )
        other.communicate("\n")


def test_an_sqlite_database_that_is_being_written(monkeypatch: pytest.MonkeyPatch) -> None:
    path = in_sqlite(PEOPLE, ROWS)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, timeout=0))
    writer = connect(path)
    writer.execute("BEGIN EXCLUSIVE")
    assert refusal(path) == (
        f"{path}: cannot be read as an SQLite database (SQLITE_BUSY)\n  it is being written; try again later"
    )
    writer.close()


def test_options_of_other_kinds_of_files() -> None:
    Path("t.csv").write_text("a\n1\n")
    assert refusal("t.csv", table="people") == (
        "t.csv: the table 'people' was requested, and the file is not a database\n  leave out --table "
        "(table= in Python), or 'table' under 'data' in the workload file"
    )
    assert refusal(in_sqlite(PEOPLE), delimiter=";") == (
        "t.sqlite: the delimiter ';' is given, and the file is not a text file\n  leave out 'delimiter'"
    )


def test_nothing_is_written_beside_a_database() -> None:
    for path in (in_duckdb(PEOPLE, ROWS), in_sqlite(PEOPLE, ROWS)):
        before = Path(path).read_bytes()
        data_vector(path, ONE)
        assert Path(path).read_bytes() == before
    assert sorted(entry.name for entry in Path().iterdir()) == ["t.duckdb", "t.sqlite"]
