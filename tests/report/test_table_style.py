"""Words and numbers of the tables."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from mmopt.report import pairs_table, paragraphs
from mmopt.report.release_tables import decimals
from mmopt.report.table_style import (
    counted,
    duration,
    figure,
    gap,
    memory,
    rows_table,
    shortened,
    storage,
)

pytestmark = pytest.mark.quick


def printed(part: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(part)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (60, "60 s"),
        (600, "10 min"),
        (36_000, "10 h"),
        (864_000, "10 days"),
        (1e15, "1e+10 days"),
    ],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1, "1 MiB"),
        (160 * 2**20, "160 MiB"),
        (2.44 * 2**30, "2.4 GiB"),
        (3100 * 2**30, "3,100 GiB"),
        (2e9 * 2**30, "2e+09 GiB"),
    ],
)
def test_memory(size: float, words: str) -> None:
    assert memory(size) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (8, "8 B"),
        (999, "999 B"),
        (1000, "0.977 KiB"),
        (162_112, "158 KiB"),
        (16_619_939_840, "15.5 GiB"),
        (22 * 2**40, "22 TiB"),
        (8e30, "7.28e+18 TiB"),
    ],
)
def test_storage(size: float, words: str) -> None:
    assert storage(size) == words


def test_numbers_that_are_not_there() -> None:
    assert (figure(None), gap(None), figure(1 / 3), gap(0.0123)) == ("-", "-", "0.333333", "1.3e-02")
    assert (counted(1, "query"), counted(1000, "query"), counted(2, "cell")) == (
        "1 query",
        "1,000 queries",
        "2 cells",
    )
    assert (shortened(["a", "b"]), shortened(["a", "b", "c"], 2)) == ("a; b", "a; b; …")


@pytest.mark.parametrize(
    ("error", "places"), [(9.99999, 1), (14.1, 1), (123.0, 0), (0.05, 4), (0.0, 0), (1e-9, 6)]
)
def test_decimals(error: float, places: int) -> None:
    assert decimals(error) == places


def test_names_are_not_read_as_markup() -> None:
    table = rows_table(("name", "n"), [("[red]x[/red]", "1")], right=("n",))
    assert "[red]x[/red]" in printed(table)
    assert printed(pairs_table([("[b]", "[/b]")])) == "[b]  [/b]"


def test_numbers_are_never_cut() -> None:
    rows = [("a name that is folded " * 4, "123456789012345678901234567890")]
    table = rows_table(("name", "n"), rows, right=("n",))
    assert "123456789012345678901234567890" in printed(table, 40)


def test_paragraphs_are_wrapped_and_formulas_kept() -> None:
    text = "one\ntwo\n\nthree\n    a = b\nfour\n"
    assert paragraphs(text).plain == "one two\n\nthree\n    a = b\nfour\n"
