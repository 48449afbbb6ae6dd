"""Counts, rules and type traps of ``mmopt.data.counts``.

Guards counted_rows.py, cell_codes.py, counts.py.
"""

import math
import os
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmopt.data import data_vector
from mmopt.errors import DataError
from mmopt.workloads import Attribute, Domain
from tests.data.tables import bins, counts, first_counts, parquet, text, values


@pytest.mark.quick
def test_counts_in_the_domains_order_of_cells() -> None:
    file = text("t.csv", "sex,age\nF,0\nM,17\nM,18\nM,64\nF,64\n")
    domain = Domain((values("sex", "F", "M"), bins("age", 0, 18, 65)))
    vector = data_vector(file, domain)
    assert vector.counts.tolist() == [1, 1, 1, 2]
    assert vector.counts[domain.index(["M", "[18, 65)"])] == 2
    assert vector.counts.dtype == np.int64 and not vector.counts.flags.writeable
    assert vector.rows == 5 and dict(vector.dropped) == {"sex": 0, "age": 0}
    assert repr(vector) == "DataVector(4 cells, 5 rows)"


def test_a_table_without_rows_is_a_vector_of_zeros() -> None:
    for content in ("a\n", "a"):
        vector = data_vector(text("t.csv", content), Domain((values("a", 1, 2),)))
        assert vector.counts.tolist() == [0, 0] and vector.rows == 0
    assert counts(parquet(a=pa.array([], pa.int32())), values("a", 1, 2)) == [0, 0]


@pytest.mark.quick
def test_rows_that_two_attributes_drop_are_in_both_numbers() -> None:
    file = text("t.csv", "a,b\n1,1\n9,9\n,9\n1,\n")
    rules = {"outside": "drop", "missing": "drop"}
    vector = data_vector(file, Domain((values("a", 1, **rules), values("b", 1, **rules))))
    assert vector.counts.tolist() == [1]
    assert vector.rows == 4 and dict(vector.dropped) == {"a": 2, "b": 3}


@pytest.mark.quick
def test_a_label_takes_what_is_outside_or_missing() -> None:
    file = text("t.csv", "a,b\n1,x\n7,x\n,x\nnan,x\n?,x\n")
    one = values("a", 1, 2, 3, outside="2", missing="3")
    assert counts(file, one) == [1, 2, 2]


def test_drop_wins_over_a_label_of_that_name() -> None:
    file = text("t.csv", "a\ndrop\nother\n")
    assert counts(file, values("a", "drop", outside="drop")) == [1]


@pytest.mark.quick
def test_the_last_edge_is_outside() -> None:
    one = bins("a", 0, 18, 65, outside="drop")
    assert counts(text("t.csv", "a\n0\n18\n64.999\n65\n65.0\n-0.0001\n-0\n"), one) == [2, 2]
    assert counts(parquet(a=[0.0, 18.0, 64.999, 65.0, float("inf")]), one) == [1, 2]


def test_nan_falls_into_no_bin() -> None:
    # DuckDB orders NaN above every number, so "age >= 18" would hold for it.
    for file in (
        parquet(a=[1.0, math.nan, None]),
        parquet("f.parquet", a=pa.array([1.0, math.nan, None], pa.float32())),
        text("t.csv", "a,b\n1,\nNaN,\n,\n"),
    ):
        vector = data_vector(file, Domain((bins("a", 0, 1e300, missing="drop"),)))
        assert vector.counts.tolist() == [1] and vector.dropped["a"] == 2
        assert counts(file, values("a", 1, missing="drop")) == [1]


def test_csv_values_are_read_as_what_is_declared(subtests: pytest.Subtests) -> None:
    cases = [
        ((1, 2), "1,1.0,2,+2, 2 ,2e0", [2, 4]),  # integers, however a program wrote them
        (("1", "007", "7"), "1,007,7", [1, 1, 1]),  # text keeps its leading zeros
        ((7,), "007,7", [2]),  # declared as a number, it is one
        ((0.1, 0.30000000000000004), "0.1,0.30000000000000004,.1", [2, 1]),
        ((True, False), "true,True,TRUE,false,False", [3, 2]),
        (("true", "True"), "true,True", [1, 1]),  # declared as text, case counts
        ((9007199254740993, 9007199254740992), "9007199254740993,9007199254740992", [1, 1]),
        ((1, "3+"), "1,3+,1.0", [2, 1]),
        (("NO", "yes"), "NO,yes", [1, 1]),
        (("NaN", "x"), "NaN,x", [1, 1]),
    ]
    columns = zip_longest(*(fields.split(",") for _, fields, _ in cases), fillvalue="")
    names = ",".join(f"c{i}" for i in range(len(cases)))
    file = text("t.csv", "\n".join([names, *map(",".join, columns)]) + "\n")
    found = first_counts(file, [cells for cells, _, _ in cases])
    for own, (_, fields, expected) in zip(found, cases, strict=True):
        with subtests.test(fields):
            assert own == expected


def test_parquet_types(subtests: pytest.Subtests) -> None:
    cases = [
        ((1, 2), pa.array([1, 2, 2], pa.int8()), [1, 2]),
        ((1, 2), pa.array([1, 2, 2], pa.uint64()), [1, 2]),
        ((1, 2), pa.array([1.0, 2.0, 2.0]), [1, 2]),
        ((1, 2), pa.array(["1", "2.0", "2"]), [1, 2]),
        (("1", "2"), pa.array([1, 2, 2]), [1, 2]),
        ((1.0, 2.5), pa.array([1, 1]), [2, 0]),
        ((0.1, 0.7), pa.array([0.1, 0.7, 0.7], pa.float32()), [1, 2]),  # 0.1 in 32 bits is not the double 0.1
        ((1.5, 2), pa.array(["1.50", "2.00"]).cast(pa.decimal128(5, 2)), [1, 1]),
        ((2**60, 2**60 + 1), pa.array([str(2**60 + 1)]).cast(pa.decimal128(30, 0)), [0, 1]),
        ((1, 10**400), pa.array([1.0, 1e300]), [1, 0]),
        ((True, False), pa.array([True, False, True]), [2, 1]),
        ((9007199254740993, 9007199254740992), pa.array([9007199254740993, 9007199254740992]), [1, 1]),
        ((9007199254740993, 9007199254740992), pa.array([9007199254740992.0]), [0, 1]),  # what the double is
        (("2024-01-05", "2024-01-06"), pa.array([19727, 19728], pa.date32()), [1, 1]),
        (("x", "y"), pa.array(["x", "y", "x"]).dictionary_encode(), [2, 1]),
    ]
    columns = [
        column.take(pa.array([i if i < len(column) else None for i in range(3)])) for _, column, _ in cases
    ]
    file = parquet(**{f"c{i}": column for i, column in enumerate(columns)})
    found = first_counts(file, [cells for cells, _, _ in cases])
    for own, (_, column, expected) in zip(found, cases, strict=True):
        with subtests.test(str(column.type)):
            assert own == expected


def test_edges_of_a_32_bit_column_are_rounded_as_its_values_were() -> None:
    # 0.7 in 32 bits is 0.69999999, which must still fall into [0.7, 1)
    file = parquet(a=pa.array([0.7, 0.1, 0.0], pa.float32()))
    assert counts(file, bins("a", 0.0, 0.1, 0.7, 1e39)) == [1, 1, 1]


def test_integers_near_the_limits_of_64_bits_are_binned() -> None:
    file = parquet(a=pa.array([-(2**63), 2**63 - 1, 0]))
    assert counts(file, bins("a", -1e19, 0, 2.5, 1e19)) == [1, 1, 1]


def test_a_parquet_column_without_any_value_is_missing() -> None:
    file = parquet(a=pa.nulls(3), b=[1, 1, 1])
    assert counts(file, bins("a", 0, 1, missing="drop")) == [0]


def test_columns_that_are_not_named_do_no_harm() -> None:
    # Names that differ in case only, or stand twice, or are in another encoding further down.
    file = text("t.csv", b"A,a,x,x\n1,2,\xe9,\n")
    assert counts(file, values("a", 1, 2)) == [0, 1]
    assert counts(file, values("A", 1, 2)) == [1, 0]


def test_several_attributes_may_read_one_column() -> None:
    file = text("t.csv", "a\n1\n2\n2\n")
    assert counts(file, values("a", 1, 2), bins("b", 0, 2, 3, column="a")) == [1, 0, 0, 2]


def test_names_of_files_and_folders_are_taken_literally(subtests: pytest.Subtests) -> None:
    """No column by DuckDB's hive partitioning, and no pattern; beside it what patterns match."""
    for name in ("data[1].csv", "a*.csv", "it's; ü--.csv"):
        with subtests.test(name):
            for other in ("data1.csv", "ab.csv"):
                text(other, "a\n2\n2\n")
            assert counts(text(name, "a\n1\n"), values("a", 1, 2)) == [1, 0]
    for folder in ("a=30", "[d]", "d*"):
        with subtests.test(folder):
            for name in (folder, "d", "dd"):
                Path(name).mkdir(exist_ok=True)
                text(f"{name}/t.csv", "a\n" + "1\n" * (2 if name == folder else 5))
            assert counts(f"{folder}/t.csv", values("a", 1, 30)) == [2, 0]
    assert counts(parquet("a=30/t.parquet", a=[1, 1]), values("a", 1, 30)) == [2, 0]


def test_byte_order_mark_line_ends_and_quoted_headers() -> None:
    for end in ("\n", "\r\n", "\r"):
        rows = ['a,"b,""c"""', "1,2", '1,"2"', '1,"2\nor\r\n3"', "1,2"]
        file = text("t.csv", b"\xef\xbb\xbf" + end.join(rows).encode())
        assert counts(file, values("a", 1)) == [4]
        assert counts(file, values('b,"c"', 2, outside="drop")) == [3]


ODD = ["", " ", "nan", "inf", "-inf", "1e400", "-1e400", "true", "2024-01-05", "x", "1_000", "+-1", "0x1"]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "one", [bins("a", 0, 18, 1e9), values("a", 1, 2), values("a", True), values("a", "x", 3)]
)
def test_where_a_row_is_counted_depends_on_that_row_alone(one: Attribute, rng: np.random.Generator) -> None:
    """Under rules that place values, a table of any rows is a table, and its vector the sum of theirs."""
    outside = str(rng.choice(["drop", one.labels[0]]))
    domain = Domain((replace(one, outside=outside, missing="drop"),))
    fields = [*rng.choice(ODD, 5, replace=False).tolist(), "1"]
    rows = [data_vector(text("t.csv", f"a,b\n{field},\n"), domain) for field in fields]
    assert all(vector.counts.sum() + vector.dropped["a"] == 1 for vector in rows)
    table = text("t.csv", "a,b\n" + "".join(f"{field},\n" for field in fields))
    expected = sum(vector.counts for vector in rows)
    np.testing.assert_array_equal(data_vector(table, domain).counts, expected)


def test_what_is_no_number_elsewhere_is_none_here() -> None:
    words = ("1_0", "+-1", "0x1", "1_0.0", "1e1_0")
    file = text("t.csv", "a\n1.5e1\n +1 \n" + "".join(f"{word}\n" for word in words))
    for one in (bins("a", -1e9, 0, 1e11, outside="drop"), values("a", -1, 1, 10, 15, outside="drop")):
        found = data_vector(file, Domain((one,)))
        assert (found.counts.sum(), found.dropped["a"]) == (2, len(words))


def test_nothing_is_written_beside_the_data() -> None:
    text("t.csv", "a\n1\n")
    data_vector("t.csv", Domain((values("a", 1),)))
    with pytest.raises(DataError):
        data_vector("t.csv", Domain((values("a", 2),)))
    assert os.listdir() == ["t.csv"]


def test_parquet_columns_are_found_by_the_name_that_the_file_has() -> None:
    """DuckDB calls these s, age, AGE_1 and AGE_1_1."""
    arrays = [[{"age": 9, "b": [1]}], [1], [2], [3]]
    table = pa.table([pa.array(own) for own in arrays], names=["s", "age", "AGE", "AGE_1"])
    pq.write_table(table, "t.parquet")
    for cell, column in enumerate(("age", "AGE", "AGE_1")):
        own = replace(values("q", 1, 2, 3), column=column)
        assert counts("t.parquet", own) == [int(i == cell) for i in range(3)]
    with pytest.raises(DataError, match="no column 'AGE_1_1'"):
        counts("t.parquet", replace(values("q", 1), column="AGE_1_1"))
