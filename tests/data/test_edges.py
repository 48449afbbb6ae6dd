"""A value is in the bin that holds it as written: casts cut and never round, in every source and unit.

Guards cell_codes.py, spelled_values.py.
"""

import datetime
import sqlite3
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import duckdb
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
    is_day = column.dtype.kind == "M"
    connection.execute(f"create table t (x {'timestamp' if is_day else 'real'})")
    rows = [(str(value).replace("T", " ") if is_day else float(value),) for value in column]
    connection.executemany("insert into t values (?)", rows)
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


def test_a_whole_number_is_in_the_bin_that_holds_it() -> None:
    """2^53 + 1 is no double."""
    domain = Domain.of(x={"bins": ["open", 0, 2**53 + 2, 2**60, "open"]})
    values = [-1, 0, 2**53 + 1, 2**53 + 2, 2**60 - 1, 2**60, -(2**63), 2**63 - 1]
    assert data_vector({"x": np.array(values)}, domain).counts.tolist() == [2, 2, 2, 2]


def test_a_decimal_is_a_value_only_where_it_is_that_exactly() -> None:
    domain = Domain.of(x={"values": [0.1, 0.3]})
    values = [Decimal("0.1"), Decimal("0.10000000000000000001"), Decimal("0.3")]
    table = pa.table({"x": pa.array(values, pa.decimal128(38, 20))})
    assert data_vector(table.take([0, 2]), domain).counts.tolist() == [1, 1]
    with pytest.raises(DataError, match="1 outside the declared domain"):
        data_vector(table, domain)
