"""Columns for a draft: names and types alone; of public tables forms that hold every row.

Guards draft_workload.py.
"""

import datetime
import gzip
import sqlite3
from pathlib import Path

import duckdb
import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from mmopt.data import data_vector, public_forms, schema_columns
from mmopt.data.draft_workload import Draft, mapping_text
from mmopt.errors import DataError
from mmopt.request import parse_request

TYPED = {
    "sex": "values",
    "age": "numbers",
    "pay": "numbers",
    "born": "dates",
    "in": "truth",
    "raw": "unknown",
}


def table(rng: np.random.Generator, n: int = 60) -> pyarrow.Table:
    days = [datetime.date(1990, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 9000, n)]
    return pyarrow.table(
        {
            "sex": pyarrow.array(rng.choice(["F", "M", "01"], n).tolist()),
            "age": rng.integers(0, 100, n),
            "pay": rng.normal(size=n) * 10.0 ** rng.integers(-3, 6),
            "born": days,
            "in": pyarrow.array((rng.random(n) < 0.5).tolist()),
            "raw": [b"x"] * n,
        }
    )


def write_all(rows: pyarrow.Table) -> None:
    parquet.write_table(rows, "t.parquet")
    Path("t.duckdb").unlink(missing_ok=True)
    with duckdb.connect("t.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM 't.parquet'")
        connection.execute("COPY (SELECT * EXCLUDE raw FROM t) TO 't.csv'")
    Path("t.csv.gz").write_bytes(gzip.compress(Path("t.csv").read_bytes()))
    Path("t.sqlite").unlink(missing_ok=True)
    with sqlite3.connect("t.sqlite") as database:
        database.execute("CREATE TABLE t (sex TEXT, age INTEGER)")
        pairs = zip(rows["sex"].to_pylist(), rows["age"].to_pylist(), strict=True)
        database.executemany("INSERT INTO t VALUES (?, ?)", pairs)


def test_kinds_are_those_of_types_and_no_row_changes_them(rng: np.random.Generator) -> None:
    for n in (1, 60):
        write_all(table(rng, n))
        assert schema_columns(Path("t.parquet"))[0] == schema_columns(Path("t.duckdb"))[0] == TYPED
        named = {name: "unknown" for name in TYPED if name != "raw"}
        assert schema_columns(Path("t.csv"))[0] == schema_columns(Path("t.csv.gz"))[0] == named
        assert schema_columns(Path("t.sqlite"), "t")[0] == {"sex": "unknown", "age": "unknown"}


def test_of_text_only_the_first_line_is_read() -> None:
    Path("t.csv").write_bytes(b'sex,age,,sex,a b,t\tb\n"not closed \xff')
    assert schema_columns(Path("t.csv"))[0] == {"age": "unknown", "a b": "unknown"}
    # A name that no file can have is left out.
    Path("t.csv").write_text(f"age,<<,{'k' * 151},{'ü' * 150}\n")
    assert list(schema_columns(Path("t.csv"))[0]) == ["age", "ü" * 150]


def test_public_forms_hold_every_row(rng: np.random.Generator) -> None:
    write_all(table(rng))
    for name in ("t.parquet", "t.duckdb", "t.csv", "t.sqlite"):
        kinds = {key: kind for key, kind in schema_columns(Path(name))[0].items() if key != "raw"}
        forms = public_forms(Path(name), kinds)
        assert set(forms) == set(kinds)
        draft = Draft(
            "t", tuple((key, mapping_text(form), "") for key, form in forms.items()), is_public=True
        )
        asked = parse_request(draft.text()).workload
        assert data_vector(name, asked.domain, workload=asked).rows == 60  # none is refused


def test_public_forms_of_what_is_rare() -> None:
    parquet.write_table(
        pyarrow.table(
            {
                "gaps": pyarrow.array(["a", None]),
                "empty": pyarrow.array([None, None], pyarrow.string()),
                "far": [float("inf"), 1.0],
                "same": [0.25, 0.25],
            }
        ),
        "t.parquet",
    )
    Path("t.csv").write_text("code\n01\n7\n", encoding="utf-8")
    assert public_forms(Path("t.csv"), {"code": "unknown"}) == {"code": {"values": ["01", "7"]}}
    Path("t.csv").write_text("code\n10\n7\n", encoding="utf-8")
    assert public_forms(Path("t.csv"), {"code": "unknown"}) == {"code": {"values": [7, 10]}}
    for texts, listed in (
        (["10.5", "2.50", "-0.5", "6", "NA"], [-0.5, 2.5, 6, 10.5]),
        (["1.0", "1", "10", "9"], ["1", "1.0", "9", "10"]),  # texts that a number would not tell apart
        (["10-19", "5-9", "0-4", "85+"], ["0-4", "5-9", "10-19", "85+"]),
    ):
        Path("t.csv").write_text("\n".join(["code", *texts]) + "\n", encoding="utf-8")
        (form,) = public_forms(Path("t.csv"), {"code": "unknown"}).values()
        assert form["values"] == listed
    Path("t.csv").write_text(
        "n,day,word\n10,2020-01-01,a\nNA,-,NA\n 7,2021-01-01,\n.,., \n", encoding="utf-8"
    )
    rows = "\n".join(f"{i}.5,2020-01-{1 + i % 28:02d},a" for i in range(30))
    Path("u.csv").write_text(f"n,day,word\n{rows}\nNA,-,NA\n.,.,.\n", encoding="utf-8")
    words = {"missing": {"cell": "missing"}}
    assert public_forms(Path("u.csv"), dict.fromkeys(("n", "day", "word"), "unknown")) == {
        "n": {"range": [0, 30], "width": 2, **words},
        "day": {"range": ["2020-01-01", "2021-01-01"], "width": "month", **words},
        "word": {"values": [".", "NA", "a"]},
    }
    assert public_forms(Path("t.csv"), {"word": "unknown"}) == {"word": {"values": ["NA", "a"], **words}}
    parquet.write_table(pyarrow.table({"texts": [f"text {i}" for i in range(21)]}), "many.parquet")
    forms = public_forms(Path("t.parquet"), schema_columns(Path("t.parquet"))[0])
    assert forms == {
        "gaps": {"values": ["a"], "missing": {"cell": "missing"}},
        "same": {"range": [0.25, 0.3], "width": 0.05},
    }
    assert public_forms(Path("many.parquet"), {"texts": "values"}) == {}
    days = [datetime.date(2000, 1, 1) + datetime.timedelta(days=day) for day in range(30)]
    for last, found in (
        (9998, {"end": {"range": ["2000-01-01", "9999-01-01"], "width": "year"}}),
        (9999, {}),
    ):
        ends = [*days, datetime.date(last, 12, 31)]  # what stands for "never": no range that ends holds 9999
        parquet.write_table(pyarrow.table({"end": ends}), "ends.parquet")
        assert public_forms(Path("ends.parquet"), {"end": "dates"}) == found


def test_what_is_refused() -> None:
    def refused() -> str:
        with pytest.raises(DataError) as caught:
            schema_columns(Path("t.csv"))
        return str(caught.value)

    Path("t.csv").write_text(",".join(f"c{i}" for i in range(1001)))
    assert refused() == (
        "t.csv: 1,001 columns, and a draft has at most 1,000\n"
        "  write the workload file for the columns that queries are about"
    )
    Path("t.csv").write_text("a,a\n1,2\n")
    assert refused() == "t.csv: no column has a name of its own"
    Path("t.csv").write_text("a" * 2_000_001)
    assert refused() == "t.csv:1:1: the first line is longer than 2,000,000 bytes; expected column names"
