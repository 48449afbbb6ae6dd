"""The rows with one value of a column: counted alone, and in no other part.

Guards counted_rows.py.
"""

import datetime
from collections.abc import Callable
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mmopt.data import data_vector, marginal_counts
from mmopt.data.counts import check_columns
from mmopt.errors import DataError
from mmopt.workloads import Domain
from tests.data.tables import refusal

DOMAIN = Domain.of(sex=["F", "M"])
REGIONS = ["north", "North", "north ", "it's", "", None, "1", "01", "ß", "ss"]
ROWS = [(sex, region) for i, region in enumerate(REGIONS) for sex in "F" * (i + 1) + "M" * (i + 2)]
TABLE = pa.table({"sex": [sex for sex, _ in ROWS], "region": [region for _, region in ROWS]})


def csv_of(folder: Path) -> object:
    lines = ["sex,region", *(f"{sex},{'' if region is None else f'{region}'}" for sex, region in ROWS)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "t.csv"


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
    "collated": collated,
    "categorical": lambda _: TABLE.to_pandas().astype({"region": "category"}),
    "ibis": lambda _: ibis.memtable(TABLE),
}


def test_each_row_is_in_the_part_of_its_own_text_alone(
    subtests: pytest.Subtests, tmp_path: Path, rng: np.random.Generator
) -> None:
    for source, make in SOURCES.items():
        table = make(tmp_path)
        regions = [region for region in REGIONS if region]
        for region in {"North", *(regions if source == "collated" else rng.choice(regions, 1).tolist())}:
            with subtests.test(f"{source} {region}"):
                meant = [sum(row == (sex, region) for row in ROWS) for sex in "FM"]
                found = data_vector(table, DOMAIN, part=("region", region))
                assert (found.counts.tolist(), found.rows) == (meant, sum(meant))
    counts = marginal_counts(table, DOMAIN.marginal("sex"), part=("region", "it's"))
    assert (counts.of((0,)).tolist(), counts.rows) == ([4, 5], 9)
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


def test_a_column_of_several_texts_for_a_value_is_refused() -> None:
    for values, kind in (
        ([1.0, 2.0], "float64"),
        ([True, False], "boolean"),
        ([datetime.date(2020, 1, 1), None], "date"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ns]"), "timestamp(6)"),
    ):
        data = pd.DataFrame({"sex": ["F", "M"], "part": values})
        assert refusal(data, DOMAIN, part=("part", "1")) == (
            f"the data frame: column 'part' is of type {kind}, and a partition is by texts or whole "
            "numbers\n  make a column of texts of it in every copy of the table"
        )


def test_a_column_that_is_not_there_is_refused_by_the_names_alone() -> None:
    with pytest.raises(DataError) as caught:
        check_columns({"sex": ["F"]}, DOMAIN, part=("region", "north"))
    assert caught.value.message.endswith("no column 'region' (the partition of the ledger)")
