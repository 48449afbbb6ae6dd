"""Counts, rules and type traps of ``mmopt.data.data_vector``."""

from __future__ import annotations

import csv
import gzip
import io
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmopt.data import data_vector
from mmopt.errors import DataError
from mmopt.workloads import Attribute, Bins, Categories, Domain, Values

NAN = float("nan")


def values(name: str, *cells: Any, **rules: Any) -> Attribute:
    return Attribute(name, tuple(map(str, cells)), encoding=Values(cells), **rules)


def bins(name: str, *edges: float, **rules: Any) -> Attribute:
    encoding = Bins(edges)
    return Attribute(name, encoding.labels(), encoding=encoding, **rules)


def text(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def counts(path: Path, *attributes: Attribute) -> list[int]:
    return [int(count) for count in data_vector(path, Domain(attributes)).counts]


def test_counts_in_the_domains_order_of_cells(tmp_path: Path) -> None:
    file = text(tmp_path / "t.csv", "sex,age\nF,0\nM,17\nM,18\nM,64\nF,64\n")
    domain = Domain((values("sex", "F", "M"), bins("age", 0, 18, 65)))
    vector = data_vector(file, domain)
    assert vector.counts.tolist() == [1, 1, 1, 2]
    assert vector.counts[domain.index(["M", "[18, 65)"])] == 2
    assert vector.counts.dtype == np.int64 and not vector.counts.flags.writeable
    assert vector.rows == 5 and dict(vector.dropped) == {"sex": 0, "age": 0}
    assert repr(vector) == "DataVector(4 cells, 5 rows)"


def test_random_tables_agree_with_numpy_in_every_format(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    for case in range(6):
        rows = int(random.integers(0, 400))
        edges = np.unique(np.round(random.normal(size=random.integers(2, 9)) * 10, 3))
        edges = edges if len(edges) > 1 else np.array([0.0, 1.0])
        number = random.normal(size=rows) * 10
        on_edge = random.random(rows) < 0.3
        number[on_edge] = random.choice(edges, size=on_edge.sum())
        letter = random.choice(["a", "b", "c", "d", "ü", '"q",'], size=rows)
        whole = random.integers(-3, 4, size=rows)
        cell = np.searchsorted(edges, number, side="right") - 1
        inside = (cell >= 0) & (cell < len(edges) - 1)
        groups = {"a": 0, "b": 0, "c": 1, "ü": 2, '"q",': 2}
        domain = Domain(
            (
                bins("number", *map(float, edges), outside="drop"),
                Attribute(
                    "letters",
                    ("ab", "c", "rest"),
                    column="letter",
                    encoding=Categories((("a", "b"), ("c",), ("ü", '"q",'))),
                    outside="rest",
                ),
                values("whole", *range(-3, 4)),
            )
        )
        expected = np.zeros(domain.shape, dtype=np.int64)
        codes = np.array([groups.get(str(one), 2) for one in letter], dtype=np.int64)
        np.add.at(expected, (cell[inside], codes[inside], whole[inside] + 3), 1)

        written = io.StringIO()
        writer = csv.writer(written)
        writer.writerow(["whole", "unused", "letter", "number"])
        # repr of a float reads back as the same float
        for w, one, x in zip(whole, letter, number, strict=True):
            writer.writerow([int(w), "é", str(one), repr(float(x))])
        plain = text(tmp_path / f"{case}.csv", written.getvalue())
        tabbed = text(
            tmp_path / f"{case}.TSV",
            "".join(
                "\t".join('"' + field.replace('"', '""') + '"' for field in row) + "\n"
                for row in csv.reader(io.StringIO(written.getvalue()))
            ),
        )
        packed = tmp_path / f"{case}.csv.gz"
        packed.write_bytes(gzip.compress(plain.read_bytes()))
        table = parquet(
            tmp_path / f"{case}.parquet", number=number, whole=whole, letter=[str(one) for one in letter]
        )
        for file in (plain, tabbed, packed, table):
            vector = data_vector(file, domain)
            np.testing.assert_array_equal(vector.counts, expected.ravel(), err_msg=str(file))
            assert vector.rows == rows
            assert dict(vector.dropped) == {"number": int((~inside).sum()), "letters": 0, "whole": 0}


def test_a_table_without_rows_is_a_vector_of_zeros(tmp_path: Path) -> None:
    for content in ("a\n", "a"):
        vector = data_vector(text(tmp_path / "t.csv", content), Domain((values("a", 1, 2),)))
        assert vector.counts.tolist() == [0, 0] and vector.rows == 0
    assert counts(parquet(tmp_path / "t.parquet", a=pa.array([], pa.int32())), values("a", 1, 2)) == [0, 0]


def test_rows_that_two_attributes_drop_are_in_both_numbers(tmp_path: Path) -> None:
    file = text(tmp_path / "t.csv", "a,b\n1,1\n9,9\n,9\n1,\n")
    rules = {"outside": "drop", "missing": "drop"}
    vector = data_vector(file, Domain((values("a", 1, **rules), values("b", 1, **rules))))
    assert vector.counts.tolist() == [1]
    assert vector.rows == 4 and dict(vector.dropped) == {"a": 2, "b": 3}


def test_a_label_takes_what_is_outside_or_missing(tmp_path: Path) -> None:
    file = text(tmp_path / "t.csv", "a,b\n1,x\n7,x\n,x\nnan,x\n?,x\n")
    one = values("a", 1, 2, 3, outside="2", missing="3")
    assert counts(file, one) == [1, 2, 2]


def test_drop_wins_over_a_label_of_that_name(tmp_path: Path) -> None:
    file = text(tmp_path / "t.csv", "a\ndrop\nother\n")
    assert counts(file, values("a", "drop", outside="drop")) == [1]


@pytest.mark.quick
def test_the_last_edge_is_outside(tmp_path: Path) -> None:
    one = bins("a", 0, 18, 65, outside="drop")
    assert counts(text(tmp_path / "t.csv", "a\n0\n18\n64.999\n65\n65.0\n-0.0001\n-0\n"), one) == [2, 2]
    assert counts(parquet(tmp_path / "t.parquet", a=[0.0, 18.0, 64.999, 65.0, float("inf")]), one) == [1, 2]


@pytest.mark.quick
def test_nan_falls_into_no_bin(tmp_path: Path) -> None:
    # DuckDB orders NaN above every number, so "age >= 18" would hold for it.
    for file in (
        parquet(tmp_path / "t.parquet", a=[1.0, NAN, None]),
        parquet(tmp_path / "f.parquet", a=pa.array([1.0, NAN, None], pa.float32())),
        text(tmp_path / "t.csv", "a,b\n1,\nNaN,\n,\n"),
    ):
        vector = data_vector(file, Domain((bins("a", 0, 1e300, missing="drop"),)))
        assert vector.counts.tolist() == [1] and vector.dropped["a"] == 2
        assert counts(file, values("a", 1, missing="drop")) == [1]


@pytest.mark.parametrize(
    ("cells", "fields", "expected"),
    [
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
    ],
)
def test_csv_values_are_read_as_what_is_declared(
    tmp_path: Path, cells: tuple[Any, ...], fields: str, expected: list[int]
) -> None:
    file = text(tmp_path / "t.csv", "a,b\n" + "".join(f"{field},\n" for field in fields.split(",")))
    assert counts(file, values("a", *cells)) == expected


@pytest.mark.some(6)
@pytest.mark.parametrize(
    ("cells", "column", "expected"),
    [
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
    ],
)
def test_parquet_types(tmp_path: Path, cells: tuple[Any, ...], column: pa.Array, expected: list[int]) -> None:
    file = parquet(tmp_path / "t.parquet", a=column)
    assert counts(file, values("a", *cells, outside="drop")) == expected


def test_edges_of_a_32_bit_column_are_rounded_as_its_values_were(tmp_path: Path) -> None:
    # 0.7 in 32 bits is 0.69999999, which must still fall into [0.7, 1)
    file = parquet(tmp_path / "t.parquet", a=pa.array([0.7, 0.1, 0.0], pa.float32()))
    assert counts(file, bins("a", 0.0, 0.1, 0.7, 1e39)) == [1, 1, 1]


def test_integers_near_the_limits_of_64_bits_are_binned(tmp_path: Path) -> None:
    file = parquet(tmp_path / "t.parquet", a=pa.array([-(2**63), 2**63 - 1, 0]))
    assert counts(file, bins("a", -1e19, 0, 2.5, 1e19)) == [1, 1, 1]


def test_a_parquet_column_without_any_value_is_missing(tmp_path: Path) -> None:
    file = parquet(tmp_path / "t.parquet", a=pa.nulls(3), b=[1, 1, 1])
    assert counts(file, bins("a", 0, 1, missing="drop")) == [0]


def test_columns_that_are_not_named_do_no_harm(tmp_path: Path) -> None:
    # Names that differ in case only, or stand twice, or are in another encoding further down.
    file = text(tmp_path / "t.csv", b"A,a,x,x\n1,2,\xe9,\n")
    assert counts(file, values("a", 1, 2)) == [0, 1]
    assert counts(file, values("A", 1, 2)) == [1, 0]


def test_several_attributes_may_read_one_column(tmp_path: Path) -> None:
    file = text(tmp_path / "t.csv", "a\n1\n2\n2\n")
    assert counts(file, values("a", 1, 2), bins("b", 0, 2, 3, column="a")) == [1, 0, 0, 2]


@pytest.mark.parametrize(
    "name", ["data[1].csv", "it's.csv", "a*.csv", "Ünï cödé.csv", "a;b--.csv", "UPPER.CSV"]
)
def test_file_names_are_taken_literally(tmp_path: Path, name: str) -> None:
    text(tmp_path / "data1.csv", "a\n2\n2\n")
    text(tmp_path / "ab.csv", "a\n2\n2\n")
    assert counts(text(tmp_path / name, "a\n1\n"), values("a", 1, 2)) == [1, 0]


def test_byte_order_mark_line_ends_and_quoted_headers(tmp_path: Path) -> None:
    for end in ("\n", "\r\n", "\r"):
        rows = ['a,"b,""c"""', "1,2", '1,"2"', '1,"2\nor\r\n3"', "1,2"]
        file = text(tmp_path / "t.csv", b"\xef\xbb\xbf" + end.join(rows).encode())
        assert counts(file, values("a", 1)) == [4]
        assert counts(file, values('b,"c"', 2, outside="drop")) == [3]


ODD = (
    "",
    " ",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-1e400",
    "true",
    "2024-01-05",
    "x",
    "1_000",
    "+-1",
    "0x1",
    "NULL",
    "1 2",
)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "one", [bins("a", 0, 18, 1e9), values("a", 1, 2), values("a", True), values("a", "x", 3)]
)
def test_where_a_row_is_counted_depends_on_that_row_alone(tmp_path: Path, one: Attribute) -> None:
    """With rules that place values, a table of any rows is a table, and its vector the sum of theirs."""
    for rules in ({"outside": "drop", "missing": "drop"}, {"outside": one.labels[0], "missing": "drop"}):
        domain = Domain((replace(one, **rules),))
        rows = {
            field: data_vector(text(tmp_path / "t.csv", f"a,b\n{field},\n"), domain) for field in (*ODD, "1")
        }
        assert all(vector.counts.sum() + vector.dropped["a"] == 1 for vector in rows.values())
        table = text(tmp_path / "t.csv", "a,b\n" + "".join(f"{field},\n" for field in rows))
        expected = sum(vector.counts for vector in rows.values())
        np.testing.assert_array_equal(data_vector(table, domain).counts, expected)


@pytest.mark.some(2)
@pytest.mark.parametrize("word", ["1_0", "+-1", "0x1", "1_0.0", "1e1_0"])
def test_what_is_no_number_elsewhere_is_none_here(tmp_path: Path, word: str) -> None:
    file = text(tmp_path / "t.csv", f"a\n{word}\n1.5e1\n +1 \n")
    for one in (bins("a", -1e9, 0, 1e11, outside="drop"), values("a", -1, 1, 10, 15, outside="drop")):
        assert (sum(counts(file, one)), data_vector(file, Domain((one,))).dropped["a"]) == (2, 1)


def test_nothing_is_written_beside_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text(tmp_path / "t.csv", "a\n1\n")
    data_vector("t.csv", Domain((values("a", 1),)))
    with pytest.raises(DataError):
        data_vector("t.csv", Domain((values("a", 2),)))
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.some(2)
@pytest.mark.parametrize("folder", ["age=30", "c0=30", "[d]", "d*", "d?", "{d}"])
def test_the_folders_name_is_no_part_of_the_table(tmp_path: Path, folder: str) -> None:
    """No column by DuckDB's hive partitioning, and no pattern; beside it a folder that patterns match."""
    for name in (folder, "d", "dd"):
        (tmp_path / name).mkdir()
        rows = 2 if name == folder else 5
        text(tmp_path / name / "t.csv", "age\n" + "1\n" * rows)
        parquet(tmp_path / name / "t.parquet", age=[1] * rows)
    for name in ("t.csv", "t.parquet"):
        assert counts(tmp_path / folder / name, values("age", 1, 30)) == [2, 0]


def test_parquet_columns_are_found_by_the_name_that_the_file_has(tmp_path: Path) -> None:
    """DuckDB calls these s, age, AGE_1 and AGE_1_1."""
    arrays = [[{"age": 9, "b": [1]}], [1], [2], [3]]
    table = pa.table([pa.array(own) for own in arrays], names=["s", "age", "AGE", "AGE_1"])
    pq.write_table(table, tmp_path / "t.parquet")
    for cell, column in enumerate(("age", "AGE", "AGE_1")):
        own = replace(values("q", 1, 2, 3), column=column)
        assert counts(tmp_path / "t.parquet", own) == [int(i == cell) for i in range(3)]
    with pytest.raises(DataError, match="no column 'AGE_1_1'"):
        counts(tmp_path / "t.parquet", replace(values("q", 1), column="AGE_1_1"))
