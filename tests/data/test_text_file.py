"""Where the lines of a text file are split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mmopt.data import data_vector
from mmopt.errors import DataError
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks.range_blocks import Total
from mmopt.workloads.domain import Attribute, Domain, Values

ONE = Domain((Attribute("a", ("1", "2"), encoding=Values((1, 2))),))
TOTAL = Workload.from_products(ONE, [Product((Total(2),))])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, content: str) -> str:
    Path(name).write_text(content, newline="")
    return name


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "b;a\nx,y;2\n"),
        ("t.tsv", "b,a\nx\ty,2\n"),
        ("t.txt", "b\ta\nx\t2\n"),
        ("t.txt", "b|a\r\nx|2\r\n"),
        ("t.csv", 'b;"a"\n"x;y";"2"\n'),
        ("t.csv", "a\n2\n"),
        ("t.csv", "b;c,a\nx;y,2\n"),
    ],
)
def test_the_delimiter_is_the_one_that_shows_the_columns(name: str, content: str) -> None:
    assert data_vector(write(name, content), ONE).counts.tolist() == [0, 1]


def test_where_no_column_is_read_the_one_of_the_most_columns() -> None:
    path = write("t.csv", 'b;a\n"x,y";2\n"x";2\n')
    assert data_vector(path, ONE, workload=TOTAL).counts.tolist() == [2, 0]


@pytest.mark.parametrize("delimiter", ["~", "§", " ", ":", "\x01", ";", "x", "'"])
def test_a_delimiter_that_is_said(delimiter: str) -> None:
    path = write("t.csv", delimiter.join(("b", "a")) + "\n" + delimiter.join((",\t|", "2")) + "\n")
    assert data_vector(path, ONE, delimiter=delimiter).counts.tolist() == [0, 1]


def test_a_delimiter_that_is_said_is_the_only_one() -> None:
    with pytest.raises(DataError) as caught:
        data_vector(write("t.csv", "a;b\n1;2\n"), ONE, delimiter=",")
    assert str(caught.value) == "t.csv: no column 'a' (attribute 'a')\n  the table has: a;b"


@pytest.mark.parametrize("delimiter", ["", "::", '"', "\n", "\r", "\0", "\udc80"])
def test_what_is_no_delimiter(delimiter: str) -> None:
    with pytest.raises(DataError) as caught:
        data_vector(write("t.csv", "a\n1\n"), ONE, delimiter=delimiter)
    assert str(caught.value) == (
        f"the delimiter is {delimiter!r}, expected one character\n"
        "  for example '~'; a quote or a line end cannot be one"
    )


def test_rows_do_not_decide_where_lines_are_split(rng: np.random.Generator) -> None:
    fields = rng.choice(["1", "1;1", "1,1", "1|1"], 20)
    path = write("t.csv", "a;b\n" + "".join(f'2;"{field}"\n' for field in fields))
    assert data_vector(path, ONE).counts.tolist() == [0, 20]
