"""Numbers of the tables in few digits and words, never cut; texts are wrapped and never read as markup.

Guards accuracy_release_and_ledger_tables.py.
"""

import pytest

from mmopt.errors import counted
from mmopt.report import pairs_table, paragraphs
from mmopt.report.accuracy_release_and_ledger_tables import decimals
from mmopt.report.table_style import duration, figure, gap, memory, rows_table, shortened, storage
from tests.report.printed import printed


def test_sizes_in_words(subtests: pytest.Subtests) -> None:
    for words_of, value, words in (
        (duration, 0.04, "0.0 s"),
        (duration, 9.94, "9.9 s"),
        (duration, 60, "60 s"),
        (duration, 600, "10 min"),
        (duration, 36_000, "10 h"),
        (duration, 864_000, "10 days"),
        (duration, 1e15, "1e+10 days"),
        (memory, 1, "1 MiB"),
        (memory, 160 * 2**20, "160 MiB"),
        (memory, 2.44 * 2**30, "2.4 GiB"),
        (memory, 3100 * 2**30, "3,100 GiB"),
        (memory, 2e9 * 2**30, "2e+09 GiB"),
        (storage, 8, "8 B"),
        (storage, 999, "999 B"),
        (storage, 1000, "0.977 KiB"),
        (storage, 162_112, "158 KiB"),
        (storage, 16_619_939_840, "15.5 GiB"),
        (storage, 22 * 2**40, "22 TiB"),
        (storage, 8e30, "7.28e+18 TiB"),
    ):
        with subtests.test(words):
            assert words_of(value) == words


def test_numbers_that_are_not_there() -> None:
    assert (figure(None), gap(None), figure(1 / 3), gap(0.0123)) == ("-", "-", "0.333333", "1.3e-02")
    assert (counted(1, "query"), counted(1000, "query"), counted(2, "cell")) == (
        "1 query",
        "1,000 queries",
        "2 cells",
    )
    assert (shortened(["a", "b"]), shortened(["a", "b", "c"], 2)) == ("a; b", "a; b; …")


def test_decimals_of_an_answer_follow_its_error() -> None:
    errors = {9.99999: 1, 14.1: 1, 123.0: 0, 0.05: 4, 0.0: 0, 1e-9: 6}
    assert {error: decimals(error) for error in errors} == errors


def test_names_are_not_read_as_markup() -> None:
    table = rows_table(("name", "n"), [("[red]x[/red]", "1")], right=("n",))
    assert "[red]x[/red]" in printed(table)
    assert printed(pairs_table([("[b]", "[/b]")])).strip() == "[b]  [/b]"


def test_numbers_are_never_cut() -> None:
    rows = [("a name that is folded " * 4, "123456789012345678901234567890")]
    table = rows_table(("name", "n"), rows, right=("n",))
    assert "123456789012345678901234567890" in printed(table, 40)


def test_paragraphs_are_wrapped_and_formulas_kept() -> None:
    text = "one\ntwo\n\nthree\n    a = b\nfour\n"
    assert paragraphs(text).plain == "one two\n\nthree\n    a = b\nfour\n"
