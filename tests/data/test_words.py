"""Words for a missing value, and texts that are declared ones but for their spelling.

What a message proposes is pasted into the workload file, and the rows are counted again.

Guards cell_codes.py, counted_rows.py and domain_data_and_query_keys.py.
"""

import datetime
import re
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mmopt
from mmopt.data import data_vector, marginal_counts
from mmopt.data.cell_codes import CONVENTIONS, SPELLINGS, USUAL_WORDS
from mmopt.data.draft_workload import null_key
from mmopt.errors import DataError, WorkloadError
from mmopt.request import parse_request
from mmopt.request.domain_data_and_query_keys import SPELLING_RULES
from mmopt.strategies import Neighbours
from mmopt.workloads import Domain
from tests.data.tables import parquet, text

TO_CELLS = {"outside": {"cell": "outside"}, "missing": {"cell": "missing"}}

#: By name: the form of an attribute, texts of its cells, those outside, and words for missing that it reads.
KINDS: dict[str, tuple[dict[str, Any], list[str], list[str], list[str]]] = {
    "number": ({"range": [0, 20], "width": 10}, ["5", "15"], ["na", "-8", "20"], ["NA", "-9", "-9.0", "."]),
    "value": ({"values": [7, 8]}, ["7", "8.0"], ["-8", "nA"], ["NA", "-9", " -9", "."]),
    "day": (
        {"bins": ["2020-01-01", "2021-01-01"]},
        ["2020-02-01"],
        ["1999-01-01", "soon"],
        ["NA", "1900-01-01", "."],
    ),
    "text": ({"values": ["a", "-9"]}, ["a", "-9"], ["b", "-9.0"], ["NA", " NA ", "."]),
    "truth": ({"values": [True, False]}, ["true", "FALSE"], ["-1"], ["NA", "-9", "."]),
    "mixed": ({"values": ["NA", 1]}, ["NA", "1.0"], ["2"], [" NA", "-9", "."]),
}
NULL = ["NA", "-9", "1900-01-01", "."]
BLANK = [None, "", " ", "\t \n"]


def columns() -> tuple[dict[str, list[str | None]], dict[str, list[int]]]:
    """Columns of texts by name, padded to one length by a first cell; and the counts that are right."""
    rows = {
        name: [*inside, *outside, *missing, *BLANK] for name, (_, inside, outside, missing) in KINDS.items()
    }
    length = max(map(len, rows.values()))
    counts = {}
    for name, (_, inside, outside, missing) in KINDS.items():
        padding = length - len(rows[name])
        rows[name] += inside[:1] * padding
        counts[name] = [1 + padding, *[1] * (len(inside) - 1), len(outside), len(missing) + len(BLANK)]
    return rows, counts


def as_csv(rows: dict[str, list[str | None]]) -> str:
    lines = [
        ",".join("" if one is None else f'"{one}"' for one in row) for row in zip(*rows.values(), strict=True)
    ]
    return text("t.csv", "\n".join([",".join(rows), *lines]) + "\n")


def as_duckdb(rows: dict[str, list[str | None]]) -> str:
    table = pa.table(rows)
    with duckdb.connect("t.duckdb") as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    return "t.duckdb"


def as_sqlite(rows: dict[str, list[str | None]]) -> str:
    connection = sqlite3.connect("t.sqlite")
    connection.execute(f"CREATE TABLE t ({', '.join(rows)})")
    connection.executemany(
        f"INSERT INTO t VALUES ({', '.join('?' * len(rows))})", zip(*rows.values(), strict=True)
    )
    connection.commit()
    connection.close()
    return "t.sqlite"


TABLES: dict[str, Callable[[dict[str, list[str | None]]], Any]] = {
    "csv": as_csv,
    "parquet": lambda rows: parquet(**rows),
    "duckdb": as_duckdb,
    "sqlite": as_sqlite,
    "dictionary": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "ibis": ibis.memtable,
}


def domain() -> Domain:
    return Domain.of({name: {**form, **TO_CELLS} for name, (form, *_) in KINDS.items()})


def counted_columns(table: Any, over: Domain, **options: Any) -> dict[str, list[int]]:
    counts = marginal_counts(table, over.marginals(1), **options)
    return {name: counts.of((i,)).tolist() for i, name in enumerate(over.names)}


@pytest.mark.parametrize("kind", TABLES)
def test_words_are_missing_in_every_kind_of_column_of_every_engine(kind: str) -> None:
    rows, right = columns()
    table = TABLES[kind](rows)
    assert counted_columns(table, domain(), null=NULL) == right
    small = Domain.of(number={**KINDS["number"][0], **TO_CELLS})
    assert data_vector(table, small, null=NULL).counts.tolist() == right["number"]


def test_blanks_alone_are_missing_without_a_word() -> None:
    rows, right = columns()
    for name, cells in counted_columns(rows, domain()).items():
        *_, outside, missing = KINDS[name]
        assert cells[-2:] == [len(outside) + len(missing), len(BLANK)], name
        assert cells[:-2] == right[name][:-2], name


def test_words_are_missing_in_columns_of_numbers_and_of_days() -> None:
    day = datetime.date
    typed = {
        "number": pa.array([5, -9, -8, None]),
        "value": pa.array([7.0, -9.0, float("nan"), -8.5]),
        "price": pa.array([7, -9, -8, 8]).cast(pa.decimal128(21, 2)),
        "day": pa.array([day(2020, 1, 1), day(1900, 1, 1), day(1900, 1, 2), None]),
        "seen": pa.array([day(2020, 1, 1), day(1900, 1, 1), day(1900, 1, 2), None]).cast(pa.timestamp("us")),
        "code": pa.array([-9, 1, 2, 3]),
    }
    table = parquet(**typed)
    forms = {"seen": KINDS["day"][0], "price": KINDS["value"][0], "code": {"values": ["1", "2"]}}
    over = Domain.of({n: {**(forms.get(n) or KINDS[n][0]), **TO_CELLS} for n in typed})
    assert counted_columns(table, over, null=NULL) == {
        "number": [1, 0, 1, 2],
        "value": [1, 0, 1, 2],
        "price": [1, 1, 1, 1],
        "day": [1, 1, 2],
        "seen": [1, 1, 2],
        "code": [1, 1, 1, 1],
    }


def test_a_word_names_no_person_and_no_weight_and_takes_no_declared_part() -> None:
    sexes = Domain.of(sex=["F"])
    table = {
        "sex": ["F"] * 4,
        "who": ["a", "NA", " ", "-9"],
        "n": ["1", "NA", "", "2"],
        "part": ["NA", "a", "", "NA"],
    }
    unit = Neighbours.of({"column": "who", "rows": 1})
    for null, nobody in (([], 1), (["NA"], 2), (NULL, 3)):
        with pytest.raises(DataError, match=f"in {nobody} row") as caught:
            data_vector(table, sexes, unit=unit, null=null)
        assert "'" not in str(caught.value).replace("'who'", "")
    with pytest.raises(DataError, match="3 rows"):  # a person's number that is a word for missing
        data_vector({"sex": ["F"] * 3, "who": [-9, -9, -9]}, sexes, unit=unit, null=["-9"])
    for null, faults in (
        ([], "1 line missing (NULL, empty, NaN or listed under null), 1 line no number"),
        (NULL, "2 lines missing"),
    ):
        with pytest.raises(DataError) as caught:
            data_vector(table, sexes, weight="n", null=null)
        assert faults in str(caught.value)
    assert data_vector(table, sexes, part=("part", "NA"), null=NULL).rows == 2


#: Declared texts and a spelling that differs in the way of each row of ``SPELLINGS`` and those above it.
OTHERWISE = {
    "blanks around": (["Female", "a b"], [" Female", "a b \t", "\vFemale"]),
    "upper and lower case": (["Female", "Ä"], ["FEMALE", "ä", " female "]),
    "a point and zeros after a whole number": (["1", "36"], ["1.0", "36.", " 1.000"]),
    "zeros in front": (["01", "36", "00"], ["1", "036", "0", "1.0", " 000 "]),
}


@pytest.mark.parametrize("how", SPELLINGS)
def test_texts_that_are_declared_otherwise_are_counted_and_the_line_that_reads_them_works(how: str) -> None:
    declared, spelled = OTHERWISE[how]
    file = f"domain:\n  a: {{values: {declared}, column: c}}\nworkload: [{{marginal: [a]}}]\n"
    table = {"c": [*spelled, declared[0]]}
    request = parse_request(file)
    with pytest.raises(DataError) as caught:
        data_vector(table, request.workload.domain)
    message = str(caught.value)
    texts = f"{len(spelled)} texts that are declared but for {how}"
    assert f"{len(spelled)} outside the declared domain (of them {texts})" in message
    assert all(one not in message for one in spelled)
    line = message.rpartition("\n")[2].strip()
    mended = parse_request(f"{file}{line}\n")
    counts = data_vector(table, mended.workload.domain, spelling=mended.table.spelling).counts
    assert counts.sum() == len(table["c"]) and counts[0] >= 2
    released = mmopt.release(table, mended, {"rho": 1.0}, simulate=1)
    assert len(released) == len(declared)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis 12 on DuckDB 2
@pytest.mark.parametrize("how", SPELLINGS)
def test_a_step_makes_texts_and_columns_alike(how: str) -> None:
    of_text, of_column = SPELLINGS[how]
    texts = [
        "",
        "0",
        "00",
        "01",
        "10",
        "1.0",
        "1.",
        "1.50",
        ".0",
        "00.00",
        " a ",
        "A b",
        "\tÄ\n",
        "é.0",
        "0x1",
        "-01",
    ]
    engine = ibis.duckdb.connect()
    column = engine.create_table("t", pa.table({"c": texts})).c
    assert of_column(column).to_pyarrow().to_pylist() == list(map(of_text, texts))
    assert [of_text(of_text(one)) for one in texts] == list(map(of_text, texts))


def test_whole_numbers_are_read_where_the_domain_has_texts() -> None:
    over = Domain.of(a={"values": ["01", "2", "10"], **TO_CELLS})
    for array in (
        pa.array([1, 2, 10, 3, None]),
        pa.array([1.0, 2.0, 10.0, 2.5, float("nan")]),
        pa.array([1, 2, 10, 4, None]).cast(pa.decimal128(22, 3)),
    ):
        table = parquet(a=array)
        assert data_vector(table, over).counts.tolist() == [0, 1, 1, 2, 1]
        assert data_vector(table, over, spelling="loose").counts.tolist() == [1, 1, 1, 1, 1]
        with pytest.raises(DataError, match="1 text that is declared but for zeros in front"):
            data_vector(table, Domain.of(a={"values": ["01", "2", "10"], "missing": "drop"}))


def test_texts_that_only_their_spelling_tells_apart_stay_apart() -> None:
    over = Domain.of(
        a={"values": ["a", "A"], "outside": "drop"}, b={"categories": {"x": ["b", "B"], "y": "c"}}
    )
    table = {"a": ["a", "A", " a"], "b": ["b", "B", " B"]}
    assert data_vector(table, over, spelling="loose").counts.tolist() == [1, 0, 1, 0]
    with pytest.raises(DataError) as caught:
        data_vector(table, Domain.of(a=["a", "A"]))
    assert "but for" not in str(caught.value) and "loose" not in str(caught.value)


def test_a_blank_row_is_no_declared_zero_and_a_declared_value_is_no_word() -> None:
    over = Domain.of(a={"values": ["0", ".", "n/a"], **TO_CELLS})
    table = {"a": ["", "00", ".", "NA", "N/A"]}
    assert data_vector(table, over, null=[".", "NA"], spelling="loose").counts.tolist() == [1, 1, 1, 0, 2]


def test_usual_words_are_counted_without_being_quoted_and_the_line_reads_them() -> None:
    file = (
        "domain: {age: {range: [0, 90], width: 10}, sex: {values: [F, M]}}\n"
        "workload: [{marginals: {ways: 1}}]\n"
    )
    rows, usual = len(USUAL_WORDS) + 3, len(USUAL_WORDS) - 1  # "nan" is a number, and missing
    table = {"age": [*USUAL_WORDS, "5", "secret", "unknown"], "sex": [*["F"] * (rows - 1), " ."]}
    with pytest.raises(DataError) as caught:
        mmopt.release(table, parse_request(file), {"rho": 1.0}, simulate=1)
    message = str(caught.value)
    assert (
        f"column 'age' (attribute 'age'): {rows - 2} outside the declared domain (of them 2 texts that are "
        f"no number, {usual} texts that are a usual word for missing, such as NA or -), 1 missing (NULL"
    ) in message
    assert (
        "column 'sex' (attribute 'sex'): 1 outside the declared domain (of them 1 text that is a" in message
    )
    assert "secret" not in message and "unknown" not in message
    line = message.rpartition("\n")[2].strip()
    assert line == f"data: {{{null_key(USUAL_WORDS)}}}"
    mended = parse_request(f"{file}{line}\n")
    with pytest.raises(DataError) as caught:
        mmopt.release(table, mended, {"rho": 1.0}, simulate=1)
    assert f"2 texts that are no number), {len(USUAL_WORDS)} missing" in str(caught.value)
    assert "list it under null" in str(caught.value)


def test_a_file_and_a_call_say_the_same(tmp_path: Path) -> None:
    file = "domain: {a: {values: [x, y], missing: {cell: none}}}\nworkload: [{marginal: [a]}]\n"
    line = "data: {null: [NA, -9, null, '.', ~], spelling: loose}\n"
    request = parse_request(file + line)
    assert request.table.null == ("NA", "-9", "null", ".", "~") and request.table.spelling == "loose"
    pq.write_table(pa.table({"a": ["X", "y", "-9", "null", "."]}), "t.parquet")
    said = mmopt.release("t.parquet", request, {"rho": 1e4}, simulate=1)
    given = mmopt.release(
        "t.parquet",
        parse_request(file),
        {"rho": 1e4},
        simulate=1,
        null=list(request.table.null),
        spelling="loose",
    )
    assert list(said.answers["estimate"]) == list(given.answers["estimate"])
    assert [round(one) for one in said.answers["estimate"]] == [1, 1, 3]
    for options, words in (
        ({"null": "NA"}, "null is not a list of texts"),
        ({"null": [-9]}, "null is not a list of texts"),
        ({"spelling": "lose"}, "spelling is 'lose', not one of exact, loose"),
    ):
        with pytest.raises(DataError, match=words):
            data_vector({"a": ["x"]}, Domain.of(a=["x"]), **options)


BINS = {
    "age": {"bins": [0, 50, "open"], **TO_CELLS},
    "income": {"bins": ["open", 1000, "open"], **TO_CELLS},
    "day": {"bins": ["open", "2020-01-01", "open"], **TO_CELLS},
    "listed": {"values": [99, 5], **TO_CELLS},
}
IN_BINS: dict[str, list[str | None]] = {
    "age": ["99", "998.0", "50", " 49 "],
    "income": ["-9", "-8", "99", "-9.5"],
    "day": ["9999-12-31", "9999-12-31 00:00:00", "9999-12-30", "1900-01-01"],
    "listed": ["99", "5", "-9", "6"],
}
NULL_IN_BINS = ["99", "998", "-9", "-8", "9999-12-31", "2020-02-30"]


@pytest.mark.parametrize("kind", TABLES)
def test_a_word_that_is_a_number_or_a_day_is_missing_within_bins_and_a_listed_value_is_not(kind: str) -> None:
    right = {"age": [1, 1, 0, 2], "income": [1, 0, 0, 3], "day": [1, 1, 0, 2], "listed": [1, 1, 1, 1]}
    assert counted_columns(TABLES[kind](IN_BINS), Domain.of(BINS), null=NULL_IN_BINS) == right


def test_typed_columns_have_words_within_bins() -> None:
    day = datetime.datetime
    stamps = [day(9999, 12, 31), day(9999, 12, 31, 10), day(1900, 1, 1), day(2020, 1, 1)]
    table = parquet(
        age=pa.array([99, 998, 50, None]),
        income=pa.array([-9.0, -8.5, 99.0, float("nan")]),
        day=pa.array(stamps, pa.timestamp("us")),
        listed=pa.array([99, 5, -9, 6]),
    )
    right = {"age": [0, 1, 0, 3], "income": [1, 0, 0, 3], "day": [1, 1, 0, 2], "listed": [1, 1, 1, 1]}
    null = ["99", "998", "-9", "9999-12-31"]
    assert counted_columns(table, Domain.of(BINS), null=null) == right


#: By each of ``CONVENTIONS``: texts and what each is here; and texts that are none of it.
WAYS: dict[str, tuple[dict[str, str], list[str]]] = {
    "decimal comma": (
        {
            "12,5": "12.5",
            "1.500": "1500",
            " -1.234.567,25 ": "-1234567.25",
            "7": "7",
            "0,125": "0.125",
        }
        | {"1e3": "1000", "9.007.199.254.740.993": "9007199254740993"},
        [
            "1,234,567",
            "1.50,0",
            "1 000",
            "x",
            "1,2,3",
            "2.5",
            "12.75",
            "0.125",
            "1234.500",
            " .5 ",
            "1.5e3",
            "1.",
            "e5",
            ",",
            "+",
        ],
    ),
    "thousands apostrophes": (
        {"1'500": "1500", "+1’234'567.25": "1234567.25", "7.5": "7.5", "12": "12"},
        ["1'5", "0'125", "1'2345", "1,5", "'1500", "1'500,5", "x"],
    ),
    "thousands commas": (
        {"1,500": "1500", "+1,234,567.25": "1234567.25", "7.5": "7.5", "12": "12"},
        ["1,5", "0,125", "1,2345", "1.234,5", "x"],
    ),
    "DD.MM.YYYY": (
        {"30.11.2020": "2020-11-30", " 1.2.2020 ": "2020-02-01", "05.06.2020 9:30": "2020-06-05"}
        | {"2020-03-04": "2020-03-04"},
        ["11.30.2020", "31.2.2020", "30/11/2020", "1.2.20", "30.11.2020 x"],
    ),
    "DD/MM/YYYY": (
        {"30/11/2020": "2020-11-30", "1/2/2020": "2020-02-01", "05/06/2020 09:30:10 PM": "2020-06-05"},
        ["11/30/2020", "30.11.2020", "1/2/20"],
    ),
    "MM/DD/YYYY": (
        {"11/30/2020": "2020-11-30", "1/2/2020": "2020-01-02", "05/06/2020 09:30:10 PM": "2020-05-06"},
        ["30/11/2020", "11.30.2020", "0/1/2020"],
    ),
}


def with_a_cell_for_each(way: str) -> Domain:
    """A domain with a cell for each value of ``WAYS``, and one for what is outside."""
    meant = [*WAYS[way][0].values()]
    outside = {"outside": {"cell": "outside"}}
    if CONVENTIONS[way][0] == "numbers":
        return Domain.of(a={"values": [float(one) if "." in one else int(one) for one in meant], **outside})
    days = {datetime.date.fromisoformat(one) for one in meant}
    return Domain.of(
        a={"bins": sorted(map(str, days | {d + datetime.timedelta(1) for d in days})), **outside}
    )


def test_the_file_takes_each_convention() -> None:
    rules = {*SPELLING_RULES} - {"exact", "loose"}
    assert rules == {*CONVENTIONS} - {"decimal point"} == {*WAYS}


@pytest.mark.parametrize("way", WAYS)
def test_numbers_and_days_of_a_convention_are_what_they_mean_and_others_are_unreadable(way: str) -> None:
    texts, wrong = WAYS[way]
    over = with_a_cell_for_each(way)
    right = data_vector({"a": [*texts.values(), *["none"] * len(wrong)]}, over).counts.tolist()
    assert right[-1] == len(wrong) and sum(right) == len(texts) + len(wrong)
    for kind in ("csv", "sqlite", "pandas", "ibis"):
        table = TABLES[kind]({"a": [*texts, *wrong]})
        assert data_vector(table, over, spelling=way).counts.tolist() == right, kind


@pytest.mark.parametrize("way", WAYS)
def test_a_convention_is_counted_by_kind_and_the_line_that_reads_it_works(way: str) -> None:
    form = "[open, 0, open]" if CONVENTIONS[way][0] == "numbers" else "[open, 2020-01-01, open]"
    texts = [text for text in WAYS[way][0] if text.strip()[-1] != "M" and CONVENTIONS[way][2]]
    texts = [text for text in texts if re.search(CONVENTIONS[way][2], text.strip()) and not readable(text)]
    if way == "DD/MM/YYYY":
        texts = [text for text in texts if int(text.strip()[:2].strip("/")) > 12]
    file = f"domain: {{a: {{bins: {form}}}}}\nworkload: [{{marginal: [a]}}]\n"
    with pytest.raises(DataError) as caught:
        data_vector({"a": texts}, parse_request(file).workload.domain, null=["-9", "k. A."])
    message = str(caught.value)
    number = "1 text that is" if len(texts) == 1 else f"{len(texts)} texts that are"
    assert f"(of them {number} {CONVENTIONS[way][1]})" in message or way == "decimal comma"
    assert CONVENTIONS[way][1] in message and not any(text.strip() in message for text in texts)
    line = message.rpartition("\n")[2].strip()
    assert line == f'data: {{null: ["-9", "k. A."], spelling: {way}}}'  # what data has already is kept
    mended = parse_request(f"{file}{line}\n")
    assert data_vector({"a": texts}, mended.workload.domain, spelling=mended.table.spelling).counts.sum()


def readable(text: str) -> bool:
    """Whether a text is a number or a day already."""
    return bool(re.fullmatch(r"\s*[+-]?[0-9]+(\.[0-9]+)?(e[0-9]+)?\s*|[0-9]{4}-.*", text))


def test_weights_are_of_the_convention() -> None:
    table = {"a": ["x", "x"], "n": ["1.000", "2,0"]}
    assert data_vector(table, Domain.of(a=["x"]), weight="n", spelling="decimal comma").counts.tolist() == [
        1002
    ]


def test_a_comma_before_three_digits_and_a_day_up_to_twelve_are_asked_about() -> None:
    numbers, days = Domain.of(a={"bins": [0, 10]}), Domain.of(a={"bins": ["2020-01-01", "2021-01-01"]})
    for rows, over, question, rule in (
        (["1,234"], numbers, "between 1 and 2? then write 'decimal comma'", "thousands commas"),
        (["1,234", "1,5"], numbers, "", "decimal comma"),
        (["01/02/2020"], days, "in February? then write DD/MM/YYYY", "MM/DD/YYYY"),
        (["01/02/2020", "13/02/2020"], days, "", "DD/MM/YYYY"),
    ):
        with pytest.raises(DataError) as caught:
            data_vector({"a": rows}, over)
        message = str(caught.value)
        assert question in message and ("then write" in message) == bool(question)
        assert message.endswith(f"data: {{spelling: {rule}}}")


def test_a_point_is_refused_where_points_are_at_thousands() -> None:
    over = Domain.of(a={"column": "Gewicht", "bins": [0, 50, 100, "open"]})
    rows = ["3.125", "12.75", "80.250", "2,5"]
    with pytest.raises(DataError) as caught:
        data_vector({"Gewicht": rows}, over, spelling="decimal comma")
    message = str(caught.value)
    assert "(of them 1 text that is a number with a decimal point)" in message and "data:" not in message
    assert message.endswith("name another, or write all numbers (or days) in one way first")
    mended = {"Gewicht": [row.replace(",", ".") for row in rows]}
    assert data_vector(mended, over).counts.tolist() == [3, 1, 0]


def test_a_day_that_no_month_has_is_of_no_convention() -> None:
    over = Domain.of(a={"bins": ["2020-01-01", "open"]})
    for spelling in ("exact", "DD.MM.YYYY"):
        with pytest.raises(DataError) as caught:
            data_vector({"a": ["2023-02-28", "31.02.2023"]}, over, spelling=spelling)
        assert "(of them 1 text that is no date)" in str(caught.value)
        assert str(caught.value).endswith("data: {null: [NA]}" if spelling == "exact" else f"{spelling}}}")


def test_most_rows_are_not_left_out_for_how_they_are_written() -> None:
    over = Domain.of(a={"bins": [0, 5000, "open"]})
    for rows, way in ((["6'306.73", "6’306.73", "3"], "thousands apostrophes"), (["50%", "7%", "3"], "")):
        with pytest.raises(DataError) as caught:
            data_vector({"a": rows}, over)
        message = str(caught.value)
        assert "outside: drop" not in message and "mend how 'a' is written or read" in message
        assert f"data: {{spelling: {way}}}" in message if way else "marks, such as % and €, out" in message
        mended = rows if way else [row.replace("%", "") for row in rows]
        counts = data_vector({"a": mended}, over, spelling=way or "exact").counts
        assert counts.tolist() == ([1, 2] if way else [3, 0])
        with pytest.raises(DataError, match="outside: drop"):
            data_vector({"a": [*rows, *"3333"]}, over)


def test_a_header_among_the_rows_is_named_and_the_line_that_leaves_it_out_works() -> None:
    over = Domain.of(sex=["F", "M"], age={"bins": [0, 18, "open"]}, day={"bins": ["2020-01-01", "open"]})
    file = text("old.csv", "sex,age,day\nF,3,2020-01-01\nsex,age,day\nM,40,2020-05-05\n")
    with pytest.raises(DataError) as caught:
        data_vector(file, over)
    message = str(caught.value)
    said = (
        "1 outside the declared domain (of them 1 text that is the name of the column, as in a header among"
    )
    assert message.count(said) == 3 and "null" not in message
    subprocess.run(message.rpartition("\n")[2].strip(), shell=True, check=True)
    assert data_vector("new.csv", over).counts.sum() == 2


def test_spellings_that_exclude_each_other_are_refused() -> None:
    file = "domain: {a: {values: [x]}}\nworkload: [{marginal: [a]}]\n"
    assert (
        parse_request(f"{file}data: {{spelling: [loose, decimal comma]}}").table.spelling
        == "loose, decimal comma"
    )
    for rules in ("DD/MM/YYYY, MM/DD/YYYY", "decimal comma, thousands commas", "exact, loose"):
        first, second = rules.split(", ")
        words = f"spelling is both '{first}' and '{second}', of which one holds"
        with pytest.raises(DataError, match=words):
            data_vector({"a": ["x"]}, Domain.of(a=["x"]), spelling=rules)
        with pytest.raises(WorkloadError, match=words):
            parse_request(f"{file}data: {{spelling: [{rules}]}}")
