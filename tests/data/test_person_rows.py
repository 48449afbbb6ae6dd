"""At most k rows of each person are counted, whoever else is in the table.

Guards answers/private_release.py, counted_rows.py, and counts.py in its shares of persons.
"""

import re
import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import mmopt
from mmopt.data import check_columns, counting_words, data_vector, marginal_counts
from mmopt.errors import DataError, WorkloadError
from mmopt.strategies import Neighbours
from mmopt.workloads import Domain, Workload
from tests.data.tables import parquet, refusal

Table = dict[str, list[Any]]

DOMAIN = {
    "sex": {"values": ["F", "M"], "outside": "drop", "missing": "M"},
    "age": {"bins": [0, 18, 65, "open"], "outside": "drop", "missing": "drop"},
    "zip": {"values": [1, 2, 3], "outside": {"cell": "other"}, "missing": {"cell": "other"}},
}
WORKLOAD = Workload.of(domain=DOMAIN, workload=[{"marginal": ["sex", "age"]}, {"marginal": ["zip"]}])
BY_SEX = Workload.of(domain={"sex": ["F", "M"]}, workload=[{"marginal": ["sex"]}])
CELLS = Workload.of(domain=DOMAIN, workload=[{"marginal": ["sex", "age", "zip"]}])


def unit(rows: int, column: str = "person") -> Neighbours:
    return Neighbours.of({"column": column, "rows": rows})


def rows_of(rng: np.random.Generator, person: object, most: int = 12) -> list[tuple[Any, ...]]:
    """Some rows of one person, among them such that have no cell, and equal ones."""
    pools = (["F", "M", "X", None], [-1, 3, 20, 70, None], [1, 2, 3, 4, None])
    weights = ([0.4, 0.4, 0.1, 0.1], [0.1, 0.3, 0.3, 0.2, 0.1], [0.3, 0.2, 0.2, 0.2, 0.1])
    count = int(rng.integers(0, most))
    drawn = [
        [pool[i] for i in rng.choice(len(pool), count, p=p)] for pool, p in zip(pools, weights, strict=True)
    ]
    return [(person, *row) for row in zip(*drawn, strict=True)]


def as_table(rows: list[tuple[Any, ...]], rng: np.random.Generator) -> Table:
    """The rows in any order."""
    mixed = [rows[i] for i in rng.permutation(len(rows))]
    return {name: [row[i] for row in mixed] for i, name in enumerate(("person", *DOMAIN))}


def people(rng: np.random.Generator, count: int = 12) -> list[list[tuple[Any, ...]]]:
    return [rows_of(rng, person) for person in rng.permutation(1000)[:count].tolist()]


def flat(groups: list[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    return [row for group in groups for row in group]


@pytest.mark.quick
@pytest.mark.draws(2)
def test_one_more_person_adds_at_most_k_rows_and_moves_nobody_else(rng: np.random.Generator) -> None:
    k, groups = int(rng.integers(1, 5)), people(rng)
    without = data_vector(as_table(flat(groups[1:]), rng), CELLS, workload=CELLS, unit=unit(k))
    with_ = data_vector(as_table(flat(groups), rng), CELLS, workload=CELLS, unit=unit(k))
    alone = data_vector(as_table(groups[0], rng), CELLS, workload=CELLS, unit=unit(k))
    np.testing.assert_array_equal(with_.counts - without.counts, alone.counts)
    inside = data_vector(as_table(groups[0], rng), CELLS, workload=CELLS).counts
    assert alone.counts.sum() == min(k, inside.sum()) and (alone.counts <= inside).all()
    assert alone.beyond == inside.sum() - alone.counts.sum()
    # What rules drop is dropped first, and takes no one's place.
    assert alone.dropped == data_vector(as_table(groups[0], rng), CELLS, workload=CELLS).dropped


def test_rows_that_are_dropped_take_the_place_of_none() -> None:
    """The one row with a cell is counted of each of many persons, besides five that are dropped."""
    rows = [(person, sex, 3, 1) for person in range(50) for sex in "XXFXXX"]
    table = {name: [row[i] for row in rows] for i, name in enumerate(("person", *DOMAIN))}
    found = data_vector(table, CELLS, workload=CELLS, unit=unit(1))
    assert (found.counts.sum(), found.beyond, found.dropped["sex"]) == (50, 0, 250)


def test_every_set_of_attributes_counts_the_same_rows(rng: np.random.Generator) -> None:
    k, rows = int(rng.integers(1, 5)), flat(people(rng))
    vector = data_vector(as_table(rows, rng), WORKLOAD, workload=WORKLOAD, unit=unit(k))
    tables = marginal_counts(as_table(rows, rng), WORKLOAD, unit=unit(k))
    cube = vector.counts.reshape(WORKLOAD.domain.shape)
    np.testing.assert_array_equal(tables.of((0, 1)), cube.sum(axis=2))
    np.testing.assert_array_equal(tables.of((2,)), cube.sum(axis=(0, 1)))
    assert (tables.rows, tables.dropped, tables.beyond) == (vector.rows, vector.dropped, vector.beyond)


def test_each_row_of_a_person_is_as_likely_to_be_kept() -> None:
    """Two are kept of 3 rows in one cell and 1 in another; over many persons each half of the time."""
    rows = [(person, "F", 3, z) for person in range(4000) for z in (1, 1, 1, 2)]
    table = {name: [row[i] for row in rows] for i, name in enumerate(("person", *DOMAIN))}
    counts = data_vector(table, CELLS, workload=CELLS, unit=unit(2)).counts.reshape(CELLS.domain.shape)
    assert counts[0, 0, 0] + counts[0, 0, 1] == 8000
    assert abs(counts[0, 0, 1] - 2000) < 6 * np.sqrt(4000 / 4)


def test_who_has_no_more_rows_is_counted_as_before(rng: np.random.Generator) -> None:
    rows = flat(people(rng))
    most = max(Counter(row[0] for row in rows).values())
    table = as_table(rows, rng)
    whole = data_vector(table, CELLS, workload=CELLS)
    kept = data_vector(table, CELLS, workload=CELLS, unit=unit(most))
    np.testing.assert_array_equal(kept.counts, whole.counts)
    assert kept.beyond == 0


def test_persons_are_told_apart_by_every_letter() -> None:
    table = {"person": ["a", "A", "a ", "á", ".", "1", "1.0"], "sex": ["F"] * 7}
    assert data_vector(table, BY_SEX, unit=unit(1)).counts.tolist() == [7, 0]
    numbers = {"person": [1, 1, -1, 2**62], "sex": ["F"] * 4}
    assert data_vector(numbers, BY_SEX, unit=unit(1)).counts.tolist() == [3, 0]
    connection = ibis.duckdb.connect()  # a column that takes persons for equal
    connection.raw_sql("CREATE TABLE people (person VARCHAR COLLATE NOCASE, sex VARCHAR)")
    connection.raw_sql("INSERT INTO people VALUES ('a', 'F'), ('A', 'F'), ('b', 'M'), ('b', 'M')")
    assert data_vector(connection, BY_SEX, unit=unit(1)).counts.tolist() == [2, 1]
    assert marginal_counts(connection, BY_SEX, unit=unit(1)).of((0,)).tolist() == [2, 1]
    connection.disconnect()


def test_queries_of_persons_and_of_no_attribute() -> None:
    asked = Workload.of(domain={"person": {"values": ["a", "b"]}}, workload=[{"marginal": ["person"]}])
    assert data_vector({"person": ["a", "a", "a", "b"]}, asked, unit=unit(2)).counts.tolist() == [2, 1]
    asked = Workload.of(domain={"sex": ["F", "M"]}, workload=[{"product": {}}])
    table = {"person": ["a", "a", "a", "b"], "sex": ["F"] * 4}
    assert data_vector(table, asked, workload=asked, unit=unit(2)).counts.sum() == 3
    counts = marginal_counts(table, asked, unit=unit(1))
    assert [own.tolist() for own in counts.tables.values()] == [2]


def test_rows_of_nobody_are_refused() -> None:
    table = {"person": ["a", None, None], "sex": ["F", "F", "X"], "age": [3] * 3, "zip": [1] * 3}
    for count in (data_vector, marginal_counts):
        with pytest.raises(DataError) as refused:
            count(table, WORKLOAD, unit=unit(1))
        assert str(refused.value) == (
            "the dictionary of columns: column 'person' says whose a row is, and is missing (NULL, blank "
            "or in null) in 2 rows (confidential, do not publish)\n"
            "  leave such rows out of the table, or say whose they are"
        )


def test_refused_values_are_looked_for_in_all_rows() -> None:
    """Also in rows that are beyond what is counted of a person."""
    with pytest.raises(DataError, match="'sex'\\): 3 outside the declared domain"):
        data_vector({"person": ["a"] * 5, "sex": ["X", "F", "X", "F", "X"]}, BY_SEX, unit=unit(1))


def test_whole_numbers_that_a_blank_made_floating_name_persons_once_they_are_converted() -> None:
    frame = pd.DataFrame({"person": [1, 2, None], "sex": ["F", "F", "F"]})
    with pytest.raises(DataError) as caught:
        data_vector(frame, BY_SEX, unit=unit(1))
    call = re.search(r"in pandas: (.*)\), or", str(caught.value))
    assert call is not None and call[1] == ".astype({'person': 'Int64'})"
    converted = eval(f"frame{call[1]}")
    with pytest.raises(DataError, match=r"is missing .* in 1 row .*\n  leave such rows out"):
        data_vector(converted, BY_SEX, unit=unit(1))
    assert data_vector(converted.dropna(), BY_SEX, unit=unit(1)).counts.sum() == 2


def test_what_names_no_person_is_refused(subtests: pytest.Subtests) -> None:
    table = {"person": [0.5], "sex": ["F"], "n": [2]}
    columns = "the dictionary of columns"
    for options, said in (
        (
            {"unit": unit(1)},
            f"{columns}: column 'person' is of type float64; a person is named by a text, a whole number, "
            "a day or a UUID\n  convert the column first (whole numbers in pandas: .astype({'person': "
            "'Int64'})), or name another under 'unit'",
        ),
        (
            {"unit": unit(1, "persn")},
            f"{columns}: no column 'persn' (of persons, named under 'unit')\n"
            "  did you mean 'person'?\n  the table has: person, sex, n",
        ),
        (
            {"unit": unit(1), "weight": "n"},
            "unit has the column 'person' of persons, and data the weight 'n': the rows of a line are not "
            "told apart\n  use the table before it was aggregated, or 'unit: {rows: k}' where nobody has "
            "more; of a survey's rows, one per line, leave the weight out",
        ),
        (
            {"unit": {"rows": 1}},
            "unit is of type dict, expected Neighbours or None\n"
            "  write Neighbours.of({'column': 'person', 'rows': 3}), from mmopt.strategies",
        ),
    ):
        with subtests.test(said):
            assert refusal(table, BY_SEX, **options) == said


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis 12 on DuckDB 2
def test_the_rows_that_are_kept_do_not_depend_on_the_parts(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Parquet file is read for each part, other tables once."""
    k, rows = int(rng.integers(1, 4)), flat(people(rng, 30))
    table = pa.table(as_table(rows, rng))
    pq.write_table(table, "people.parquet")
    csv.write_csv(table, "people.csv")
    connection = ibis.duckdb.connect()
    stored = connection.create_table("people", table)

    def vector(data: Any, **options: Any) -> Any:
        one = data_vector(data, CELLS, workload=CELLS, **options)
        return one, one.counts.tolist()

    def tables(data: Any, **options: Any) -> Any:
        one = marginal_counts(data, WORKLOAD, **options)
        return one, [one.of(places).tolist() for places in one.tables]

    for count, cases in (
        # Half of the memory of a part is for the codes, where these are stored.
        (vector, (("people.parquet", 7, 7), (table.to_reader(9), 1, 2), (stored, 1, 2))),
        (tables, (("people.parquet", 3, 3), ("people.csv", 1, 2))),
    ):
        whole, counts = count(table, unit=unit(k))
        for data, shares, parts in cases:
            with monkeypatch.context() as patch:
                patch.setattr("mmopt.data.counts.ROWS_OF_SHARE", len(rows) / shares)
                words: list[str] = []
                each, counts_of_parts = count(data, unit=unit(k), progress=words.append)
            assert counts_of_parts == counts
            assert (each.rows, each.dropped, each.beyond) == (whole.rows, whole.dropped, whole.beyond)
            assert len(words) in (parts, parts + 1)  # by rounding
            assert words[-1].startswith(f"part {len(words)} of {len(words)} of {len(rows)} rows (conf")
    connection.disconnect()


def test_rows_of_nobody_are_refused_whatever_part_they_are_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.data.counts.ROWS_OF_SHARE", 1)
    parquet("nobody.parquet", person=["NA", None, " ", "a", "NA"], sex=["F"] * 5)
    for count in (data_vector, marginal_counts):
        with pytest.raises(DataError, match="in null\\) in 4 rows"):
            count("nobody.parquet", BY_SEX, unit=unit(1), null=["NA"])


def test_a_count_is_forecast() -> None:
    """In words: of a file whose rows are known before, of any table, and without persons."""
    assert counting_words(20_000_000, unit(2)) == (
        "20,000,000 rows (confidential, do not publish): about 60 s, in about 1.3 GB of memory, "
        "and 30 MB more for each million rows, unless in Parquet"
    )
    assert counting_words(None, unit(2)).startswith(
        "each million rows: about 3 s, in about 1.3 GB of memory, "
    )
    assert counting_words(None, None) == "each million rows: about 1 s, in about 0.3 GB of memory"
    assert counting_words(None, unit(2), is_remote=True) == (
        "by the database, which reports neither progress nor an estimate of the time; in about 0.4 GB of "
        "memory here"
    )
    assert "1,000 rows (confidential, do not publish): about 1 s, in about 0.4 GB" in counting_words(
        1000, unit(1)
    )
    people = parquet("people.parquet", person=["a", "b"], sex=["F", None])
    assert check_columns(people, BY_SEX.domain, unit=unit(1)) == 2
    assert check_columns({"person": ["a"], "sex": ["F"]}, BY_SEX.domain, unit=unit(1)) is None


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis 12 on DuckDB 2
def test_an_ibis_table_is_truncated_where_it_is(rng: np.random.Generator) -> None:
    rows = flat(people(rng))
    table = as_table([row for row in rows if None not in row], rng)
    connection = ibis.duckdb.connect()
    stored = connection.create_table("people", pa.table(table))
    for data in (stored, connection):
        found = data_vector(data, CELLS, workload=CELLS, unit=unit(2))
        np.testing.assert_array_equal(
            found.counts, data_vector(table, CELLS, workload=CELLS, unit=unit(2)).counts
        )
    connection.disconnect()


def test_a_release_counts_what_its_noise_hides() -> None:
    """One source for both: the plan's set of neighbours says how many rows of whom are counted."""
    asked = {"domain": {"sex": ["F", "M"]}, "workload": [{"marginal": ["sex"]}]}
    table = {"person": ["a"] * 1000 + ["b"], "sex": ["F"] * 1001}
    given = {"column": "person", "rows": 2}
    by_file = mmopt.release(table, {**asked, "unit": given}, {"epsilon": 100.0})
    by_argument = mmopt.release(table, asked, {"epsilon": 100.0}, unit=given)
    for one in (by_file, by_argument):
        assert abs(one.answers["estimate"][0] - 3) < 1
        assert one.manifest["privacy"]["unit"] == (
            "one person: all rows with one value of that column, of which at most 2 rows are counted"
        )
        assert one.manifest["privacy"]["neighbours"] == "rows 2 of each person"
        assert one.manifest["privacy"]["sensitivity"] == "2 times the largest L1 norm of a column"
        words = "whether a row has no 'person'; a 'person' spelled in several ways, which counts as several"
        assert words in one.manifest["privacy"]["not_covered"]
    plain = mmopt.release(table, asked, {"epsilon": 100.0}, unit={"rows": 2})
    assert abs(plain.answers["estimate"][0] - 1001) < 1
    assert plain.manifest["privacy"]["unit"] == "one person, taken to have at most 2 rows"
    errors = mmopt.accuracy(asked, {"epsilon": 1.0}, unit=given).plan.standard_errors
    once = mmopt.accuracy(asked, {"epsilon": 1.0}).plan.standard_errors
    assert np.allclose(errors, mmopt.accuracy(asked, {"epsilon": 1.0}, unit={"rows": 2}).plan.standard_errors)
    assert (errors > 1.9 * once).all()


def test_a_file_says_one_of_unit_and_neighbours() -> None:
    asked = {"domain": {"sex": ["F", "M"]}, "workload": [{"marginal": ["sex"]}]}
    with pytest.raises(WorkloadError) as refused:
        mmopt.Request.of(asked, unit={"rows": 2}, neighbours="replace-one")
    assert str(refused.value) == (
        "neighbours: neighbours and unit (unit) both say what is protected\n  keep one of them"
    )


def test_a_database_of_persons_of_several_types_names_none_by_them() -> None:
    for kinds, held in (((1, 1.0), "REAL numbers"), ((1, "1"), "whole numbers beside texts")):
        path = f"{held}.sqlite"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE people (person, sex)")
            connection.executemany("INSERT INTO people VALUES (?, 'F')", [(value,) for value in kinds])
        assert refusal(path, BY_SEX, workload=BY_SEX, unit=unit(1)) == (
            f"{path}: column 'person' holds {held}; a person is named by a text or a whole number\n"
            "  make a view of the table in which it is text"
        )


def test_persons_are_told_apart_as_they_are_written_also_where_spelling_is_loose() -> None:
    # Else a person 01 beside a person 1 would decide which rows of 1 are counted, and change twice the rows.
    table = {"sex": ["F"] * 5, "person": ["A1", "a1", "A1 ", "01", "1"]}
    for spelling in ("exact", "loose", "loose, decimal comma, DD.MM.YYYY"):
        vector = data_vector(table, Domain.of(sex=["F"]), unit=unit(1), spelling=spelling)
        assert (vector.counts.tolist(), vector.beyond) == ([5], 0)
