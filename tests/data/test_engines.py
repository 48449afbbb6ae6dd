"""Engines count alike: a table gives the same counts on each, however it is spelled: ``pytest -m engines``.

PostgreSQL and Spark are run for real, and have to be there: without them these tests fail.
"""

import datetime
import math
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from command_line import called

import mmopt
from mmopt.data import check_columns, counted_rows, data_vector, marginal_counts, schema_columns
from mmopt.data.cell_codes import CONVENTIONS
from mmopt.errors import DataError
from mmopt.strategies import Neighbours
from mmopt.workloads import Domain, Workload
from tests.data import engines, test_edges, test_words
from tests.data.column_types import INSTANT, TEXTS, UUIDS, Column, as_select, judge, judge_draft, workload_of

pytestmark = [
    pytest.mark.engines,
    # Sockets and files of drivers, which they leave to the collector of garbage.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:pyspark"),
]

# Name, type of PostgreSQL, of Spark, of Arrow.
COLUMNS = {
    "person": ("text", "string", pa.string()),
    "id": ("bigint", "bigint", pa.int64()),
    "sex": ("text", "string", pa.string()),
    "age": ("integer", "int", pa.int32()),
    "income": ("double precision", "double", pa.float64()),
    "single": ("real", "float", pa.float32()),
    "price": ("numeric(7, 2)", "decimal(7, 2)", pa.decimal128(7, 2)),
    "paid": ("boolean", "boolean", pa.bool_()),
    "paid in words": ("text", "string", pa.string()),
    "born": ("date", "date", pa.date32()),
    "seen": ("timestamp", "timestamp_ntz", pa.timestamp("us")),
    "day in words": ("text", "string", pa.string()),
    "number in words": ("text", "string", pa.string()),
}
NUMBERS = [
    *("1", " 2 ", "\t3", "4\n", "\v5", "6\f", "+7", "-8", "9.", ".5", "1e1", "1E+1", "1e-400", "1e400"),
    *("-1e400", "inf", "-Infinity", "nan", "+nan", "1_0", "+-1", "1d", "2f", "3L", "0x10", "", " ", "abc"),
    *("1,5", "1 000", "١", "\u00a07", "1e", "e1", "1e0005", "0.1", "0.30000000000000004", "1.0e1x", "'1'"),
    *("9007199254740993", " 9007199254740993.0\n", "9007199254740992", "9007199254740995.5", "1e18"),
    *("1000000000000000000", "1000000000000000001", "-9007199254740993.75", "99999999999999999999999"),
]
DAYS = [
    *("2020-01-01", "2020-02-29", "2019-02-29", "1900-02-29", "2020-02-30", "2020-13-01", "0000-01-01"),
    *("2020-01-31 12:00", "2020-01-31T12:00+02:00", " 2020-02-01\n", "2020-1-1", "infinity", "20200101", ""),
    *("9999-12-31", "2020-04-31", "2020-04-30", "2020-00-10", "abc"),
]
WORDS = ["true", "False", " FALSE ", "false\t", "f", "1", "falsefv", "fv", ""]
KINDS: dict[str, list[Any]] = {
    "person": ["a", "A", "a ", "b", "é", "ß", "ss", ".", "x|y", "日本", "Zz", "z_%"],
    "id": [1, 2, -3, 2**62, 0],
    "sex": ["F", "M", "f", " F", "X", ""],
    "age": [-1, 0, 17, 18, 64, 65, 2**31 - 1],
    "income": [0.0, -0.0, 0.1, 0.1 + 2**-56, 0.3, 0.1 + 0.2, math.nan, math.inf, -math.inf, 1e300],
    "single": [0.1, 0.2, 0.25, 0.3, math.nan],
    "price": ["0.10", "1.50", "-2.00", "99.99"],
    "paid": [True, False],
    "paid in words": WORDS,
    "born": [datetime.date(2020, 1, 31), datetime.date(2020, 2, 1), datetime.date(1899, 12, 31)],
    "seen": [datetime.datetime(2020, 1, 31, 23, 59, 59), datetime.datetime(2020, 2, 1)],
    "day in words": DAYS,
    "number in words": NUMBERS,
}
MONTHS = {"range": ["2020-01-01", "2020-05-01"], "width": "month"}
BESIDE = {"outside": {"cell": "outside"}, "missing": {"cell": "missing"}}
DOMAIN = {
    "sex": {"values": ["F", "M"], **BESIDE},
    "age": {"bins": [0, 18, 65, "open"], "outside": "drop", "missing": {"cell": "missing"}},
    "income": {"bins": [0, 0.1, 0.3, 1], **BESIDE},
    "single": {"bins": [0, 0.1, 0.2, 0.3], **BESIDE},
    "price": {"values": [1.5, -2, 0.1], **BESIDE},
    "paid": {"values": [False, True], "missing": "drop"},
    "words": {"column": "paid in words", "values": [False, True], **BESIDE},
    "born": {**MONTHS, **BESIDE},
    "seen": {**MONTHS, **BESIDE},
    "day": {"column": "day in words", "bins": ["open", "2020-01-01", "2020-02-01", "2020-05-01"], **BESIDE},
    "number": {"column": "number in words", "bins": ["open", -1, 0, 0.3, 1, 5, 10, "open"], **BESIDE},
    "large": {"column": "number in words", "values": [2**53 + 1, 10**18, 7], **BESIDE},
    "beyond": {
        "column": "number in words",
        "bins": ["open", -(2**53) - 2, 0, 2**53 + 4, 10**18, "open"],
        **BESIDE,
    },
}
SETS = [("sex", "number", "age"), ("income", "single"), ("words", "day", "born"), ("price", "seen", "paid")]
SETS += [("large", "beyond")]
UNITS = [None, {"column": "person", "rows": 1}, {"column": "person", "rows": 3}, {"column": "id", "rows": 4}]


def rows_of(rng: np.random.Generator, count: int) -> list[tuple[Any, ...]]:
    """Random rows, an eighth of the values NULL, of persons none; each spelling at least once."""
    columns = []
    for name, kinds in KINDS.items():
        own: list[Any] = [kinds[i % len(kinds)] for i in range(count)]
        rng.shuffle(own)
        blank = rng.random(count) < (0.0 if name in ("person", "id") else 0.125)
        columns.append([None if empty else value for value, empty in zip(own, blank, strict=True)])
    return list(zip(*columns, strict=True))


def as_duckdb(connection: Any, rows: list[tuple[Any, ...]]) -> Any:
    arrays = [
        pa.array(column).cast(kind) if name == "price" else pa.array(column, kind)
        for (name, (_, _, kind)), column in zip(COLUMNS.items(), zip(*rows, strict=True), strict=True)
    ]
    return connection.create_table("people", pa.table(arrays, list(COLUMNS)), overwrite=True)


def as_postgres(connection: Any, rows: list[tuple[Any, ...]]) -> Any:
    columns = ", ".join(f'"{name}" {kind}' for name, (kind, _, _) in COLUMNS.items())
    with connection.con.cursor() as cursor, connection.con.transaction():
        cursor.execute("DROP TABLE IF EXISTS people")
        cursor.execute(f"CREATE TABLE people ({columns})")
        cursor.executemany(f"INSERT INTO people VALUES ({', '.join(['%s'] * len(COLUMNS))})", rows)
    return connection.table("people")


def as_spark(connection: Any, rows: list[tuple[Any, ...]]) -> Any:
    place = list(COLUMNS).index("price")
    kinds = ", ".join(
        f"`{name}` {'string' if name == 'price' else kind}" for name, (_, kind, _) in COLUMNS.items()
    )
    frame = connection._session.createDataFrame(rows, kinds)
    name = list(COLUMNS)[place]
    frame.withColumn(name, frame[name].cast("decimal(7, 2)")).createOrReplaceTempView("people")
    return connection.table("people")


@pytest.fixture(scope="module")
def server() -> Iterator[engines.Server]:
    with engines.postgres() as server:
        yield server


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with engines.spark() as connection:
        yield connection


@pytest.fixture
def tables(server: engines.Server, spark: Any, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Load 600 rows into each engine, in another order on each, which must not matter."""
    rows = rows_of(rng, 600)
    embedded, connection = ibis.duckdb.connect(), server.connect()

    def mixed() -> list[tuple[Any, ...]]:
        return [rows[i] for i in rng.permutation(len(rows))]

    yield {
        "duckdb": as_duckdb(embedded, rows),
        "postgres": as_postgres(connection, mixed()),
        "spark": as_spark(spark, mixed()),
    }
    embedded.disconnect()
    connection.disconnect()


def workload(*sets: tuple[str, ...]) -> Workload:
    return Workload.of(domain=DOMAIN, workload=[{"marginal": list(names)} for names in sets])


def test_counts_of_cells_are_identical(tables: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted_rows, "GROUPS_AT_A_TIME", 7)  # groups come back in many batches
    for names in [*SETS, tuple(list(DOMAIN)[:5])]:
        small = Workload.of(
            domain={name: DOMAIN[name] for name in names}, workload=[{"marginal": list(names)}]
        )
        for unit in UNITS:
            said = None if unit is None else Neighbours.of(unit)
            found = {
                name: data_vector(rows, small.domain, workload=small, unit=said)
                for name, rows in tables.items()
            }
            counts = {name: one.counts for name, one in found.items()}
            assert counts["duckdb"].sum() > 30 or unit
            for name, one in found.items():
                assert np.array_equal(counts[name], counts["duckdb"]), (names, unit, name)
                assert one.rows == 600 and one.dropped == found["duckdb"].dropped, (names, name)
                assert one.beyond == found["duckdb"].beyond and bool(one.beyond) == (unit is not None)


def test_counts_of_many_cells_are_identical(tables: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.data.counts.ROWS_OF_SHARE", 100)
    wide = workload(*SETS)
    for unit in UNITS:
        said = None if unit is None else Neighbours.of(unit)
        found = {name: marginal_counts(rows, wide, unit=said) for name, rows in tables.items()}
        first = found["duckdb"]
        sums = {int(own.sum()) for own in first.tables.values()}
        assert len(sums) == 1  # the same rows are kept in each table
        for name, one in found.items():
            assert one.tables.keys() == first.tables.keys() and len(one.tables) == len(SETS)
            for places, own in one.tables.items():
                assert np.array_equal(own, first.tables[places]), (unit, name, places)
            assert (one.rows, dict(one.dropped), one.beyond) == (600, dict(first.dropped), first.beyond)


def test_refused_rows_are_the_same_on_every_engine(tables: dict[str, Any]) -> None:
    asked = Workload.of(
        domain={"n": {"column": "number in words", "bins": [0, 5]}}, workload=[{"marginal": ["n"]}]
    )
    said = {}
    for name, rows in tables.items():
        with pytest.raises(DataError) as refused:
            data_vector(rows, asked)
        said[name] = str(refused.value)
    assert len(set(said.values())) == 1 and "texts that are no number" in said["duckdb"]


def test_words_and_spellings_are_read_alike(server: engines.Server, spark: Any) -> None:
    rows, right = test_words.columns()
    alike = sorted({one for pair in test_words.OTHERWISE.values() for one in (*pair[0], *pair[1])})
    over = test_words.domain()
    forms = {how: {"column": "c", "values": pair[0]} for how, pair in test_words.OTHERWISE.items()}
    spelled = Domain.of({how: {**form, **test_words.TO_CELLS} for how, form in forms.items()})
    connection = server.connect()
    ways = [text for texts, wrong in test_words.WAYS.values() for text in (*texts, *wrong)]
    for name, columns in (
        ("words", rows),
        ("spelled", {"c": alike}),
        ("in_bins", test_words.IN_BINS),
        ("ways", {"a": ways}),
    ):
        lines = list(zip(*columns.values(), strict=True))
        with connection.con.cursor() as cursor, connection.con.transaction():
            cursor.execute(f"CREATE TEMPORARY TABLE {name} ({', '.join(f'{one} text' for one in columns)})")
            cursor.executemany(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(columns))})", lines)
        kinds = ", ".join(f"{one} string" for one in columns)
        spark._session.createDataFrame(lines, kinds).createOrReplaceTempView(name)
    said: dict[str, set[str]] = {}
    edges_of = {"numbers": ["open", 0, "open"], "dates": ["open", "2020-01-01", "open"]}
    for one in (connection, spark):
        assert test_words.counted_columns(one.table("words"), over, null=test_words.NULL) == right, one.name
        for spelling in ("exact", "loose"):
            found = test_words.counted_columns(one.table("spelled"), spelled, spelling=spelling)
            assert found == test_words.counted_columns({"c": alike}, spelled, spelling=spelling), one.name
        in_bins = Domain.of(test_words.BINS)
        assert test_words.counted_columns(
            one.table("in_bins"), in_bins, null=test_words.NULL_IN_BINS
        ) == test_words.counted_columns(test_words.IN_BINS, in_bins, null=test_words.NULL_IN_BINS), one.name
        for way in test_words.WAYS:
            cells = test_words.with_a_cell_for_each(way)
            found = data_vector(one.table("ways"), cells, spelling=way).counts.tolist()
            assert found == data_vector({"a": ways}, cells, spelling=way).counts.tolist(), (one.name, way)
            bins = Domain.of(a={"bins": edges_of[CONVENTIONS[way][0]]})
            with pytest.raises(DataError) as refused:
                data_vector(one.table("ways"), bins)
            said.setdefault(way, set()).add(str(refused.value).partition("\n")[2])
        with pytest.raises(DataError) as refused:
            data_vector(
                one.table("ways"), Domain.of(a={"bins": edges_of["numbers"]}), spelling="decimal comma"
            )
        said.setdefault("decimal point", set()).add(str(refused.value).partition("\n")[2])
        with pytest.raises(DataError) as refused:
            data_vector(one.table("spelled"), Domain.of(a={"column": "c", "values": ["01", "Female", "36"]}))
        said.setdefault("loose", set()).add(str(refused.value))
        whole = one.table("spelled").limit(1).select(c=ibis.literal(1.0))
        assert data_vector(whole, Domain.of(c=["1", "2"])).counts.tolist() == [1, 0]
    assert all(len(each) == 1 for each in said.values())
    assert "declared but for zeros in front" in said["loose"].pop()
    assert all(CONVENTIONS[way][1] in said[way].pop() for way in CONVENTIONS)
    connection.disconnect()


def test_an_instant_and_a_decimal_are_where_they_are_as_written(
    server: engines.Server, spark: Any, rng: np.random.Generator
) -> None:
    instants = test_edges.instants(rng, "us")
    seen = [datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=v) for v in instants.tolist()]
    prices, in_bins = test_edges.decimals(20, rng)
    columns = {
        "seen": ("timestamp", "timestamp_ntz", [(one,) for one in seen]),
        "price": ("numeric(38, 20)", "decimal(38, 20)", [(one,) for one in prices]),
    }
    months = Workload.of(
        domain={"seen": {"range": ["1966-01-01", "1974-01-01"], "width": "month"}},
        workload=[{"marginal": ["seen"]}],
    )
    bins = Workload.of(
        domain={"price": {"bins": ["open", *test_edges.EDGES, "open"]}}, workload=[{"marginal": ["price"]}]
    )
    connection = server.connect()
    for name, (kind, other, rows) in columns.items():
        with connection.con.cursor() as cursor, connection.con.transaction():
            cursor.execute(f"CREATE TEMPORARY TABLE edges_{name} ({name} {kind})")
            cursor.executemany(f"INSERT INTO edges_{name} VALUES (%s)", rows)
        frame = spark._session.createDataFrame(rows, f"{name} {other}")
        frame.createOrReplaceTempView(f"edges_{name}")
    for one in (connection, spark):
        found = data_vector(one.table("edges_seen"), months).counts.tolist()
        assert found == test_edges.month_counts(instants, "us"), one.name
        assert data_vector(one.table("edges_price"), bins).counts.tolist() == in_bins, one.name
    connection.disconnect()


def url_of(server: engines.Server, password: str) -> str:
    quoted = urllib.parse.quote(password, safe="")
    return f"postgres://{engines.USER}:{quoted}@127.0.0.1:{server.port}/{engines.DATABASE}"


FILE = """
domain: {sex: {values: [F, M]}, age: {bins: [0, 18, 65]}}
workload: [{marginal: [sex, age]}]
privacy: {epsilon: 1.0}
unit: {column: person, rows: 2}
data: {table: people, outside: drop, missing: drop}
"""


def test_a_url_is_released_and_its_password_is_nowhere(
    tables: dict[str, Any], server: engines.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.yaml").write_text(FILE)
    url = url_of(server, engines.PASSWORD)
    done = called("release", "w.yaml", url, "--out", "answers")
    assert done.exit_code == 0, done.stderr
    assert "of 600 rows in the table" in done.stderr and " of each " in done.stderr
    monkeypatch.setenv("PGPASSWORD", engines.PASSWORD)
    again = mmopt.release(f"postgres://{engines.USER}@127.0.0.1:{server.port}/postgres", "w.yaml", simulate=1)
    connected = mmopt.release(server.connect(), "w.yaml", simulate=1)
    embedded = mmopt.release(tables["duckdb"], "w.yaml", simulate=1)
    for one in (again, connected):
        assert one.answers["estimate"].tolist() == embedded.answers["estimate"].tolist()
    assert "one person" in again.manifest["privacy"]["unit"]
    shown = called("show", "answers")
    written = [path.read_bytes() for path in Path("answers").iterdir()]
    secrets = [engines.PASSWORD, urllib.parse.quote(engines.PASSWORD, safe="")]
    for text in (done.stdout, done.stderr, shown.stdout, shown.stderr):
        assert not any(secret in text for secret in secrets)
    assert not any(secret.encode() in content for secret in secrets for content in written)


def test_what_cannot_be_reached_or_read_is_said(tables: dict[str, Any], server: engines.Server) -> None:
    asked = Workload.of(domain={"sex": ["F", "M"]}, workload=[{"marginal": ["sex"]}])
    with pytest.raises(DataError) as refused:
        data_vector(url_of(server, "wrong/word"), asked, table="people")
    said = str(refused.value)
    assert said.startswith(f"postgres://counts:***@127.0.0.1:{server.port}/postgres: cannot connect: ")
    assert 'password authentication failed for user "counts"' in said and "wrong" not in said
    url = url_of(server, engines.PASSWORD)
    shown = f"postgres://counts:***@127.0.0.1:{server.port}/postgres"
    with pytest.raises(DataError) as refused:
        data_vector(url, asked, table="peple")
    assert str(refused.value) == (
        f"{shown}: no table or view 'peple'\n  did you mean 'people'?\n  the database has: people"
    )
    with pytest.raises(DataError) as refused:
        data_vector(url, Workload.of(domain={"sx": ["F"]}, workload=[{"marginal": ["sx"]}]), table="people")
    assert str(refused.value).startswith(f"{shown}: no column 'sx' (attribute 'sx')\n  did you mean 'sex'?")


def test_an_error_of_an_engine_quotes_no_row(server: engines.Server, spark: Any) -> None:
    asked = Workload.of(domain={"n": {"bins": [0, 5]}}, workload=[{"marginal": ["n"]}])
    connection = server.connect()
    connection.raw_sql(
        "CREATE OR REPLACE VIEW broken AS SELECT CAST(s AS int) AS n FROM (VALUES ('x7')) v(s)"
    ).close()
    spark._session.sql("SELECT CAST(s AS int) AS n FROM VALUES ('x7') v(s)").createOrReplaceTempView("broken")
    for one in (connection, spark):
        with pytest.raises(DataError) as refused:
            data_vector(one, asked, table="broken")
        assert str(refused.value).startswith(
            f"the connection to {one.name}: the engine stopped while it read 'n' of 'broken' ("
        )
        assert "a value cannot be computed" in str(refused.value)
        assert "x7" not in str(refused.value)
    connection.disconnect()


POSTGRES = (
    *(Column(kind, "1", "numbers") for kind in ("smallint", "integer", "bigint", "real", "double precision")),
    *(Column(kind, "1", "numbers") for kind in ("numeric", "numeric(7, 2)", "money", "positive", "oid")),
    *(Column(kind, "'b'", "values") for kind in ("text", "varchar(5)", "char(1)", "mood", "moody", "short")),
    *(Column(kind, "'b'", "values") for kind in ("name", '"My mood"')),
    Column("boolean", "true", "truth"),
    *(Column(kind, "'2020-02-01 23:59:59'", "dates") for kind in ("date", "timestamp", "timestamp(0)")),
    *(Column(kind, f"'{INSTANT}'", "instants") for kind in ("timestamptz", "timestamptz(0)")),
    Column("uuid", f"'{UUIDS['values'][1]}'", "uuid"),
    *(Column(kind, "'12:00'", "") for kind in ("time", "timetz")),
    Column("interval", "'1 day'", ""),
    *(Column(kind, "'{1,2}'", "") for kind in ("integer[]", "text[]", "numeric[]")),
    Column("mood[]", "'{a}'", ""),
    *(Column(kind, """'{"key": 1}'""", "") for kind in ("json", "jsonb")),
    Column("bytea", "'x'", ""),
    *(Column(kind, "'10.0.0.1'", "") for kind in ("inet", "cidr")),
    Column("macaddr", "'08:00:2b:01:02:03'", ""),
    *(Column(kind, "'101'", "") for kind in ("bit(3)", "bit varying")),
    Column("xml", "'<a/>'", ""),
    *(Column(kind, "'[1,5)'", "") for kind in ("int4range", "numrange")),
    Column("int4multirange", "'{[1,5)}'", ""),
    Column("daterange", "'[2020-01-01,2020-02-01)'", ""),
    *(Column(kind, "'(1,2)'", "") for kind in ("pair", "paired", "point")),
    Column("tsvector", "'b'", ""),
    Column("pg_lsn", "'16/B374D848'", ""),
)
TYPES = """
    CREATE TYPE mood AS ENUM ('a', 'b'); CREATE TYPE "My mood" AS ENUM ('b', 'x y');
    CREATE DOMAIN moody AS mood; CREATE DOMAIN short AS varchar(5);
    CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
    CREATE TYPE pair AS (a integer, b text); CREATE DOMAIN paired AS pair"""


def run_sql(server: engines.Server, *statements: str) -> None:
    """Run statements as the administrator."""
    connection = server.connect()
    with connection.con.cursor() as cursor, connection.con.transaction():
        for statement in statements:
            cursor.execute(statement)
    connection.disconnect()


def test_columns_of_every_type_of_postgres(server: engines.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", engines.PASSWORD)
    run_sql(server, TYPES, f"CREATE TABLE kinds AS {as_select(POSTGRES)}")
    url = f"postgres://{engines.USER}@127.0.0.1:{server.port}/postgres"
    connection = server.connect()

    def view(name: str, sql: str) -> Any:
        run_sql(server, "DROP VIEW IF EXISTS made", f"CREATE VIEW made AS SELECT {sql} AS {name} FROM kinds")
        return connection.table("made")

    judge(POSTGRES, connection.table("kinds"), view)
    judge_draft(POSTGRES, url, "kinds")
    listed = {name: list(values) for name, values in schema_columns(url, "kinds")[1].items()}
    assert listed == {"c13": ["a", "b"], "c14": ["a", "b"], "c17": ["b", "x y"]}
    run_sql(server, "DROP VIEW made", "DROP TABLE kinds")
    connection.disconnect()


SPARK = (
    *(Column(kind, "1", "numbers") for kind in ("tinyint", "smallint", "int", "bigint", "float", "double")),
    Column("decimal(7, 2)", "1", "numbers"),
    *(Column(kind, "'b'", "values") for kind in ("string", "varchar(5)", "char(1)")),
    Column("boolean", "true", "truth"),
    *(Column(kind, "'2020-02-01 23:59:59'", "dates") for kind in ("date", "timestamp_ntz")),
    Column("timestamp", f"'{INSTANT}'", "instants"),
    Column("binary", "'x'", ""),
    Column("array<int>", "array(1, 2)", ""),
    Column("map<string, int>", "map('a', 1)", ""),
    Column("struct<a: int>", "named_struct('a', 1)", ""),
    Column("interval day", "interval '1' day", ""),
)


def test_columns_of_every_type_of_spark(spark: Any) -> None:
    spark._session.sql(as_select(SPARK, "`")).createOrReplaceTempView("kinds")

    def view(name: str, sql: str) -> Any:
        spark._session.sql(f"SELECT {sql} AS {name} FROM kinds").createOrReplaceTempView("made")
        return spark.table("made")

    judge(SPARK, spark.table("kinds"), view)
    for sql in ("interval '1' month AS i", "interval '1 2' day to hour AS i", "parse_json('{}') AS j"):
        spark._session.sql(f"SELECT 'a' AS c, {sql}").createOrReplaceTempView("odd")
        with pytest.raises(DataError, match="a column is of a type that Ibis does not read"):
            data_vector(spark, workload_of({"c": TEXTS}), table="odd")


def test_a_draft_of_enumerations_and_instants_is_filled_in_checked_and_released(
    server: engines.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGPASSWORD", engines.PASSWORD)
    run_sql(
        server,
        "CREATE TYPE size AS ENUM ('s', 'm', 'l')",
        "CREATE TABLE visits (size size, seen timestamptz, tags text[])",
        "INSERT INTO visits VALUES ('s', '2020-01-31 23:30+00', '{x7}'), ('l', '2020-01-15 00:00+00', '{}')",
    )
    url = f"postgres://{engines.USER}@127.0.0.1:{server.port}/postgres"
    done = called("init", url, "--table", "visits", "--out", "w.yaml")
    assert (
        done.exit_code == 0
        and "left out: tags: of type array<string>; count a value made of it" in done.stderr
    )
    text = Path("w.yaml").read_text()
    assert (
        "size: {values: [s, m, l]}" in text and "zone: FILL-IN}" in text and "# tags: of type array" in text
    )
    filled = text.replace("range: FILL-IN", "range: [2020-01-01, 2020-04-01]")
    Path("w.yaml").write_text(filled.replace("zone: FILL-IN", "zone: Europe/Berlin") + "privacy: {rho: 1}\n")
    done = called("check", "w.yaml", url)
    assert done.exit_code == 0 and "as declared, in postgres://" in done.stdout, done.stderr
    assert called("release", "w.yaml", url, "--out", "answers").exit_code == 0
    asked = mmopt.request.load_request("w.yaml").workload
    counts = data_vector(url, asked, table="visits").counts.reshape(3, 3)
    assert counts.tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    odd = "domain: {tags: {values: [x]}}\nworkload: [{marginal: [tags]}]\nprivacy: {rho: 1}\n"
    for name in ("check", "release"):  # an array is refused alike, before any work
        Path("odd.yaml").write_text(odd)
        done = called(name, "odd.yaml", url, "--table", "visits")
        assert done.exit_code == 2 and "column 'tags' is of type array<string>" in done.stderr
        assert "x7" not in done.stderr and engines.PASSWORD not in done.stderr


def words_of(data: Any, asked: Workload, **options: Any) -> str:
    with pytest.raises(DataError) as refused:
        data_vector(data, asked, **options)
    words = str(refused.value)
    assert "x7" not in words and engines.PASSWORD not in words
    return words


def test_errors_of_postgres_say_what_to_ask_of_whom(
    server: engines.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "x7")
    run_sql(
        server,
        "CREATE ROLE guest LOGIN PASSWORD 'x7'",
        "CREATE SCHEMA ward CREATE TABLE beds (sex text, name text)",
        "INSERT INTO ward.beds VALUES ('x7', 'x7'), ('a', 'x7')",
        "CREATE TABLE closed AS SELECT * FROM ward.beds",
        "CREATE MATERIALIZED VIEW ward.filled AS SELECT * FROM ward.beds",
    )
    url = f"postgres://guest@127.0.0.1:{server.port}/postgres"
    asked = workload_of({"sex": {**TEXTS, "outside": "drop"}})
    nothing = "no table and no view\n  or this user may read none: ask the administrator"
    assert nothing in words_of(url, asked) and nothing in words_of(url, asked, table="nix")
    for table in ("closed", "ward.beds", "ward.filled"):
        words = words_of(url, asked, table=table)
        assert f"this user has no right to read '{table}'" in words
        run_sql(server, words.partition("of the database: ")[2])  # what it says to ask for is enough
        assert data_vector(url, asked, table=table).rows == 2
    words = words_of(url, asked, table="beds")
    assert words.endswith("did you mean 'ward.beds'?\n  the database has: closed, ward.beds, ward.filled")
    run_sql(server, "REVOKE ALL ON ward.beds FROM guest", "GRANT SELECT (name) ON ward.beds TO guest")
    loose = {**TEXTS, "outside": "drop"}
    said = words_of(url, workload_of({"sex": loose, "name": loose}), table="ward.beds")
    assert "this user has no right to read 'sex' of 'ward.beds'" in said  # and not of 'name'
    assert said.endswith('; GRANT SELECT ("sex") ON "ward"."beds" TO "guest"')
    assert schema_columns(url, "ward.beds")[2] == {"sex": "this user has no right to read it"}
    with pytest.raises(DataError, match="no right to read 'sex'"):  # before anything is solved
        check_columns(url, asked.domain, workload=asked, table="ward.beds")
    # A right that is missing for another column is none that is needed.
    assert data_vector(url, workload_of({"name": loose}), table="ward.beds").rows == 2
    run_sql(server, said.partition("of the database: ")[2])
    assert data_vector(url, asked, table="ward.beds").rows == 2
    run_sql(
        server,
        "CREATE ROLE owner",
        "CREATE VIEW owned AS SELECT sex FROM ward.beds",
        "ALTER VIEW owned OWNER TO owner",
        "GRANT SELECT ON owned TO guest",
    )
    words = words_of(url, asked, table="owned")
    assert "while it read 'sex' of 'owned' (InsufficientPrivilege): a right to read is missing" in words
    run_sql(server, "GRANT USAGE ON SCHEMA ward TO owner", "GRANT SELECT ON ward.beds TO owner")
    assert data_vector(url, asked, table="owned").rows == 2
    run_sql(
        server,
        "CREATE VIEW slow AS SELECT sex FROM ward.beds, pg_sleep(60)",
        "CREATE VIEW wrong AS SELECT (name::int)::text AS sex FROM ward.beds",
        "CREATE FUNCTION gone(t text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN nosuch(t); END'",
        "CREATE VIEW bug AS SELECT gone(sex) AS sex FROM ward.beds",
        "CREATE FUNCTION full_disk(t text) RETURNS text LANGUAGE plpgsql AS "
        "$$BEGIN RAISE 'x7' USING ERRCODE = '53100'; END$$",
        "CREATE VIEW full_one AS SELECT full_disk(sex) AS sex FROM ward.beds",
    )
    run_sql(
        server,
        "CREATE VIEW late AS SELECT sex FROM ward.beds, pg_sleep(0.5)",
        "GRANT SELECT ON late TO guest",
        "ALTER ROLE guest SET statement_timeout = 200",
    )
    words = words_of(url, asked, table="late")
    with monkeypatch.context() as patch:  # what it says to set is enough
        patch.setenv("PGOPTIONS", words.partition("PGOPTIONS='")[2].partition("'")[0])
        assert data_vector(url, asked, table="late").rows == 2
    connection = server.connect()
    connection.raw_sql("SET statement_timeout = 200").close()
    for table, said in (
        ("slow", "(QueryCanceled): the query was ended by a limit of time, a lock or an administrator"),
        ("wrong", "(InvalidTextRepresentation): a value cannot be computed, as in a view"),
        ("bug", "(UndefinedFunction): it does not take the query: a bug of mmopt, unless a view"),
        ("full_one", "(DiskFull): the disk, the memory or another resource of the database is used up"),
    ):
        words = words_of(connection, asked, table=table)
        assert "the engine stopped while it read 'sex' of '" in words and said in words, words
    stopper = server.connect()
    connection.raw_sql("SET statement_timeout = 0").close()
    stop = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    timer = threading.Timer(1.0, lambda: stopper.raw_sql(stop))
    timer.start()
    words = words_of(connection, asked, table="slow")
    assert "the query was ended by a limit of time, a lock or an administrator" in words
    timer.join()
    # The connection is dead now.
    words = words_of(connection, asked, table="slow")
    assert "(OperationalError): the connection was lost" in words
    stopper.disconnect()


def test_names_with_points_are_found_as_they_are_shown(server: engines.Server) -> None:
    run_sql(
        server,
        'CREATE SCHEMA "We.ird" CREATE TABLE "T able" (sex text) CREATE TABLE "a.b" (sex text)',
        'CREATE SCHEMA a CREATE TABLE "b.c" (sex text, n money)',
        'CREATE SCHEMA "a.b" CREATE TABLE c (sex text)',
        *(f"INSERT INTO a.\"b.c\" VALUES ('a', {n})" for n in range(3)),
        "INSERT INTO \"a.b\".c VALUES ('b')",
    )
    asked = workload_of({"sex": TEXTS})
    url = url_of(server, engines.PASSWORD)
    for name in ("We.ird.T able", '"We.ird"."T able"', "We.ird.a.b", '"We.ird"."a.b"'):
        assert data_vector(url, asked, table=name).rows == 0
    assert data_vector(url, asked, table='"a"."b.c"').rows == 3
    assert data_vector(url, asked, table='"a.b"."c"').rows == 1
    run_sql(server, 'DROP SCHEMA "We.ird" CASCADE', "DROP SCHEMA a CASCADE", 'DROP SCHEMA "a.b" CASCADE')
