"""Long formulas broken within a width."""

from __future__ import annotations

import numpy as np
import pytest

from mmopt.language import Program, program_names
from mmopt.language.print.program_layout import program_lines
from mmopt.language.print.prose_formulas import plain_words
from mmopt.report.program_tables import program_listing, wrapped

LONG = "nuclear(diag(√q) L B diag(√p)) + sum(first, second) ≤ alpha beta − tr(W X⁻¹ Wᵀ)"


@pytest.mark.parametrize("width", [20, 30, 45, 60, 200])
def test_nothing_is_lost_and_lines_fit(width: int) -> None:
    lines = wrapped(LONG, width)
    assert " ".join(line.strip() for line in lines) == LONG
    assert max(map(len, lines)) <= width
    assert not lines[0].startswith(" ") and all(line.startswith("    ") for line in lines[1:])


def test_where_it_breaks() -> None:
    assert wrapped(LONG, 60) == [
        "nuclear(diag(√q) L B diag(√p)) + sum(first, second)",
        "    ≤ alpha beta − tr(W X⁻¹ Wᵀ)",
    ]
    assert wrapped("f(a + b) + g(c + d)", 14) == ["f(a + b)", "    + g(c + d)"]
    assert wrapped("[a, b; c, d]", 9) == ["[a, b;", "    c, d]"]


def test_a_word_that_does_not_fit_stays_whole() -> None:
    assert wrapped("abcdefghij ≤ 1", 8) == ["abcdefghij", "    ≤ 1"]
    assert wrapped("abcdefghij", 4) == ["abcdefghij"]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", program_names())
def test_a_program_fits(name: str, width: int) -> None:
    printed = program_lines(Program.load(name), "plain")
    lines = [(label, text, plain_words(words)) for label, text, words in printed]
    listing = program_listing(lines, width)
    assert max(map(len, listing.splitlines())) <= width
    squeezed = "".join(listing.split())
    for label, formula, words in lines:
        for part in (label, formula):
            assert "".join(part.split()) in squeezed
        assert set("".join(words.split())) <= set(squeezed)


def test_short_lines_stand_as_before(rng: np.random.Generator) -> None:
    words = ["", "some words", "others"]
    lines = [("choose", "x" * int(rng.integers(1, 9)), words[int(rng.integers(3))]) for _ in range(5)]
    for row, (label, formula, beside) in zip(program_listing(lines, 80).splitlines(), lines, strict=True):
        assert row.split() == [label, formula, *beside.split()]
