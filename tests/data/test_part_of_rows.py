"""The rows with one value of a column: counted alone, and in no other part."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmopt.data import data_vector, marginal_counts
from mmopt.data.data_vector import check_columns
from mmopt.errors import DataError
from mmopt.workloads import Domain

DOMAIN = Domain.of(sex=["F", "M"])
REGIONS = ["north", "North", "north ", "it's", "", None, "1", "01", "ß", "ss"]
ROWS = [(sex, region) for i, region in enumerate(REGIONS) for sex in "F" * (i + 1) + "M" * (i + 2)]
TABLE = pa.table({"sex": [sex for sex, _ in ROWS], "region": [region for _, region in ROWS]})


def csv_of(folder: Path) -> object:
    lines = ["sex,region", *(f"{sex},{'' if region is None else f'{region}'}" for sex, region in ROWS)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "t.csv"


def parquet_of(folder: Path) -> object:
    pq.write_table(TABLE, folder / "t.parquet")
    return folder / "t.parquet"


def collated(folder: Path) -> object:
    """A database whose column takes F and f, ß and ss, for equal."""
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (sex VARCHAR, region VARCHAR COLLATE NOCASE.NOACCENT)")
        connection.register("source", TABLE)
        connection.execute("INSERT INTO t SELECT * FROM source")
        (both,) = connection.execute("SELECT count(*) FROM t WHERE region = 'NORTH'").fetchone() or (0,)
        assert both == 8  # of north and North
    return folder / "t.duckdb"


SOURCES: dict[str, Callable[[Path], object]] = {
    "csv": csv_of,
    "parquet": parquet_of,
    "collated": collated,
    "pandas": lambda _: TABLE.to_pandas(),
    "categorical": lambda _: TABLE.to_pandas().astype({"region": "category"}),
    "ibis": lambda _: ibis.memtable(TABLE),
}


@pytest.mark.quick
@pytest.mark.parametrize("source", SOURCES)
def test_each_row_is_in_the_part_of_its_own_text_alone(tmp_path: Path, source: str) -> None:
    table = SOURCES[source](tmp_path)
    for region in {region for region in REGIONS if region}:
        meant = [sum(row == (sex, region) for row in ROWS) for sex in "FM"]
        found = data_vector(table, DOMAIN, part=("region", region))
        assert (found.counts.tolist(), found.rows) == (meant, sum(meant)), region
        workload = DOMAIN.marginal("sex")
        counts = marginal_counts(table, workload, part=("region", region))
        assert (counts.of((0,)).tolist(), counts.rows) == (meant, sum(meant)), region
    assert data_vector(table, DOMAIN, part=("region", "nowhere")).rows == 0


def test_rows_of_other_parts_are_as_if_they_were_not_there() -> None:
    """Neither their values nor their weights are looked at."""
    data = {"sex": ["F", "X", "M"], "n": [2, -5, 7], "part": [1, 2, 1]}
    found = data_vector(data, DOMAIN, weight="n", part=("part", "1"))
    assert (found.counts.tolist(), found.rows) == ([2, 7], 9)
    counts = marginal_counts(data, DOMAIN.marginal("sex"), weight="n", part=("part", "1"))
    assert (counts.of((0,)).tolist(), counts.rows) == ([2, 7], 9)
    with pytest.raises(DataError):
        data_vector(data, DOMAIN, weight="n")


def test_the_number_of_rows_is_that_of_the_part() -> None:
    """Also where no attribute's column is read."""
    workload = DOMAIN.product(sex="total")
    data = {"sex": ["F", "M", "M"], "part": ["a", "b", "b"]}
    found = data_vector(data, DOMAIN, workload=workload, part=("part", "b"))
    assert (found.rows, int(found.counts.sum())) == (2, 2)


def test_a_part_may_be_by_a_column_that_is_asked_about() -> None:
    data = {"sex": ["F", "M", "M"]}
    assert data_vector(data, DOMAIN, part=("sex", "M")).counts.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.0, 2.0], "float64"),
        ([True, False], "boolean"),
        ([datetime.date(2020, 1, 1), None], "date"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ns]"), "timestamp(9)"),
    ],
    ids=str,
)
def test_a_column_of_several_texts_for_a_value_is_refused(values: Any, kind: str) -> None:
    data = pd.DataFrame({"sex": ["F", "M"], "part": values})
    with pytest.raises(DataError) as caught:
        data_vector(data, DOMAIN, part=("part", "1"))
    assert str(caught.value) == (
        f"the data frame: column 'part' is of type {kind}, and a partition is by texts or whole numbers\n"
        "  make a column of texts of it in every copy of the table"
    )


def test_a_column_that_is_not_there_is_refused_by_the_names_alone() -> None:
    with pytest.raises(DataError) as caught:
        check_columns({"sex": ["F"]}, DOMAIN, part=("region", "north"))
    assert caught.value.message.endswith("no column 'region' (the partition of the ledger)")
