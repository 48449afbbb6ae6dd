"""Every way in which a table can be wrong, with the full text of its error; where the lines of a text file
are split (table_file, text_file, row_rules).

Guards table_files_and_connections.py and open_table.py (names of columns).
"""

import datetime
import gzip
import os
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pytest

from mmopt.data import data_vector
from mmopt.data.open_table import open_table
from mmopt.errors import DataError
from mmopt.workloads import Attribute, Domain, Product, Workload
from mmopt.workloads.blocks.range_blocks import Total
from tests.data.tables import ONE, bins, parquet, refusal, text, values

SHAPE_HINT = (
    '  expected UTF-8 text, one row a line, fields quoted with " where they hold the separator\n'
    "  a large file whose quoted fields hold line breaks may be read from a copy in Parquet only"
)
KNOWN = (
    "  known: .csv, .csv.gz, .tsv, .tsv.gz, .txt, .txt.gz, .parquet, .duckdb, .ddb, .sqlite, .sqlite3, .db"
)
SEVERAL = (
    "  several Parquet files are one table as a view in a DuckDB file: CREATE VIEW events AS FROM "
    "read_parquet('FOLDER/**/*.parquet', hive_partitioning = true)"
)
EMPTY = "the file is empty (0 bytes)\n  expected a table with column names"
AS_READ = (
    "a number is read as 1234.5, a day as 2020-12-31, and as 'spelling' names them in texts: decimal comma, "
    "thousands commas, thousands apostrophes, DD.MM.YYYY, DD/MM/YYYY, MM/DD/YYYY; "
    "take other marks, such as % and €, out of the table first"
)
TYPE_HINT = "  declare values of the column's type in the workload file, or convert the column first"

DATES_HINT = "  declare bins of dates in the workload file: {bins: [2020-01-01, 2021-01-01]}"


def test_several_parquet_files_are_one_table_by_the_view_that_is_shown() -> None:
    for year, number in ((2024, 2), (2025, 3)):
        Path(f"FOLDER/year={year}").mkdir(parents=True)
        duckdb.sql(f"SELECT 'F' AS sex FROM range({number})").write_parquet(f"FOLDER/year={year}/a.parquet")
    with duckdb.connect("events.duckdb") as connection:
        connection.execute(SEVERAL.partition("DuckDB file: ")[2])
    years = Workload.of(
        domain={"year": {"range": [2024, 2026], "width": 1}}, workload=[{"product": {"year": "identity"}}]
    )
    assert data_vector("events.duckdb", years).counts.tolist() == [2, 3]


def test_files_that_are_not_there_or_of_no_known_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    text("census.csv", "a\n1\n")
    Path("folder.csv").mkdir()
    os.mkfifo("pipe.csv")  # opening it would wait for a writer
    said = "the first line is empty; expected column names"
    for name, message in (
        ("cesnus.csv", "no such file\n  did you mean 'census.csv'?"),
        ("zzz.duckdb", "no such file"),
        ("gone/t.csv", "no such file\n  there is no folder gone"),
        ("folder.csv", f"is a directory; expected one file\n{KNOWN}\n{SEVERAL}"),
        ("months/*.parquet", f"no such file\n{SEVERAL}"),
        ("pipe.csv", "is not a regular file\n  write the table to a file first"),
        (text("t.xlsx", "x"), f"unknown extension '.xlsx'\n  save the sheet as CSV; {KNOWN.strip()}"),
        (text("table", "x"), f"a file name without an extension\n{KNOWN}"),
        *((text(f"t.{kind}", ""), EMPTY) for kind in ("csv", "csv.gz", "parquet")),
    ):
        assert refusal(name) == f"{name}: {message}"
    for name, content in (("t.csv", b"\na\n1\n"), ("t.csv.gz", gzip.compress(b""))):
        assert refusal(text(name, content)) == f"{name}:1:1: {said}"

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "census.csv")

    monkeypatch.setattr("builtins.open", refuse)
    assert refusal("census.csv") == "census.csv: cannot be read: Permission denied"


def test_headers_that_are_none() -> None:
    none = "the first line is not a header of column names"
    for header, said in (
        ('"a\nb",c', "a column name holds a line break, or its quote is not closed"),
        ('"a,c\n1,2', f"{none}: unexpected end of data"),  # DuckDB would read it as a file without rows
        ('"a"b,c\n1,2', f"{none}: ',' expected after '\"'"),
        (f"{'x' * 200_000},a\n1,2", f"{none}: field larger than field limit (131072)"),
    ):
        assert refusal(text("t.csv", f"{header}\r\n1,2\r\n")) == f"t.csv:1:1: {said}"


MAYBE_ROW = " (confidential, do not publish: its first line may be a row)"


def test_a_row_in_place_of_a_header_is_not_quoted() -> None:
    """One that reads like values is not shown; what is done as the message says is read."""
    row = "39,State-gov,Ann Smith\n"
    said = "t.csv: no column 'Age' (attribute 'Age'), and the first line reads like a row\n"
    assert refusal(text("t.csv", row), values("Age", 39)) == f"{said}  add a line of names above it"
    named = text("t.csv", f"Age,job,name\n{row}")
    assert data_vector(named, Domain((values("Age", 39),))).counts.tolist() == [1]
    assert refusal(text("t.csv", "State-gov,Ann Smith\n"), values("Age", 39)).endswith(
        f"\n  the table has{MAYBE_ROW}: State-gov, Ann Smith"
    )
    assert refusal(text("t.csv", "2020,2021,age\n"), values("Age", 39)).endswith(
        "\n  did you mean 'age'?\n  the table has: 2020, 2021, age"
    )
    assert refusal(parquet(**{"2020": [1]}), values("Age", 39)).endswith("\n  the table has: 2020")


def test_missing_column() -> None:
    file = text("t.csv", "state,Educ,exper\nOhio,12,3\n")
    table = "\n  the table has: state, Educ, exper"
    unnamed = table.replace(" has", f" has{MAYBE_ROW}")
    assert refusal(file, values("educ", 12)) == (
        f"t.csv: no column 'educ' (attribute 'educ')\n  did you mean 'Educ'?{table}"
    )
    assert refusal(file, values("years", 12, column="expr")) == (
        f"t.csv: no column 'expr' (attribute 'years')\n  did you mean 'exper'?{unnamed}"
    )
    assert refusal(file, values("wage", 12)) == f"t.csv: no column 'wage' (attribute 'wage'){unnamed}"
    both = {"state": {"values": ["Ohio"]}, "wage": {"values": [12]}}
    assert refusal(file, Domain.of(**both)) == f"t.csv: no column 'wage' (attribute 'wage'){table}"
    assert refusal(parquet(x=[1], y=[2]), values("z", 12)) == (
        "t.parquet: no column 'z' (attribute 'z')\n  the table has: x, y"
    )
    many = ",".join(f"c{i}" for i in range(50))
    assert refusal(text("t.csv", f"{many}\n"), values("none", 1)).endswith("c38, c39, …")
    assert refusal(text("t.csv", "a~b\n1~2\n")) == (
        "t.csv: no column 'a' (attribute 'a')\n"
        "  the header is one field; if another character separates columns, write 'data: {delimiter: "
        f'"~"}}\'\n  the table has{MAYBE_ROW}: a~b'
    )
    assert refusal(text("t.csv", "A survey,,\na,b,c\n1,2,3\n"), values("a", 1), values("b", 1)) == (
        "t.csv: no column 'a' (attribute 'a')\n"
        "  the names must come first; remove a line above them with: tail -n +2 old.csv > new.csv\n"
        f"  the table has{MAYBE_ROW}: A survey, , "
    )
    assert refusal(text("t.csv", "a,b,a\n1,2,3\n")) == (
        "t.csv: column 'a' appears in the header 2 times, not once\n"
        "  rename the others, or name another column with 'column:' in the workload file"
    )


def test_malformed_csv(subtests: pytest.Subtests) -> None:
    for rows, line, said in [
        ("1,2\n1\n", 3, "1 fields in this row; the header has 2"),
        ("1,2,3\n", 2, "3 fields in this row; the header has 2"),
        ('1,"2\n1,2\n', 2, "a quoted field that is not closed, or goes on after its closing quote"),
        ('1,"2"x\n1,2\n', 2, "a quoted field that is not closed, or goes on after its closing quote"),
        (f"1,{'x' * 3_000_000}\n", 2, "a line longer than 2,000,000 bytes"),
    ]:
        with subtests.test(said):
            assert refusal(text("t.csv", "a,b\n" + rows)) == f"t.csv:{line}:1: {said}\n{SHAPE_HINT}"
            assert refusal(text("t.csv", "a,b\n1,2\r\n1,2\n")) == (
                f"t.csv: not well-formed CSV (RFC 4180), or line ends of several kinds\n{SHAPE_HINT}"
            )


def test_text_that_is_not_utf8() -> None:
    hint = "  convert the file first, for instance: iconv -f CP1252 -t UTF-8 old.csv > new.csv"
    assert refusal(text("t.csv", b"a,b\n1,x\ncaf\xe9,x\n")) == f"t.csv:3:1: the text is not UTF-8\n{hint}"
    assert refusal(text("t.csv", b"caf\xe9,b\n1,x\n")) == f"t.csv:1:1: the text is not UTF-8\n{hint}"
    euro = text("old.csv", "a\nC€ – B\n".encode("cp1252"))
    command = refusal(euro, values("a", "C€ – B")).rpartition("for instance: ")[2]
    subprocess.run(command, shell=True, check=True)
    assert data_vector("new.csv", Domain((values("a", "C€ – B"),))).rows == 1
    wide = f"t.csv:1:1: the text is not UTF-8\n{hint.replace('CP1252', 'UTF-16')}"
    assert refusal(text("t.csv", "a\n1\n".encode("utf-16"))) == wide
    assert refusal(text("t.csv", gzip.compress(b"a\n1\n"))) == (
        "t.csv:1:1: the text is not UTF-8\n  it is packed with gzip, rename it: t.csv.gz"
    )


def test_arguments_of_other_types() -> None:
    domain = Domain((values("a", 1),))
    first = "the table comes first: 'people.csv', a data frame, {'age': [31, 52]}"
    for table, given, kinds, hint in (
        (domain, "t.csv", "a Domain and a str", first),
        (
            [{"a": 1}],
            domain,
            "a list and a Domain",
            "make a data frame of the rows first: pandas.DataFrame(rows)",
        ),
        ("t.csv", object(), "a str and a object", first),
    ):
        with pytest.raises(DataError) as caught:
            data_vector(table, given)  # type: ignore[arg-type]
        assert str(caught.value) == (
            f"{kinds} are given, expected a table (path, data frame, dictionary of columns or Ibis table) "
            f"and a Domain\n  {hint}"
        )


def test_gzip_with_a_comment_is_not_called_damaged() -> None:
    packed = gzip.compress(b"a\n1\n")
    commented = packed[:3] + b"\x10" + packed[4:10] + b"by hand\0" + packed[10:]
    assert gzip.decompress(commented) == b"a\n1\n"
    said = "t.csv.gz: this form of gzip is not read\n  unpack it, or pack it with gzip"
    assert refusal(text("t.csv.gz", commented)) == said


def test_gzip_that_is_not_gzip_or_ends_early() -> None:
    assert refusal(text("t.csv.gz", "a\n1\n")) == "t.csv.gz: not a gzip file, though its name ends in .gz"
    early = "t.csv.gz: the gzip stream is damaged or ends too early"
    assert refusal(text("t.csv.gz", gzip.compress(b"a\n1\n")[:-10])) == early
    # Incompressible, so that the end lies far behind what is read for the header.
    rows = "".join(f"{i * 2654435761 % 2**32}\n" for i in range(50_000))
    assert refusal(text("t.csv.gz", gzip.compress(f"a\n{rows}".encode())[:-5000])) == early
    # One letter of many rows changed: the text is readable, the checksum, far behind the header, is another.
    packed = gzip.compress(b"a\n" + b"1\n" * 2_000_000, 0)
    assert refusal(text("t.csv.gz", packed.replace(b"a\n1", b"a\n2"))) == early


def test_other_errors_of_the_engine_keep_rows_to_themselves(subtests: pytest.Subtests) -> None:
    for raised, said in [
        (duckdb.OutOfMemoryException, "the table does not fit into memory while it is counted"),
        (duckdb.NotImplementedException, "quoted line breaks in a large CSV file\n  convert it to Parquet"),
        (duckdb.BinderException, "the engine stopped (BinderException)"),
        (ibis.common.exceptions.OperationNotDefinedError, "the engine stopped (OperationNotDefinedError)"),
    ]:
        with subtests.test(said):
            text("t.csv", "a\n1\n")
            with pytest.raises(DataError) as caught, open_table("t.csv", {}):
                raise raised("Original Line: secret")
            assert str(caught.value).startswith(f"t.csv: {said}") and "secret" not in str(caught.value)


def test_no_error_quotes_a_row() -> None:
    for rows in ("secret\n", "secret,1,2\n", '"secret,1\n', '1,"2"secret\n', "1,2\r\nsecret,1\n"):
        assert "secret" not in refusal(text("t.csv", "a,b\n" + rows))
    # Words of the engine that stand in a row or in the path do not decide the message.
    Path("GZIP").mkdir()
    assert refusal(text("GZIP/t.csv", "a,b\nUnexpected end of GZIP\n")) == (
        f"GZIP/t.csv:2:1: 1 fields in this row; the header has 2\n{SHAPE_HINT}"
    )


def test_parquet_that_is_not_parquet(subtests: pytest.Subtests) -> None:
    for keep in ["text", "half", "damaged"]:
        with subtests.test(keep):
            whole = Path(parquet(a=list(range(1000)))).read_bytes()
            content = {
                "text": b"a,b\n1,2\n" * 9,
                "half": whole[:700],
                "damaged": whole[:4] + b"\0" * 400 + whole[404:],
            }
            assert refusal(text("t.parquet", content[keep]), values("a", 1)) == (
                "t.parquet: cannot be read as Parquet\n  is the file complete, and is it Parquet?"
            )


def test_wrong_type_in_parquet() -> None:
    cases: list[tuple[Any, Attribute, str, str]] = [
        (pa.array([True]), bins("a", 0, 2), "boolean", "numbers"),
        (pa.array([True]), values("a", 0, 1), "boolean", "numbers"),
        (pa.array([True]), values("a", "true", "false"), "boolean", "text"),
        (pa.array([1]), values("a", False, True), "int64", "booleans"),
        (pa.array([1.0]), values("a", "1", "2+"), "float64", "text"),
        (pa.array([1.0]), values("a", 1, "2+"), "float64", "numbers and text"),
        (pa.array([datetime.datetime(2024, 1, 5)]), bins("a", 0, 2), "timestamp(6)", "numbers"),
        (pa.array([datetime.date(2024, 1, 5)]), bins("a", 0, 2), "date", "numbers"),
        (pa.array([b"x"]), values("a", "x"), "binary", "text"),
        (pa.array([[1]]), values("a", 1), "array<int64>", "numbers"),
        (pa.array([{"Ada": 1}]), values("a", 1), "struct", "numbers"),  # a key of a dictionary may be a value
        (pa.array([[{"Ada": 1}]]), values("a", 1), "array<struct", "numbers"),
    ]
    for column, attribute, kind, declared in cases:
        made = "  count a value made of it, in a view or a copy of the table, for instance"
        hint = {
            "binary": f'{made} CAST("a" AS text)',
            "struct": f'{made} CAST("a" AS text)',
            "array<int64>": f'{made} "a"[1]',
            "array<struct": f'{made} "a"[1]',
            "boolean": "  declare {values: [false, true]} in the workload file",
            "date": DATES_HINT,
            "timestamp(6)": DATES_HINT,
        }.get(kind, TYPE_HINT)
        assert refusal(parquet(a=column), attribute) == (
            f"t.parquet: column 'a' is of type {kind}; attribute 'a' declares {declared}\n{hint}"
        )


def test_a_column_of_text_where_numbers_are_declared() -> None:
    for file in (text("t.csv", 'a\nx\ny\n""\n'), parquet(a=["x", "y", None])):
        for attribute, kind in (
            (bins("age", 0, 9, column="a", missing="drop"), "number"),
            (values("age", True, False, column="a", missing="drop"), "boolean"),
        ):
            assert refusal(file, attribute) == (
                f"{file}: rows without a cell, of 3 (confidential, do not publish):\n"
                f"    column 'a' (attribute 'age'): 2 outside the declared domain (of them 2 texts that are "
                f"no {kind})\n"
                "  is 'a' the right column? name another with 'column:', or mend how 'a' is written or "
                f"read: most rows have this problem\n  {AS_READ}\n"
                "  is there a word for missing? list it under null\n"
                "  in the workload file, with what else data has:\n    data: {null: [NA]}"
            )


def test_refused_rows_are_counted_by_column_and_never_shown() -> None:
    file = text("t.csv", "sex,years\nF,secret\nX,12\nF,99\n,13\nF,\nF,NaN\nF,12\n")
    said = refusal(file, values("sex", "F", "M"), bins("age", 0, 65, column="years"))
    assert said == (
        "t.csv: rows without a cell, of 7 (confidential, do not publish):\n"
        "    column 'sex' (attribute 'sex'): 1 outside the declared domain, 1 missing "
        "(NULL, empty, NaN or listed under null)\n"
        "    column 'years' (attribute 'age'): 2 outside the declared domain "
        "(of them 1 text that is no number), 2 missing (NULL, empty, NaN or listed under null)\n"
        "  decide where they go in the workload file: 'sex: {…, outside: drop}' leaves them out; the label "
        f"of a cell in place of 'drop' counts them in that cell; {{cell: a new label}} counts them in a "
        f"new cell; the right end of the last bin of 'age' is outside, too\n  {AS_READ}\n"
        "  is there a word for missing? list it under null\n"
        "  in the workload file, with what else data has:\n    data: {null: [NA]}"
    )
    missing = refusal(file, values("sex", "F", "M", outside="drop"))
    assert missing == (
        "t.csv: rows without a cell, of 7 (confidential, do not publish):\n"
        "    column 'sex' (attribute 'sex'): 1 missing (NULL, empty, NaN or listed under null)\n"
        "  decide where they go in the workload file: 'sex: {…, missing: drop}' leaves them out; the label "
        "of a cell in place of 'drop' counts them in that cell; {cell: a new label} counts them in a new cell"
    )


def test_the_last_edge_is_refused_by_default() -> None:
    assert refusal(parquet(a=[0, 64, 65]), bins("a", 0, 65)).startswith(
        "t.parquet: rows without a cell, of 3 (confidential, do not publish):\n"
        "    column 'a' (attribute 'a'): 1 outside the declared domain\n"
    )


TOTAL = Workload.from_products(ONE, [Product((Total(2),))])


def test_the_delimiter_is_the_one_that_shows_the_columns(subtests: pytest.Subtests) -> None:
    for name, content in [
        ("t.csv", "b;a\nx,y;2\n"),
        ("t.tsv", "b,a\nx\ty,2\n"),
        ("t.txt", "b\ta\nx\t2\n"),
        ("t.txt", "b|a\r\nx|2\r\n"),
        ("t.csv", 'b;"a"\n"x;y";"2"\n'),
        ("t.csv", "a\n2\n"),
        ("t.csv", "b;c,a\nx;y,2\n"),
    ]:
        with subtests.test(content):
            assert data_vector(text(name, content), ONE).counts.tolist() == [0, 1]


def test_where_no_column_is_read_the_one_of_the_most_columns() -> None:
    path = text("t.csv", 'b;a\n"x,y";2\n"x";2\n')
    assert data_vector(path, ONE, workload=TOTAL).counts.tolist() == [2, 0]


def test_a_delimiter_that_is_said(subtests: pytest.Subtests) -> None:
    for delimiter in ["~", "§", " ", "\x01", "x", "'"]:
        with subtests.test(repr(delimiter)):
            path = text("t.csv", delimiter.join(("b", "a")) + "\n" + delimiter.join((",\t|", "2")) + "\n")
            assert data_vector(path, ONE, delimiter=delimiter).counts.tolist() == [0, 1]


def test_a_delimiter_that_is_said_is_the_only_one() -> None:
    assert refusal(text("t.csv", "a;b\n1;2\n"), delimiter=",") == (
        f"t.csv: no column 'a' (attribute 'a')\n  the table has{MAYBE_ROW}: a;b"
    )


def test_what_is_no_delimiter(subtests: pytest.Subtests) -> None:
    for delimiter in ["", "::", '"', "\n", "\r", "\0", "\udc80"]:
        with subtests.test(repr(delimiter)):
            assert refusal(text("t.csv", "a\n1\n"), delimiter=delimiter) == (
                f"the delimiter is {delimiter!r}, expected one character\n"
                "  for example '~'; a quote or a line end cannot be one"
            )


def test_rows_do_not_decide_where_lines_are_split(rng: np.random.Generator) -> None:
    fields = rng.choice(["1", "1;1", "1,1", "1|1"], 20)
    path = text("t.csv", "a;b\n" + "".join(f'2;"{field}"\n' for field in fields))
    assert data_vector(path, ONE).counts.tolist() == [0, 20]
