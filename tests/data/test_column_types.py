"""A column of every common type of DuckDB, SQLite and frames is counted, or refused before any work.

Guards cell_codes.py; workloads/domain.py in the moments of days.
"""

import datetime
import decimal
import itertools
import re
import sqlite3
import zoneinfo
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from mmopt.data import check_columns, data_vector, marginal_counts, schema_columns
from mmopt.workloads import Workload
from tests.data.column_types import (
    BERLIN,
    FORMS,
    INSTANT,
    UUIDS,
    Column,
    as_select,
    judge,
    judge_draft,
    refusal_of,
    workload_of,
)

DUCKDB = (
    *(Column(kind, "1", "numbers") for kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")),
    *(Column(kind, "1", "numbers") for kind in ("UTINYINT", "UBIGINT", "FLOAT", "DOUBLE", "DECIMAL(7, 2)")),
    *(Column(kind, "'b'", "values") for kind in ("VARCHAR", "CHAR(1)", "ENUM('a', 'b')")),
    Column("BOOLEAN", "true", "truth"),
    Column("DATE", "'2020-02-01'", "dates"),
    *(
        Column(kind, "'2020-02-01 23:59:59'", "dates")
        for kind in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_NS")
    ),
    *(Column(kind, f"'{INSTANT}'", "instants") for kind in ("TIMESTAMPTZ", "TIMESTAMPTZ_NS")),
    Column("UUID", f"'{UUIDS['values'][1]}'", "uuid"),
    Column("TIME", "'12:00'", ""),
    Column("INTERVAL", "'1 day'", ""),
    Column("BLOB", "'x'", ""),
    Column("BIT", "'101'", ""),
    Column("INTEGER[]", "[1, 2]", ""),
    Column("INTEGER[2]", "[1, 2]", ""),
    Column("STRUCT(a INTEGER)", "{'a': 1}", ""),
    Column("MAP(VARCHAR, INTEGER)", "MAP {'a': 1}", ""),
    Column("UNION(n INTEGER, t VARCHAR)", "union_value(n := 1)", ""),
    Column("JSON", """'{"key": 1}'""", ""),
)


@pytest.fixture
def kinds() -> str:
    with duckdb.connect("t.duckdb") as connection:
        connection.execute(f"CREATE TABLE kinds AS {as_select(DUCKDB)}")
    return "t.duckdb"


def test_duckdb(kinds: str) -> None:
    judge(DUCKDB, kinds, None)
    judge_draft(DUCKDB, Path(kinds))
    assert schema_columns(Path(kinds))[1] == {"c12": ["a", "b"]}


@pytest.mark.slow
def test_what_a_refusal_proposes_can_be_counted(kinds: str) -> None:
    def view(name: str, sql: str) -> str:
        with duckdb.connect("view.duckdb") as connection:
            connection.execute(f"ATTACH '{kinds}' AS t (READ_ONLY)")
            connection.execute(f"CREATE OR REPLACE TABLE v AS SELECT {sql} AS {name} FROM t.kinds")
        return "view.duckdb"

    judge(DUCKDB, kinds, view)


#: Name, Arrow's type, a value, the kind: of Parquet files and frames.
ARROW = (
    *(
        ("1", kind, 1, "numbers")
        for kind in (pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64())
    ),
    ("decimal", pa.decimal128(7, 2), decimal.Decimal("1.00"), "numbers"),
    *(("text", kind, "b", "values") for kind in (pa.string(), pa.large_string())),
    ("dictionary", pa.dictionary(pa.int32(), pa.string()), "b", "values"),
    ("truth", pa.bool_(), True, "truth"),
    *(("day", kind, datetime.date(2020, 2, 1), "dates") for kind in (pa.date32(), pa.date64())),
    *(("time", pa.timestamp(u), datetime.datetime(2020, 2, 1), "dates") for u in ("s", "ms", "us", "ns")),
    *(
        ("instant", pa.timestamp(unit, "Asia/Tokyo"), datetime.datetime.fromisoformat(INSTANT), "instants")
        for unit in ("s", "ms", "us", "ns")
    ),
    ("time of day", pa.time64("us"), datetime.time(12), ""),
    ("list", pa.list_(pa.int32()), [1, 2], ""),
    ("struct", pa.struct({"a": pa.int32()}), {"a": 1}, ""),
    ("map", pa.map_(pa.string(), pa.int32()), [("a", 1)], ""),
    ("bytes", pa.binary(), b"x", ""),
    ("fixed bytes", pa.binary(2), b"xy", ""),
    ("length of time", pa.duration("us"), datetime.timedelta(1), ""),
)


def test_frames_and_parquet() -> None:
    columns = [Column(name, "", kind) for name, _, _, kind in ARROW]
    arrays = {f"c{i}": pa.array([value, None], kind) for i, (_, kind, value, _) in enumerate(ARROW)}
    table = pa.table(arrays)
    for frame in (table, table.to_pandas(types_mapper=pd.ArrowDtype), pl.from_arrow(table)):
        judge(columns, frame, None)
    # Parquet has no halves, and stores a length of time as a number.
    names = [
        name for name in table.column_names if arrays[name].type not in (pa.float16(), pa.duration("us"))
    ]
    kept = [columns[int(name[1:])] for name in names]
    stored = table.select(names).rename_columns([f"c{i}" for i in range(len(names))])
    parquet.write_table(stored, "t.parquet")
    judge(kept, "t.parquet", None)
    judge_draft(kept, Path("t.parquet"))


#: What a column of SQLite is declared as; a row holds values of any type, which are read as texts.
SQLITE = (
    *(Column(kind, "1", "numbers") for kind in ("INTEGER", "REAL", "NUMERIC", "DECIMAL(7, 2)", "BOOLEAN")),
    *(Column(kind, "'b'", "values") for kind in ("TEXT", "VARCHAR(5)", "CLOB")),
    *(Column(kind, "'2020-02-01 00:00'", "dates") for kind in ("DATE", "DATETIME", "TIMESTAMP")),
)


def test_sqlite_and_text() -> None:
    names = [f"c{i}" for i in range(len(SQLITE))]
    with sqlite3.connect("t.sqlite") as database:
        declared = ", ".join(f"{name} {one.type}" for name, one in zip(names, SQLITE, strict=True))
        database.execute(f"CREATE TABLE kinds ({declared})")
        database.execute(f"INSERT INTO kinds VALUES ({', '.join(one.value for one in SQLITE)})")
        database.execute(f"INSERT INTO kinds VALUES ({', '.join(['NULL'] * len(SQLITE))})")
    values = ",".join(one.value.strip("'") for one in SQLITE)
    Path("t.csv").write_text(f"{','.join(names)}\n{values}\n{',' * (len(names) - 1)}\n")
    for path in ("t.sqlite", "t.csv"):
        forms = {name: FORMS[one.kind] for name, one in zip(names, SQLITE, strict=True)}
        asked = workload_of(forms)
        check_columns(path, asked.domain, workload=asked)
        counts = marginal_counts(path, asked)
        assert all(counts.of((i,)).tolist() == [0, 1, 1] for i in range(len(names)))
        assert set(schema_columns(Path(path))[0].values()) == {"unknown"}  # types are of rows there
        assert "leave its zone out" in refusal_of(path, {"c8": BERLIN})


def test_texts_with_offsets_are_instants_once_they_are_cast_as_the_message_says() -> None:
    Path("log.csv").write_text("t\n2020-03-30 23:30:00+00:00\n2020-03-31 00:30:00+01:00\n")
    days = {"bins": ["2020-03-30", "2020-03-31", "2020-04-01"]}
    message = refusal_of("log.csv", {"t": {**days, "zone": "Europe/Berlin"}})
    cast = re.search(r"in DuckDB with (CAST\(.*?\)):", message)
    assert cast is not None and "each day is that of the row's offset" in message
    with duckdb.connect() as database:
        database.execute("SET timezone = 'America/New_York'")
        columns = "{'t': 'text'}"
        read = f"SELECT {cast[1]} AS t FROM read_csv('log.csv', columns={columns})"
        database.execute(f"COPY ({read}) TO 'log.parquet'")
    zoned = Workload.of(domain={"t": {**days, "zone": "Europe/Berlin"}}, workload=[{"marginal": ["t"]}])
    assert data_vector("log.parquet", zoned).counts.tolist() == [0, 2]
    written = Workload.of(domain={"t": days}, workload=[{"marginal": ["t"]}])
    assert data_vector("log.csv", written).counts.tolist() == [1, 1]


def test_the_day_is_that_of_the_zone(rng: np.random.Generator) -> None:
    """Random instants around the edges of days, where clocks are put forward and back, against zoneinfo."""
    edges = {
        "Europe/Berlin": ["1969-12-31", "1970-01-01", "2020-03-29", "2020-03-30", "2020-10-25", "2020-10-26"],
        "America/Sao_Paulo": ["2018-11-03", "2018-11-04", "2018-11-05", "2019-02-16", "2019-02-17"],
        "America/Toronto": ["1919-03-30", "1919-03-31", "1919-04-01"],
        "Pacific/Apia": ["2011-12-29", "2011-12-30", "2011-12-31", "2012-01-01"],
    }
    for zone, days in edges.items():
        clock = zoneinfo.ZoneInfo(zone)
        noon = [datetime.datetime.fromisoformat(f"{day}T00:00").replace(tzinfo=datetime.UTC) for day in days]
        starts = np.array([int(one.timestamp()) for one in noon])
        around = rng.choice(starts, 300) + rng.choice([-1, 0, 1], 300) * rng.integers(0, 15 * 3600, 300)
        seconds = np.concatenate([around, *(around // 1800 * 1800 + shift for shift in (-1, 0, 1))])
        shown = [datetime.datetime.fromtimestamp(int(s), clock).date().isoformat() for s in seconds]
        expected = [sum(low <= day < high for day in shown) for low, high in itertools.pairwise(days)]
        asked = Workload.of(
            domain={"t": {"bins": days, "zone": zone, "outside": "drop"}}, workload=[{"marginal": ["t"]}]
        )
        for unit, factor in (("us", 10**6), ("ns", 10**9)):
            for shift in (0, factor - 1):  # the last moment before the next second
                column = pa.array(seconds * factor + shift, pa.timestamp(unit, "UTC"))
                assert data_vector({"t": column}, asked).counts.tolist() == expected, (zone, unit, shift)
    first, last = -(2**63) + 1, 2**63 - 1  # DuckDB's infinities among nanoseconds
    column = pa.array([first, last, last, None], pa.timestamp("ns", "UTC"))
    asked = Workload.of(
        domain={
            "t": {
                "bins": ["1677-09-21", "1677-09-22", "2262-04-11", "2262-04-12"],
                "zone": "UTC",
                "missing": "drop",
            }
        },
        workload=[{"marginal": ["t"]}],
    )
    assert data_vector({"t": column}, asked).counts.tolist() == [1, 0, 2]
