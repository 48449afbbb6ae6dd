"""Which line keeps a program from being evaluated by component."""

import pytest
from own_texts import edited

from mmopt.language import Program
from mmopt.language.evaluate.split_values import without_form

PROGRAMS = [
    "l2_strategy",
    "weighted_l2",
    "fitness_for_use",
    "fitness_penalty",
    "fitness_budget",
    "fitness_hybrid",
]


def test_programs_whose_every_line_has_a_form(subtests: pytest.Subtests) -> None:
    for name in PROGRAMS:
        with subtests.test(name):
            assert without_form(Program.load(name)) == ""


NONE = [
    ("l2_strategy_block", "the block matrix in 'block'"),
    ("l2_strategy_lmi", "the family 'lmi' (not one vector inequality)"),
    ("fitness_lmi", "the family 'privacy' (not one vector inequality)"),
]


def test_shipped_programs_with_a_line_that_has_none(subtests: pytest.Subtests) -> None:
    for name, what in NONE:
        with subtests.test(name):
            assert without_form(Program.load(name)) == what


EDITED = [
    ("diag(X) <= 1", "X[0, 0] <= 1", "an index in 'sensitivity'"),
    ("diag(X) <= 1", "sum(abs(X), axis=0) <= 1", "'sum' in 'sensitivity'"),
    ("X = X / max(diag(X))", "X = X / max(diag(X)) + eye(n)", "'eye' in 'repair of X'"),
    ("/ sum(d)", "/ sum(d * ones(n))", "'ones' in 'the certificate'"),
    ("factor(X) norm 2", "factor(X + eye(n)) norm 2", "'eye' in 'strategy'"),
]


def test_edited_lines(subtests: pytest.Subtests) -> None:
    for old, new, what in EDITED:
        with subtests.test(old):
            assert without_form(edited("l2_strategy", (old, new))) == what
