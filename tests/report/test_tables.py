"""Tables of programs, workloads, releases and solutions: all that is known stands in them.

Guards program_tables_and_forecasts.py.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mmopt.driver import solve
from mmopt.errors import TooLargeError
from mmopt.language import Program, check, program_names
from mmopt.language.typeset import plain_words, program_lines
from mmopt.mechanism import Answers
from mmopt.mechanism.release_writing import answers_frame
from mmopt.report import (
    answers_table,
    cones_table,
    given_rows,
    givens_table,
    lines_table,
    pairs_table,
    programs_table,
    queries_table,
    sizes_of,
    solvers_table,
)
from mmopt.report.explain.explanation_text_and_latex import program_listing, wrapped
from mmopt.report.program_tables_and_forecasts import highlighted
from mmopt.results import Solution
from mmopt.workloads import Workload
from tests.report.printed import words


@pytest.fixture(scope="module")
def workload() -> Workload:
    return Workload.from_matrix(np.tri(4), targets=np.ones(4))


@pytest.fixture(scope="module")
def solution(workload: Workload) -> Solution:
    return solve(workload, "query_weighting")


def test_a_solution_is_shown_in_full(solution: Solution) -> None:
    text = words(pairs_table(solution.rows()))
    for name, value in solution.rows():
        assert " ".join(f"{name} {value}".split()) in text


def test_every_program_has_its_tables_and_fits(subtests: pytest.Subtests) -> None:
    for name in program_names():
        with subtests.test(name):
            program = Program.load(name)
            assert highlighted(program.text).plain == program.text
            text = words(givens_table(given_rows(check(program))))
            assert all(f"{d.name} {d.kind}" in text for d in program.givens) and "`" not in text
            rows = words(lines_table(check(program)))
            assert all(c.name in rows for c in program.constraints)
            assert name in words(programs_table([program]))
            lines = [
                (label, text, plain_words(said)) for label, text, said in program_lines(program, "plain")
            ]
            for width in (60, 120):
                listing = program_listing(lines, width)
                assert max(map(len, listing.splitlines())) <= width
                squeezed = "".join(listing.split())
                for label, formula, said in lines:
                    assert all("".join(part.split()) in squeezed for part in (label, formula))
                    assert set("".join(said.split())) <= set(squeezed)
    assert "1993 (SIAM 2006), chapters 6 and 9" in words(programs_table([Program.load("d_optimal_design")]))


def test_a_given_without_source_says_who_passes_it() -> None:
    text = Program.load("query_weighting").text.replace(" = workload.eigenqueries", "")
    assert "you: --given" in words(givens_table(given_rows(check(Program.parse(text)))))


def test_sizes_of_a_program_and_of_a_procedure(workload: Workload) -> None:
    (sizes,) = sizes_of(Program.load("l2_strategy"), workload)
    assert sizes.dims["n"] == 4 and sizes.step == "" and sizes.refusal is None
    assert {s.name: s.missing for s in sizes.solvers}["qoco"] == ("psd",)
    assert "lacks the psd cone" in words(solvers_table(sizes)) and "chosen" in words(solvers_table(sizes))
    assert "nonnegative 1 4 sensitivity" in words(cones_table(sizes))
    (step,) = sizes_of(Program.load("eigen_design"), workload)
    assert (step.program, step.step) == ("query_weighting", "weighting")
    assert {s.name: s.missing for s in step.solvers}["sdpa"] == ("second-order",)


def test_sizes_hold_the_refusal_of_what_is_too_large() -> None:
    (sizes,) = sizes_of(Program.load("min_error"), Workload.from_matrix(np.tri(600)))
    assert isinstance(sizes.refusal, TooLargeError) and sizes.chosen is None
    assert sizes.summary()["refusal"] == str(sizes.refusal)
    assert "over the limit of" in words(solvers_table(sizes))


def test_queries_with_and_without_targets() -> None:
    workload = Workload.from_matrix(np.eye(3), targets=[1.0, 2.0, np.inf], weights=[1.0, 1.0, 4.0])
    assert "queries 3 1 to 4 variance 1 to 2 (1 without)" in words(queries_table(workload))


def test_answers_of_many_groups() -> None:
    m = 15
    errors = np.full(m, 2.5)
    estimates = np.linspace(1000.0, 2000.0, m)
    answers = Answers(
        groups=("all",) * m,
        labels=tuple(f"[q{i}]" for i in range(m)),
        estimates=estimates,
        standard_errors=errors,
        low=estimates - 5,
        high=estimates + 5,
        coverage=np.full(m, 0.9),
        confidence=0.9,
        private=True,
    )

    def table(**changed: Any) -> str:
        return words(answers_table(answers_frame(replace(answers, **changed))))

    text = table()
    assert "90% interval" in text and "[q2]" in text and "[q3]" not in text and "… 12 more" in text
    assert "[q0] 1,000.00 2.50 [995.00, 1,005.00]" in text
    text = table(standard_errors=np.full(m, 1.25e-12), confidence=0.999999999999)
    assert "99.9999999999% interval" in text and "1,000.000000 1.25e-12 [" in text
    outwards = table(low=estimates - 4.996, high=estimates + 1e9 + 4.001)
    assert "[995.00, 1,000,001,004.01]" in outwards
    text = table(groups=tuple(f"group {i}" for i in range(m)))
    assert "group 11" in text and "group 12" not in text and "… 3 groups more" in text
    rules = {name: {"outside": "refuse", "missing": rule} for name, rule in (("a", "drop"), ("b", "other"))}
    manifest = {"privacy": {"neighbours": "add-remove"}, "rows": {"rules": rules}}
    text = words(answers_table(answers_frame(answers), manifest=manifest))
    assert "not for sampling rows without a cell of 'a' are in no answer query" in text


LONG = "nuclear(diag(√q) L B diag(√p)) + sum(first, second) ≤ alpha beta − tr(W X⁻¹ Wᵀ)"


def test_a_long_formula_is_broken_and_nothing_of_it_is_lost() -> None:
    for width in (20, 30, 45, 60, 200):
        lines = wrapped(LONG, width)
        assert " ".join(line.strip() for line in lines) == LONG
        assert max(map(len, lines)) <= width
        assert not lines[0].startswith(" ") and all(line.startswith("    ") for line in lines[1:])
    assert wrapped(LONG, 60) == [
        "nuclear(diag(√q) L B diag(√p)) + sum(first, second)",
        "    ≤ alpha beta − tr(W X⁻¹ Wᵀ)",
    ]
    assert wrapped("f(a + b) + g(c + d)", 14) == ["f(a + b)", "    + g(c + d)"]
    assert wrapped("[a, b; c, d]", 9) == ["[a, b;", "    c, d]"]
    assert wrapped("abcdefghij ≤ 1", 8) == ["abcdefghij", "    ≤ 1"]
    assert wrapped("abcdefghij", 4) == ["abcdefghij"]


def test_short_lines_stand_in_columns(rng: np.random.Generator) -> None:
    said = ["", "some words", "others"]
    lines = [("choose", "x" * int(rng.integers(1, 9)), said[int(rng.integers(3))]) for _ in range(5)]
    for row, (label, formula, beside) in zip(program_listing(lines, 80).splitlines(), lines, strict=True):
        assert row.split() == [label, formula, *beside.split()]
