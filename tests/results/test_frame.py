"""Columns out, as each library of data frames takes them."""

import csv
import importlib.util
import io

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from mmopt.errors import OptionError
from mmopt.results import Frame

DAYS = np.array(["2020-01-01", "NaT", "0001-12-31"], dtype="datetime64[D]")
FRAME = Frame(
    {
        "text": np.array(["a", None, 'q",\n<b>'], dtype=object),
        "number": np.array([0.1, np.nan, -3.0]),
        "day": DAYS,
        "flag": np.array([True, False, True]),
        "count": np.array([1, 2, 2**60]),
    },
    {"confidence": "0.95", "warning": "<SIMULATED>"},
)
ROWS = [
    ("a", 0.1, DAYS[0].item(), True, 1),
    (None, None, None, False, 2),
    ('q",\n<b>', -3.0, DAYS[2].item(), True, 2**60),
]


def test_every_library_gets_the_same_rows(subtests):
    for name, taken in {
        "arrow": Frame.to_arrow,
        "stream": pyarrow.table,
        "polars": lambda frame: polars.DataFrame(frame).to_arrow(),
        "to_polars": lambda frame: frame.to_polars().to_arrow(),
        "pandas": lambda frame: pyarrow.table(pandas.DataFrame.from_arrow(frame)),
        "parquet": lambda frame: parquet.read_table(pyarrow.BufferReader(frame.to_parquet())),
        "duckdb": lambda frame: duckdb.sql("from frame").to_arrow_table(),
    }.items():
        with subtests.test(name):
            table = taken(FRAME)
            assert table.column_names == list(FRAME.names)
            assert [tuple(row.values()) for row in table.to_pylist()] == ROWS


def test_pandas_columns_are_typed():
    frame = FRAME.to_pandas()
    assert [dtype.kind for dtype in frame.dtypes[1:]] == ["f", "M", "b", "i"]
    assert frame["text"].isna().tolist() == frame["day"].isna().tolist() == [False, True, False]
    assert frame.attrs == {"confidence": "0.95", "warning": "<SIMULATED>"}
    frame.loc[0, "number"] = 5.0
    assert FRAME["number"][0] == 0.1


def test_numbers_come_back_from_text(rng):
    numbers = np.ldexp(rng.normal(size=200), rng.integers(-80, 80, size=200))
    text = Frame({"x": numbers, "whole": np.rint(numbers)}).to_csv()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["x"]) for row in rows] == numbers.tolist()
    assert [float(row["whole"]) for row in rows] == np.rint(numbers).tolist()


def test_the_text_of_each_kind():
    assert FRAME.to_csv() == (
        'text,number,day,flag,count\na,0.1,2020-01-01,true,1\n,,,false,2\n"q"",\n<b>",-3,0001-12-31,true,'
        "1152921504606846976\n"
    )


def test_metadata_are_in_the_parquet_file():
    said = parquet.read_schema(pyarrow.BufferReader(FRAME.to_parquet())).metadata
    assert said[b"confidence"] == b"0.95" and said[b"warning"] == b"<SIMULATED>"


def test_shown_in_a_line_and_in_a_notebook():
    assert repr(FRAME) == "Frame(3 rows: text, number, day, flag, count; <SIMULATED>)"
    shown = FRAME._repr_html_()
    assert '<p class="loud">&lt;SIMULATED&gt;</p>\n<table>' in shown
    assert "<b>" not in shown and "&lt;b&gt;" in shown and shown.count("<tr>") == 4
    long = Frame({"x": np.arange(1234)})
    assert repr(long) == "Frame(1,234 rows: x)" and len(long) == 1234
    assert long._repr_html_().endswith("<p>… 1,224 more rows</p>\n</article>")


def test_columns_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        FRAME["number"][0] = 1.0


def test_a_library_that_is_missing_is_named(subtests, monkeypatch):
    for library in ["pandas", "polars"]:
        with subtests.test(library):
            monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
            with pytest.raises(OptionError) as caught:
                getattr(FRAME, f"to_{library}")()
            assert str(caught.value) == (
                f"a {library} frame needs {library}, which is not installed\n  pip install {library}"
            )


def test_bad_columns_are_refused():
    with pytest.raises(OptionError) as caught:
        Frame({"a": np.zeros(2), "b": np.zeros(3)})
    assert str(caught.value) == (
        "a frame has columns of the shapes [(2,), (3,)], expected vectors of one length"
    )
    with pytest.raises(OptionError) as caught:
        FRAME["numbr"]
    assert str(caught.value) == "there is no column 'numbr'\n  did you mean 'number'?"
