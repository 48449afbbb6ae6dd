"""Frames and dictionaries that are no tables, and columns that are not read.

Guards open_table.py.
"""

import datetime
import itertools
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mmopt.data import check_columns, data_vector
from mmopt.workloads import Attribute, Domain, Product, Workload
from mmopt.workloads.blocks.range_blocks import Total
from tests.data.tables import bins, first_counts, refusal, values

ONE = Domain((values("a", 1, 2, missing="drop"),))
TOTAL = Workload.from_products(Domain((Attribute("a", ("1", "2")),)), [Product((Total(2),))])
FRAME, DICTIONARY = "the data frame", "the dictionary of columns"
CONVERT = "\n  convert it first, for instance to text"
DUPLICATE = (
    f"{FRAME}: column 'a' appears in the header 2 times, not once\n"
    "  rename the others, or name another column with 'column:' in the workload file"
)


class Interchange:
    """A frame that has the older protocol only."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __dataframe__(self, *_: object, **__: object) -> Any:
        return self.frame.__dataframe__()


def test_a_frame_with_the_older_protocol_only() -> None:
    for frame in (pa.table({"b": ["x"], "a": [2]}), pd.DataFrame({"b": ["x"], "a": [2]})):
        assert data_vector(Interchange(frame), ONE).counts.tolist() == [0, 1]


def test_columns_that_are_not_read_do_no_harm() -> None:
    mixed = [1, "x", object()]
    frame = pd.DataFrame({"a": [1, 2, None], "mixed": mixed, "twice": mixed})
    frame.columns = pd.Index(["a", "mixed", "mixed"])
    wide = pl.DataFrame({"a": [1, 2, None], "large": pl.Series([2**100, 0, 0], dtype=pl.Int128)})
    for data in (frame, wide, {"a": [1, 2, None], "mixed": mixed}):
        found = data_vector(data, ONE)
        assert found.counts.tolist() == [1, 1] and found.dropped["a"] == 1


def test_a_table_of_which_no_column_is_read_has_its_rows() -> None:
    table = pa.table({"b": ["x", "y", "z"]})
    sources = (
        table,
        table.to_reader(),
        Interchange(table),
        table.to_pandas(),
        pd.DataFrame(index=range(3)),
        pl.from_arrow(table),
        duckdb.connect().from_arrow(table),
        ibis.memtable(table),
        {"b": ["x", "y", object()]},
    )
    for data in sources:
        found = data_vector(data, TOTAL.domain, workload=TOTAL)
        assert found.counts.tolist() == [3, 0] and found.rows == 3 and dict(found.dropped) == {"a": 0}
    assert data_vector({}, TOTAL.domain, workload=TOTAL).rows == 0


def test_checking_the_columns_does_not_use_up_a_reader() -> None:
    reader = pa.table({"a": [1, 2, 2]}).to_reader()
    check_columns(reader, ONE)
    assert data_vector(reader, ONE).counts.tolist() == [1, 2]
    assert refusal(reader) == (
        "the reader has no batches: it is empty, or was read before\n  pass the table, or a new reader"
    )


def test_columns_of_many_kinds(subtests: pytest.Subtests) -> None:
    kinds: list[tuple[Any, list[int]]] = [
        (pd.array([1, None, 2], dtype="Int8"), [1, 1]),
        (pd.Series([1.0, float("nan"), 2.0]), [1, 1]),
        (pd.Series([1, np.nan, 2], dtype=object), [1, 1]),
        (pd.Categorical([1, None, 2]), [1, 1]),
        (pd.array([1, None, 2], dtype="int64[pyarrow]"), [1, 1]),
        (pl.Series([1, None, 2]), [1, 1]),
        (np.ma.array([1, 9, 2], mask=[False, True, False]), [1, 1]),
        (np.array([1, np.nan, 2], np.float16), [1, 1]),
        (np.array(["1", "2", "2"]), [1, 2]),
        ((1, 2, 2), [1, 2]),
        (range(1, 4), [1, 1]),
    ]
    columns = {f"c{i}": column for i, (column, _) in enumerate(kinds)}
    for data in (columns, pd.DataFrame(columns)):
        found = first_counts(data, [(1, 2)] * len(kinds))
        for own, (column, expected) in zip(found, kinds, strict=True):
            with subtests.test(repr(column)):
                assert own == expected


def test_whole_numbers_beyond_64_bits() -> None:
    large = Domain((values("a", 2**70, 2**70 + 1),))
    assert data_vector({"a": [2**70, 2**70 + 1, 2**70 + 1]}, large).counts.tolist() == [1, 2]


def test_columns_of_several_types() -> None:
    said = "column 'a' holds values of several types, or of one that Arrow does not have" + CONVERT
    for column in ([1, "secret", 2.5], [True, "secret"], [[1], "secret"], [1, object()]):
        assert refusal({"a": column}, ONE) == f"{DICTIONARY}: {said}"
        of_pandas = said.replace(CONVERT, "\n  convert it first: data['a'].astype('string') is text; ")
        of_pandas += "spelling='loose' then takes 3.0 for 3"
        assert refusal(pd.DataFrame({"b": column, "a": column}), ONE) == f"{FRAME}: {of_pandas}"


def test_times_with_and_without_a_time_zone_are_refused_in_any_order() -> None:
    """Arrow turns those with one to UTC where the first has none, and days to days of their own zone."""
    naive, nine = datetime.datetime(2020, 1, 1, 12), datetime.timezone(datetime.timedelta(hours=9))
    aware = datetime.datetime(2020, 1, 1, 0, 30, tzinfo=nine)
    one = Domain.of(a={"bins": ["2019-12-31", "2020-01-01", "2020-01-02"], "missing": "drop"})
    for first in (naive, naive.date(), pd.Timestamp(naive)):
        for column in itertools.permutations([first, aware, None]):
            boxed = pd.Series(column, dtype=object)
            for data in (
                {"a": list(column)},
                {"a": boxed},
                {"a": boxed.astype("category")},
                {"a": boxed.to_numpy()},
                pd.DataFrame({"a": boxed}),
            ):
                said = refusal(data, one)
                assert "depends on the time zone" in said or "of several types" in said
    assert refusal({"a": [naive, aware]}, one) == (
        f"{DICTIONARY}: column 'a' holds some times with a time zone and some without\n"
        "  its day depends on the time zone: convert it first"
    )
    assert data_vector({"a": [naive, None]}, one).counts.tolist() == [0, 1]


def test_multiples_of_a_unit_are_refused() -> None:
    """Arrow knows only their unit."""
    one = Domain.of(a={"range": ["1970-01-01", "2030-01-01"], "width": "year"})
    for unit in ("25s", "7D", "2ns"):
        column = np.array(["2019-12-20", "2020-01-01"], "datetime64[ns]").astype(f"datetime64[{unit}]")
        boxed = np.empty(2, object)
        boxed[:] = list(column)
        for given in (column, list(column), boxed) if unit != "7D" else (column,):
            assert refusal({"a": given}, one) == (
                f"{DICTIONARY}: column 'a' is of type datetime64[{unit}], which Arrow does not have\n"
                "  convert it first: column.astype('datetime64[s]')"
            )


def test_types_that_arrow_does_not_have_or_that_mean_something_else() -> None:
    wide = pl.DataFrame({"a": pl.Series([2**100], dtype=pl.Int128)})
    assert refusal(wide) == (
        f"{FRAME}: column 'a' holds values of several types, or of one that Arrow does not have{CONVERT}"
    )
    # Its storage is the number of months since 1970.
    months = pd.DataFrame({"a": pd.period_range("1970-02", periods=2, freq="M")})
    assert refusal(months, bins("a", 0, 9)) == (
        f"{FRAME}: column 'a' is of type extension<pandas.period<ArrowPeriodType>>, which is not read"
        + CONVERT
    )


def test_duplicate_names() -> None:
    assert refusal(pd.DataFrame([[1, 2]], columns=["a", "a"])) == DUPLICATE
    assert refusal(pa.table([[1], [2]], names=["a", "a"])) == DUPLICATE
    assert refusal(duckdb.connect().sql("SELECT 1 AS a, 2 AS a")) == DUPLICATE
    differ = duckdb.connect().sql("SELECT 1 AS a, 2 AS A, 3 AS A")
    assert data_vector(differ, ONE).counts.tolist() == [1, 0]


def test_an_index_is_no_column() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [1, 2]}).set_index("a")
    assert refusal(frame) == (
        f"{FRAME}: no column 'a' (attribute 'a')\n"
        "  'a' is a name of the frame's index, which is not a column: pass data.reset_index()\n"
        "  the table has: b"
    )
    assert data_vector(frame.reset_index(), ONE).counts.tolist() == [1, 1]
    named = pd.DataFrame({"a": [1, 2]}, index=pd.Index([9, 9], name="a"))
    assert data_vector(named, ONE).counts.tolist() == [1, 1]


def test_a_frames_names_need_not_be_texts() -> None:
    assert data_vector(pd.DataFrame({"a": [1], 0: [2]}), ONE).counts.tolist() == [1, 0]
    zero = Domain((values("0", 1, 2),))
    assert data_vector(pd.DataFrame({"a": [1], 0: [2]}), zero).counts.tolist() == [0, 1]


def test_what_is_no_table_of_columns() -> None:
    for data in (pd.Series([1], name="a"), pl.Series("a", [1]), pa.chunked_array([[1]])):
        assert refusal(data) == (
            f"a {type(data).__name__} is not a table of named columns\n"
            "  pass a data frame, or a dictionary of columns: {'age': …}"
        )
    assert refusal(pl.LazyFrame({"a": [1]})).endswith("\n  collect the lazy frame first: data.collect()")


def test_dictionaries_that_are_no_tables(subtests: pytest.Subtests) -> None:
    for data, said in [
        ({1: [1]}, "has a key of type int, expected a column's name"),
        ({"a": "12"}, "column 'a' is of type str, expected a list or an array"),
        ({"a": 5}, "column 'a' is of type int, expected a list or an array"),
        ({"a": [1], "b": [1, 2]}, "column 'a' has 1 value, column 'b' 2 (confidential, do not publish)"),
        ({"a": np.array(5)}, "column 'a' is of type ndarray, expected a list or an array"),
        ({"a": iter([1])}, "column 'a' is of type list_iterator, expected a list or an array"),
    ]:
        with subtests.test(said):
            assert refusal(data).startswith(DICTIONARY) and refusal(data).endswith(said)


def test_options_that_are_for_files() -> None:
    assert refusal({"a": [1]}, table="people") == (
        "table is 'people', which is for files, and the data is a dict\n  leave table out"
    )
    assert refusal({"a": [1]}, delimiter=";") == (
        "delimiter is ';', which is for files, and the data is a dict\n  leave delimiter out"
    )
    for option in ("table", "weight", "delimiter"):
        assert refusal({"a": [1]}, **{option: 1}) == f"{option} is of type int, expected a text or None"


def test_a_workload_over_another_domain() -> None:
    assert refusal({"a": [1]}, workload=TOTAL) == (
        "the workload says which columns are read, and is not over this domain\n"
        "  give the domain of that workload: workload.domain, workload=workload"
    )


def test_rows_that_fail_keep_to_themselves() -> None:
    failing = "SELECT ('secret' || range)::INTEGER AS a FROM range(3)"
    words = refusal(duckdb.connect().sql(failing))
    assert words.startswith(f"{FRAME}: the engine stopped (ConversionException): a value cannot be computed")


def test_an_ibis_table_without_a_backend() -> None:
    assert refusal(ibis.table({"a": "int64"}, name="t")).startswith(
        "the Ibis table cannot be computed: Expression contains unbound tables"
    )


def test_an_ibis_expression_is_computed_where_it_lives() -> None:
    over = ibis.memtable(pa.table({"x": [0, 1, 1, 5]})).mutate(a=ibis._.x + 1).filter(ibis._.a < 3)
    assert data_vector(over, ONE).counts.tolist() == [1, 2]
    assert data_vector(over, ONE, weight="x").counts.tolist() == [0, 2]
    assert refusal(over.select("x")) == ("the Ibis table: no column 'a' (attribute 'a')\n  the table has: x")


def test_a_backend_computes_it_or_is_said_to_lack_something() -> None:
    frame = pl.DataFrame({"a": [1, 2, 2, None], "n": [1, 2, 3, 4]})
    table = ibis.polars.connect({"t": frame}).table("t")
    assert data_vector(table, ONE, weight="n").counts.tolist() == [1, 5]
    words = ibis.polars.connect({"t": pl.DataFrame({"a": ["1", "2", " ", "NA"]})}).table("t")
    assert data_vector(words, Domain.of(a={"values": ["1", "2"], "missing": "drop"}), null=["NA"]).rows == 4
    floats = ibis.sqlite.connect().create_table("t", frame.with_columns(a=pl.col("a").cast(pl.Float64)))
    assert refusal(floats) == (
        "the Ibis table: its backend, sqlite, lacks an operation that the count needs\n"
        "  read it into memory first: data.to_pyarrow()"
    )
