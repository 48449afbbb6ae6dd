"""A value is in the bin that holds it as written: casts cut and never round, in every source and unit.

Guards cell_codes.py, table_files_and_connections.py and open_table.py.
"""

import datetime
import sqlite3
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmopt import Domain
from mmopt.data import data_vector
from mmopt.errors import DataError

Rng = np.random.Generator
FIRST, LAST = np.datetime64("1966-01-01"), np.datetime64("1974-01-01")
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
# Before and after the start of a month: half a microsecond is where rounding turns.
NEAR = (0, -1, 1, -499, -500, -501, -1000, -500_000, -1_000_000, -499_999_999, -500_000_000, -(10**9))


def instants(rng: Rng, unit: str) -> np.ndarray:
    """Random ones, and the last and first of months, in a unit."""
    ends = [int(end.astype("datetime64[ns]").astype(np.int64)) for end in (FIRST, LAST)]
    months = np.arange(FIRST + 40, LAST, dtype="datetime64[M]").astype("datetime64[ns]").astype(np.int64)
    near = rng.choice(months, 150) + rng.choice(NEAR, 150)
    return np.concatenate([near, rng.integers(*ends, 150)]) // NANOSECONDS[unit]


def month_counts(values: np.ndarray, unit: str) -> list[int]:
    """By Python's calendar."""
    days = [int(v) * NANOSECONDS[unit] // (86_400 * 10**9) for v in values]
    dates = [datetime.date(1970, 1, 1) + datetime.timedelta(days=d) for d in days]
    return np.bincount([12 * (d.year - 1966) + d.month - 1 for d in dates], minlength=96).tolist()


def stamps(values: np.ndarray, unit: str) -> np.ndarray:
    return values.astype(f"datetime64[{unit}]")


def csv(column: np.ndarray, folder: Path) -> str:
    (folder / "t.csv").write_text("x\n" + "\n".join(map(str, column)) + "\n", encoding="utf-8")
    return str(folder / "t.csv")


def parquet(column: np.ndarray, folder: Path) -> str:
    pq.write_table(pa.table({"x": column}), folder / "t.parquet")
    return str(folder / "t.parquet")


def duckdb_file(column: np.ndarray, folder: Path) -> str:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", pa.table({"x": column}))
        connection.execute("create table t as select * from given")
    return str(folder / "t.duckdb")


def sqlite_file(column: np.ndarray, folder: Path) -> str:
    connection = sqlite3.connect(folder / "t.sqlite")
    kind = column.dtype.kind
    connection.execute(f"create table t (x {({'M': 'timestamp', 'i': 'integer'}).get(kind, 'real')})")
    rows = [str(value).replace("T", " ") if kind == "M" else value.item() for value in column]
    connection.executemany("insert into t values (?)", [(row,) for row in rows])
    connection.commit()
    connection.close()
    return str(folder / "t.sqlite")


SOURCES: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "arrow": lambda column, _: pa.table({"x": column}),
    "numpy": lambda column, _: {"x": column},
    "pandas": lambda column, _: pd.DataFrame({"x": column}),
    "polars": lambda column, _: pl.from_arrow(pa.table({"x": column})),
    "text": lambda column, _: {"x": [str(value) for value in column]},
    "csv": csv,
    "parquet": parquet,
    "duckdb": duckdb_file,
    "sqlite": sqlite_file,
}


@pytest.mark.some(4, rest="slow")
@pytest.mark.parametrize("source", SOURCES)
def test_an_instant_is_in_its_month(source: str, rng: Rng, tmp_path: Path) -> None:
    domain = Domain.of(x={"range": ["1966-01-01", "1974-01-01"], "width": "month"})
    for unit in NANOSECONDS:
        values = instants(rng, unit)
        folder = tmp_path / unit
        folder.mkdir()
        counts = data_vector(SOURCES[source](stamps(values, unit), folder), domain).counts
        assert counts.tolist() == month_counts(values, unit), unit


EDGES = (-3.0, 0.1, 0.3, 1.0, 2.5, 7.0, 9e15, 2.0**53 + 2)


@pytest.mark.some(4, rest="slow")
@pytest.mark.parametrize("source", SOURCES)
def test_a_float_is_in_the_bin_that_holds_it(source: str, rng: Rng, tmp_path: Path) -> None:
    domain = Domain.of(x={"bins": ["open", *EDGES, "open"]})
    edges = np.array(EDGES)
    near = [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), rng.uniform(-5, 10, 20)]
    column = np.concatenate(near)
    counts = data_vector(SOURCES[source](column, tmp_path), domain).counts
    exact = np.bincount(np.searchsorted(edges, column, side="right"), minlength=len(edges) + 1)
    assert counts.tolist() == exact.tolist()


LISTED = {
    "DOUBLE": ["-3", "0.1", "0.30000000000000004", "2.5", "1e300", "inf", "-inf", "nan", None],
    "FLOAT": ["-3", "0.1", "0.3", "2.5", None],
    "TINYINT": ["-128", "-3", "0", "1", "127", None],
    "BIGINT": ["-3", "0", "2", "9007199254740993", "9007199254740995", "9223372036854775807", None],
    "DECIMAL(38, 17)": ["-3.00000000000000001", "0.1", "0.10000000000000001", "9007199254740994", None],
    "VARCHAR": ["-3", "0.1", "9007199254740993", "9007199254740995.5", "word", "", None],
    "DATE": ["2019-12-31", "2020-01-01", "2020-02-29", "infinity", None],
    "TIMESTAMP": ["2019-12-31 23:59:59", "2020-01-01", "2020-02-29 12:00:00", None],
    "TIMESTAMPTZ": ["2019-12-31 23:59:59Z", "2020-01-01 00:00:00+01", "2020-02-29 12:00:00Z", None],
    "TIMESTAMP_NS": ["2020-01-01 00:00:00.000000001", "2020-02-29", None],
}


@pytest.mark.parametrize("kind", LISTED)
def test_edges_in_a_list_count_as_those_compared(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = duckdb.sql(f"SELECT unnest({LISTED[kind]!r}::VARCHAR[])::{kind} AS x".replace("None", "NULL"))
    days = ["2020-01-01", "2020-02-01", "2020-02-29", "2020-03-01", "2021-01-01"]
    edges: list[Any] = days if kind[:4] in ("DATE", "TIME") else [-1e3, *EDGES, 2.0**62, 1e301]
    rules = {"outside": "drop", "missing": "drop"} | ({"zone": "Europe/Berlin"} if "TZ" in kind else {})
    for bins in (["open", *edges, "open"], edges):
        domain = Domain.of(x={"bins": bins, **rules})
        compared = data_vector(table.to_arrow_table(), domain).counts.tolist()
        with monkeypatch.context() as patched:
            patched.setattr("mmopt.data.cell_codes.MOST_COMPARED", 1)
            assert data_vector(table.to_arrow_table(), domain).counts.tolist() == compared


def decimals(scale: int, rng: Rng) -> tuple[list[Decimal], list[int]]:
    """Random ones and those next to the edges, and how many are between these."""
    unit = Decimal(1).scaleb(-scale)
    edges = [Decimal(edge if edge > 1e15 else repr(edge)) for edge in EDGES]
    drawn = [Decimal(repr(x)) for x in rng.uniform(-5, 10, 20).tolist()]
    with localcontext(prec=60):
        near = [edge + k * unit for edge in edges for k in range(-2, 3)]
        values = [value.quantize(unit, rounding="ROUND_FLOOR") for value in (*near, *drawn)]
    bins = [sum(edge <= value for edge in edges) for value in values]
    return values, np.bincount(bins, minlength=len(edges) + 1).tolist()


@pytest.mark.parametrize("scale", [0, 1, 17, 20])
def test_a_decimal_is_in_the_bin_that_holds_it(scale: int, rng: Rng) -> None:
    """Those next to an edge, which as doubles are the edge."""
    domain = Domain.of(x={"bins": ["open", *EDGES, "open"]})
    values, exact = decimals(scale, rng)
    counts = data_vector(pa.table({"x": pa.array(values, pa.decimal128(38, scale))}), domain).counts
    assert counts.tolist() == exact


@pytest.mark.some(4, rest="slow")
@pytest.mark.parametrize("source", SOURCES)
def test_a_whole_number_is_in_the_bin_that_holds_it(source: str, rng: Rng, tmp_path: Path) -> None:
    """2^53 + 1 is no double."""
    edges = [-(2**60), -(2**53) - 2, 0, 2**53, 2**53 + 4, 10**16, 2**60, 2**63 - 2**10]
    near = [edge + k for edge in edges for k in range(-3, 4)]
    column = np.array([*near, -(2**63), 2**63 - 1, *rng.integers(-(2**62), 2**62, 20)])
    counts = data_vector(
        SOURCES[source](column, tmp_path), Domain.of(x={"bins": ["open", *edges, "open"]})
    ).counts
    bins = [sum(edge <= value for edge in edges) for value in column.tolist()]
    assert counts.tolist() == np.bincount(bins, minlength=len(edges) + 1).tolist()


TEXTS_OF_NUMBERS = ["9007199254740995.5", "-9007199254740993.7", "9007199254740994.00", "1e18", " 1E+18 "]
TEXTS_OF_NUMBERS += ["1000000000000000000.0", "999999999999999999.9", "1_000_000_000_000_000_000", "1e300"]


def test_a_text_of_a_large_number_is_that_number() -> None:
    edges = [-(2**53) - 2, 2**53 + 2, 2**53 + 4, 10**18]
    found = data_vector(
        {"x": TEXTS_OF_NUMBERS}, Domain.of(x={"bins": ["open", *edges, "open"], "outside": "drop"})
    )
    exact = [Fraction(text) for text in TEXTS_OF_NUMBERS if "_" not in text]
    bins = [sum(edge <= value for edge in edges) for value in exact]
    assert found.counts.tolist() == np.bincount(bins, minlength=len(edges) + 1).tolist() == [0, 1, 2, 1, 4]
    assert found.dropped["x"] == 1


SINGLE_EDGES = (-1e39, -0.7, 0.0, 1e-46, 0.1, 0.7, 16777215.0, 16777216.0, 16777217.0, 16777218.0, 1e39)


@pytest.mark.parametrize("source", ["arrow", "numpy", "pandas", "polars", "text", "csv", "parquet", "duckdb"])
def test_a_number_of_32_bits_is_in_the_bin_that_holds_it(source: str, rng: Rng, tmp_path: Path) -> None:
    """Numbers count as written: 0.7 is stored as 0.69999999, and is not below 0.7; 16777216 is below
    16777217."""
    with np.errstate(over="ignore"):
        edges = np.array(SINGLE_EDGES).astype(np.float32)
    near = [edges, *(np.nextafter(edges, np.float32(end)) for end in (-np.inf, np.inf))]
    column = np.concatenate([*near, rng.uniform(-1, 1, 20).astype(np.float32)])
    domain = Domain.of(x={"bins": ["open", *SINGLE_EDGES, "open"]})
    bins = [sum(Decimal(repr(edge)) <= Decimal(str(value)) for edge in SINGLE_EDGES) for value in column]
    counts = data_vector(SOURCES[source](column, tmp_path), domain).counts
    assert counts.tolist() == np.bincount(bins, minlength=len(SINGLE_EDGES) + 1).tolist()


def test_a_number_of_32_bits_is_a_value_only_where_it_is_that(subtests: pytest.Subtests) -> None:
    column = pa.array([16777216.0, 0.1, 0.7, 1.0], pa.float32())
    for declared, expected in [
        ([16777217, 16777216], [0, 1]),
        ([0.1, 0.7], [1, 1]),
        ([0.10000000149011612, 0.69999999], [1, 0]),
        ([1e-46, 1e39, 1], [0, 0, 1]),
    ]:
        with subtests.test(str(declared)):
            domain = Domain.of(x={"values": declared, "outside": "drop"})
            assert data_vector(pa.table({"x": column}), domain).counts.tolist() == expected


LARGE = [2**53 + 1, 2**53 + 2, 1e16, 10**18, 2**63 - 1, 5]


def test_a_large_number_is_a_value_only_where_it_is_that(subtests: pytest.Subtests, tmp_path: Path) -> None:
    """However it is stored or spelled; neighbours, which round to it, are not."""
    whole = sorted({int(value) + k for value in LARGE for k in (-1, 0, 1) if int(value) + k < 2**63})
    doubles = [float(value) for value in whole]
    texts = [form.format(value) for value in whole for form in ("{}", "{}.0", " +{}", "{}.00", "{}.5")]
    columns = {
        "int64": pa.array(whole),
        "decimal of 2": pa.array([Decimal(value) for value in whole], pa.decimal128(30, 2)),
        "decimal of 0": pa.array([Decimal(value) for value in whole], pa.decimal128(38, 0)),
        "double": pa.array(doubles),
        "text": pa.array([*texts, "1e18", "1E+16", "5e0", "10e17"]),
    }
    domain = Domain.of(x={"values": LARGE, "outside": "drop"})
    for name, column in columns.items():
        exact = [Fraction(value) for value in column.to_pylist()]
        expected = [exact.count(Fraction(value)) for value in LARGE]
        with subtests.test(name):
            assert data_vector(pa.table({"x": column}), domain).counts.tolist() == expected
    for kind, values in (("integer", whole), ("real", doubles)):
        folder = tmp_path / kind
        folder.mkdir()
        expected = [sum(Fraction(value) == declared for value in values) for declared in LARGE]
        with subtests.test(f"SQLite {kind}"):
            assert data_vector(sqlite_file(np.array(values), folder), domain).counts.tolist() == expected


EXTREMES = np.array([2**63 - 1, 2**63 - 2, -(2**63) + 1, -(2**63) + 2, -1, 0]).astype("datetime64[ns]")


@pytest.mark.parametrize("source", ["arrow", "numpy", "pandas", "polars", "parquet"])
def test_the_first_and_last_instant_of_nanoseconds_are_days(source: str, tmp_path: Path) -> None:
    """Which DuckDB takes for infinities."""
    edges = ["1677-09-21", "1677-09-22", "1970-01-01", "2262-04-11", "2262-04-12"]
    domain = Domain.of(x={"bins": ["open", *edges, "open"]})
    found = data_vector(SOURCES[source](EXTREMES, tmp_path), domain)
    assert found.counts.tolist() == [0, 2, 1, 1, 2, 0]


@pytest.mark.parametrize("source", ["arrow", "pandas", "polars", "parquet", "duckdb"])
def test_an_instant_with_a_time_zone_is_refused_in_each_unit(source: str, tmp_path: Path) -> None:
    domain = Domain.of(x={"bins": ["2019-12-31", "2020-01-01", "2020-01-02"]})
    for unit in ("ms", "us", "ns"):
        column = pa.array([np.datetime64("2019-12-31T23:30", unit)]).cast(pa.timestamp(unit, "Europe/Berlin"))
        given = {"pandas": column.to_pandas(), "polars": column}.get(source, column)
        folder = tmp_path / unit
        folder.mkdir()
        with pytest.raises(DataError, match="its day depends on the time zone"):
            data_vector(SOURCES[source](given, folder), domain)


def test_texts_that_a_collation_takes_for_one_are_apart(subtests: pytest.Subtests, tmp_path: Path) -> None:
    path = str(tmp_path / "t.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("create table t (x varchar collate nocase.noaccent)")
        connection.execute("insert into t values ('F'), ('f'), ('É'), ('é'), ('é')")
    folding = ibis.duckdb.connect()
    folding.raw_sql("set default_collation = 'nocase'")
    folding.raw_sql("create table t as select unnest(['F', 'f', 'É', 'é', 'é']) as x")
    domain = Domain.of(x={"values": ["f", "é", "F"], "outside": "drop"})
    for name, data in {"file": path, "setting": folding}.items():
        with subtests.test(name):
            found = data_vector(data, domain, table="t")
            assert found.counts.tolist() == [1, 2, 1] and found.dropped["x"] == 1
    folding.disconnect()


def test_a_decimal_is_a_value_only_where_it_is_that_exactly() -> None:
    domain = Domain.of(x={"values": [0.1, 0.3]})
    values = [Decimal("0.1"), Decimal("0.10000000000000000001"), Decimal("0.3")]
    table = pa.table({"x": pa.array(values, pa.decimal128(38, 20))})
    assert data_vector(table.take([0, 2]), domain).counts.tolist() == [1, 1]
    between = Domain.of(x={"values": [0.15, 1.5], "outside": "drop"})
    for column in ([Decimal("0.1"), Decimal("0.2")], [1, 2]):
        assert data_vector({"x": column}, between).counts.tolist() == [0, 0]
    with pytest.raises(DataError, match="1 outside the declared domain"):
        data_vector(table, domain)
