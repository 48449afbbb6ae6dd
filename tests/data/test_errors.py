"""Every way in which a table can be wrong, with the full text of its error."""

from __future__ import annotations

import datetime
import gzip
import os
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmopt.data import data_vector
from mmopt.data.open_table import open_table
from mmopt.errors import DataError
from mmopt.workloads import Attribute, Bins, Domain, Values

SHAPE_HINT = (
    '  expected UTF-8 text, one row a line, fields quoted with " where they hold the separator\n'
    "  a large file whose quoted fields hold line breaks may be read from a copy in Parquet only"
)
KNOWN = (
    "  known: .csv, .csv.gz, .tsv, .tsv.gz, .txt, .txt.gz, .parquet, .duckdb, .ddb, .sqlite, .sqlite3, .db"
)
TYPE_HINT = "  declare values of the column's type in the workload file, or convert the column first"

DATES_HINT = "  declare bins of dates in the workload file: {bins: [2020-01-01, 2021-01-01]}"


def values(name: str, *cells: Any, **rules: Any) -> Attribute:
    return Attribute(name, tuple(map(str, cells)), encoding=Values(cells), **rules)


def bins(name: str, *edges: float, **rules: Any) -> Attribute:
    encoding = Bins(edges)
    return Attribute(name, encoding.labels(), encoding=encoding, **rules)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def error(path: str, *attributes: Attribute) -> str:
    with pytest.raises(DataError) as raised:
        data_vector(path, Domain(attributes or (values("a", "1", "2"),)))
    # A chained error of the engine would quote confidential rows in a traceback.
    assert raised.value.__cause__ is None and (
        raised.value.__suppress_context__ or raised.value.__context__ is None
    )
    return str(raised.value)


def write(name: str, content: bytes | str) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def parquet(**columns: Any) -> str:
    pq.write_table(pa.table(columns), "t.parquet")
    return "t.parquet"


def test_no_such_file() -> None:
    write("census.csv", "a\n1\n")
    assert error("cesnus.csv") == "cesnus.csv: no such file\n  did you mean 'census.csv'?"
    assert error("far.parquet") == "far.parquet: no such file"
    assert error("gone/t.csv") == "gone/t.csv: no such file\n  there is no folder gone"


def test_a_directory() -> None:
    Path("folder.csv").mkdir()
    assert error("folder.csv") == ("folder.csv: is a directory; expected one file\n" + KNOWN)


def test_unknown_extension() -> None:
    known = f"\n{KNOWN}"
    assert error(write("t.xlsx", "x")) == (
        "t.xlsx: unknown extension '.xlsx'" + known.replace("known", "save the sheet as CSV; known", 1)
    )
    assert error(write("table", "x")) == "table: a file name without an extension" + known


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_empty_file(name: str) -> None:
    assert error(write(name, "")) == (
        f"{name}: the file is empty (0 bytes)\n  expected a table with column names"
    )


def test_empty_first_line() -> None:
    said = "the first line is empty; expected column names"
    assert error(write("t.csv", "\na\n1\n")) == f"t.csv:1:1: {said}"
    Path("t.csv.gz").write_bytes(gzip.compress(b""))
    assert error("t.csv.gz") == f"t.csv.gz:1:1: {said}"


@pytest.mark.parametrize("header", ['"a\nb",c', '"a,c\n1,2'])
def test_line_break_in_a_column_name(header: str) -> None:
    # DuckDB would read such a file as one without rows.
    assert error(write("t.csv", f"{header}\r\n1,2\r\n")) in (
        "t.csv:1:1: a column name holds a line break, or its quote is not closed",
        "t.csv:1:1: the first line is not a header of column names: unexpected end of data",
    )


def test_header_that_is_not_csv() -> None:
    assert error(write("t.csv", '"a"b,c\n1,2\n')) == (
        "t.csv:1:1: the first line is not a header of column names: ',' expected after '\"'"
    )
    long = "x" * 200_000
    assert error(write("t.csv", f"{long},a\n1,2\n")) == (
        "t.csv:1:1: the first line is not a header of column names: field larger than field limit (131072)"
    )


def test_missing_column() -> None:
    file = write("t.csv", "state,Educ,exper\nOhio,12,3\n")
    table = "\n  the table has: state, Educ, exper"
    assert error(file, values("educ", 12)) == (
        f"t.csv: no column 'educ' (attribute 'educ')\n  did you mean 'Educ'?{table}"
    )
    assert error(file, values("years", 12, column="expr")) == (
        f"t.csv: no column 'expr' (attribute 'years')\n  did you mean 'exper'?{table}"
    )
    assert error(file, values("wage", 12)) == f"t.csv: no column 'wage' (attribute 'wage'){table}"
    assert error(parquet(x=[1], y=[2]), values("z", 12)) == (
        "t.parquet: no column 'z' (attribute 'z')\n  the table has: x, y"
    )
    many = ",".join(f"c{i}" for i in range(50))
    assert error(write("t.csv", f"{many}\n"), values("none", 1)).endswith("c38, c39, …")


def test_another_separator() -> None:
    assert error(write("t.csv", "a~b\n1~2\n")) == (
        "t.csv: no column 'a' (attribute 'a')\n"
        "  the header is one field; if it is split elsewhere, write 'data: {delimiter: \"~\"}'\n"
        "  the table has: a~b"
    )


def test_a_column_that_stands_twice() -> None:
    assert error(write("t.csv", "a,b,a\n1,2,3\n")) == (
        "t.csv: column 'a' stands in the header 2 times, not once\n"
        "  rename the others, or name another column with 'column:' in the workload file"
    )


@pytest.mark.quick
@pytest.mark.parametrize(
    ("rows", "line", "said"),
    [
        ("1,2\n1\n", 3, "1 fields in this row; the header has 2"),
        ("1,2,3\n", 2, "3 fields in this row; the header has 2"),
        ('1,"2\n1,2\n', 2, "a quoted field that is not closed, or goes on after its closing quote"),
        ('1,"2"x\n1,2\n', 2, "a quoted field that is not closed, or goes on after its closing quote"),
        (f"1,{'x' * 3_000_000}\n", 2, "a line longer than 2,000,000 bytes"),
    ],
)
def test_malformed_csv(rows: str, line: int, said: str) -> None:
    assert error(write("t.csv", "a,b\n" + rows)) == f"t.csv:{line}:1: {said}\n{SHAPE_HINT}"


def test_line_ends_of_several_kinds() -> None:
    assert error(write("t.csv", "a,b\n1,2\r\n1,2\n")) == (
        f"t.csv: not well-formed CSV (RFC 4180), or line ends of several kinds\n{SHAPE_HINT}"
    )


def test_text_that_is_not_utf8() -> None:
    hint = "  convert the file first, for instance: iconv -f LATIN1 -t UTF-8 old.csv > new.csv"
    assert error(write("t.csv", b"a,b\n1,x\ncaf\xe9,x\n")) == f"t.csv:3:1: the text is not UTF-8\n{hint}"
    assert error(write("t.csv", b"caf\xe9,b\n1,x\n")) == f"t.csv:1:1: the text is not UTF-8\n{hint}"
    wide = f"t.csv:1:1: the text is not UTF-8\n{hint.replace('LATIN1', 'UTF-16')}"
    assert error(write("t.csv", "a\n1\n".encode("utf-16"))) == wide
    assert error(write("t.csv", gzip.compress(b"a\n1\n"))) == (
        "t.csv:1:1: the text is not UTF-8\n  it is packed with gzip, rename it: t.csv.gz"
    )


def test_arguments_of_other_types() -> None:
    domain = Domain((values("a", 1),))
    for table, given, kinds in (
        (domain, "t.csv", "a Domain and a str"),
        ([{"a": 1}], domain, "a list and a Domain"),
        ("t.csv", object(), "a str and a object"),
    ):
        with pytest.raises(DataError) as caught:
            data_vector(table, given)  # type: ignore[arg-type]
        assert str(caught.value) == (
            f"data_vector has {kinds}, expected a table (path, data frame, dictionary of columns or Ibis "
            "table) and a Domain\n  write data_vector('people.csv', request.workload.domain)"
        )


def test_gzip_with_a_comment_is_not_called_damaged() -> None:
    packed = gzip.compress(b"a\n1\n")
    commented = packed[:3] + b"\x10" + packed[4:10] + b"by hand\0" + packed[10:]
    assert gzip.decompress(commented) == b"a\n1\n"
    said = "t.csv.gz: this form of gzip is not read\n  unpack it, or pack it with gzip"
    assert error(write("t.csv.gz", commented)) == said


def test_gzip_that_is_not_gzip_or_ends_early() -> None:
    assert error(write("t.csv.gz", "a\n1\n")) == "t.csv.gz: not a gzip file, though its name ends in .gz"
    early = "t.csv.gz: the gzip stream is damaged or ends too early"
    assert error(write("t.csv.gz", gzip.compress(b"a\n1\n")[:-10])) == early
    # Incompressible, so that the end lies far behind what is read for the header.
    rows = "".join(f"{i * 2654435761 % 2**32}\n" for i in range(50_000))
    assert error(write("t.csv.gz", gzip.compress(f"a\n{rows}".encode())[:-5000])) == early
    # One letter of 100 rows changed: the text is readable, the checksum is another.
    packed = gzip.compress(b"a\n" + b"1\n" * 100, 0)
    assert error(write("t.csv.gz", packed.replace(b"a\n1", b"a\n2"))) == early


def test_a_file_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "t.csv")

    write("t.csv", "a\n1\n")
    monkeypatch.setattr("builtins.open", refuse)
    assert error("t.csv") == "t.csv: cannot be read: Permission denied"


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (duckdb.OutOfMemoryException, "the table does not fit into memory while it is counted"),
        (duckdb.NotImplementedException, "quoted line breaks in a large CSV file\n  convert it to Parquet"),
        (duckdb.BinderException, "the engine stopped (BinderException)"),
        (ibis.common.exceptions.OperationNotDefinedError, "the engine stopped (OperationNotDefinedError)"),
    ],
)
def test_other_errors_of_the_engine_keep_rows_to_themselves(raised: type[Exception], said: str) -> None:
    write("t.csv", "a\n1\n")
    with pytest.raises(DataError) as caught, open_table("t.csv", {}):
        raise raised("Original Line: secret")
    assert str(caught.value) == f"t.csv: {said}"


def test_no_error_quotes_a_row() -> None:
    for rows in ("secret\n", "secret,1,2\n", '"secret,1\n', '1,"2"secret\n', "1,2\r\nsecret,1\n"):
        assert "secret" not in error(write("t.csv", "a,b\n" + rows))
    # Words of the engine that stand in a row or in the path do not decide the message.
    Path("GZIP").mkdir()
    assert error(write("GZIP/t.csv", "a,b\nUnexpected end of GZIP\n")) == (
        f"GZIP/t.csv:2:1: 1 fields in this row; the header has 2\n{SHAPE_HINT}"
    )


@pytest.mark.parametrize("keep", ["text", "half", "damaged"])
def test_parquet_that_is_not_parquet(keep: str) -> None:
    whole = Path(parquet(a=list(range(1000)))).read_bytes()
    content = {
        "text": b"a,b\n1,2\n" * 9,
        "half": whole[:700],
        "damaged": whole[:4] + b"\0" * 400 + whole[404:],
    }
    assert error(write("t.parquet", content[keep]), values("a", 1)) == (
        "t.parquet: cannot be read as Parquet\n  is the file complete, and is it Parquet?"
    )


def test_wrong_type_in_parquet() -> None:
    cases: list[tuple[Any, Attribute, str, str]] = [
        (pa.array([True]), bins("a", 0, 2), "boolean", "numbers"),
        (pa.array([True]), values("a", 0, 1), "boolean", "numbers"),
        (pa.array([True]), values("a", "true", "false"), "boolean", "text"),
        (pa.array([1]), values("a", False, True), "int64", "booleans"),
        (pa.array([1.0]), values("a", "1", "2"), "float64", "text"),
        (pa.array([1.0]), values("a", 1, "2+"), "float64", "numbers and text"),
        (pa.array([datetime.datetime(2024, 1, 5)]), bins("a", 0, 2), "timestamp(6)", "numbers"),
        (pa.array([datetime.date(2024, 1, 5)]), bins("a", 0, 2), "date", "numbers"),
        (pa.array([b"x"]), values("a", "x"), "binary", "text"),
        (pa.array([[1]]), values("a", 1), "array<int64>", "numbers"),
        (pa.array([{"Ada": 1}]), values("a", 1), "struct", "numbers"),  # a key of a dictionary may be a value
        (pa.array([[{"Ada": 1}]]), values("a", 1), "array<struct", "numbers"),
    ]
    for column, attribute, kind, declared in cases:
        hint = {
            "boolean": "  declare {values: [false, true]} in the workload file",
            "date": DATES_HINT,
            "timestamp(6)": DATES_HINT,
        }.get(kind, TYPE_HINT)
        assert error(parquet(a=column), attribute) == (
            f"t.parquet: column 'a' is of type {kind}; attribute 'a' declares {declared}\n{hint}"
        )


def test_a_column_of_text_where_numbers_are_declared() -> None:
    for file in (write("t.csv", 'a\nx\ny\n""\n'), parquet(a=["x", "y", None])):
        for attribute, kind in (
            (bins("age", 0, 9, column="a", missing="drop"), "number"),
            (values("age", True, False, column="a", missing="drop"), "boolean"),
        ):
            assert error(file, attribute) == (
                f"{file}: rows without a cell, of 3 (confidential, for you alone):\n"
                f"    column 'a' (attribute 'age'): 2 outside the declared domain (of them 2 text that is no "
                f"{kind})\n"
                "  is 'a' the right column? name another with 'column:', or say where they go in the "
                "workload file: 'age: {…, outside: drop}' leaves them out, the label of a cell in place "
                "of 'drop' counts them there"
            )


def test_a_pipe() -> None:
    os.mkfifo("t.csv")  # opening it would wait for a writer
    assert error("t.csv") == "t.csv: is not a regular file\n  write the table to a file first"


@pytest.mark.quick
def test_refused_rows_are_counted_by_column_and_never_shown() -> None:
    file = write("t.csv", "sex,years\nF,secret\nX,12\nF,99\n,13\nF,\nF,NaN\nF,12\n")
    said = error(file, values("sex", "F", "M"), bins("age", 0, 65, column="years"))
    assert said == (
        "t.csv: rows without a cell, of 7 (confidential, for you alone):\n"
        "    column 'sex' (attribute 'sex'): 1 outside the declared domain, 1 missing (NULL, empty or NaN)\n"
        "    column 'years' (attribute 'age'): 2 outside the declared domain "
        "(of them 1 text that is no number), 2 missing (NULL, empty or NaN)\n"
        "  say where they go in the workload file: 'sex: {…, outside: drop}' leaves them out, "
        "the label of a cell in place of 'drop' counts them there; "
        "the right end of the last bin of 'age' is outside, too"
    )
    missing = error(file, values("sex", "F", "M", outside="drop"))
    assert missing == (
        "t.csv: rows without a cell, of 7 (confidential, for you alone):\n"
        "    column 'sex' (attribute 'sex'): 1 missing (NULL, empty or NaN)\n"
        "  say where they go in the workload file: 'sex: {…, missing: drop}' leaves them out, "
        "the label of a cell in place of 'drop' counts them there"
    )


def test_the_last_edge_is_refused_by_default() -> None:
    assert error(parquet(a=[0, 64, 65]), bins("a", 0, 65)).startswith(
        "t.parquet: rows without a cell, of 3 (confidential, for you alone):\n"
        "    column 'a' (attribute 'a'): 1 outside the declared domain\n"
    )
