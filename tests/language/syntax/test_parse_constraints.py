"""The clauses of constraints over several indices, or with a condition: ways of writing, and mistakes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mmopt.language import Program, check, to_source
from mmopt.language.syntax.syntax_tree import Entries, Relation

PARAMETER = "parameter\n    b: dim = 2\n"


def relation(program: Callable[..., str], line: str) -> Relation:
    text = program(constraint=line).replace("choose", PARAMETER + "choose", 1)
    return check(Program.parse(text)).program.constraints[0].relation


@pytest.mark.quick
@pytest.mark.parametrize(
    "line",
    [
        "X[i, j] == 0 for i, j in n if |i - j| >= b",
        "X[i, j] == 0 for i in n, j in n if |i - j| >= b",
        "X[i, j] == 0 for i in n for j in n if |i - j| >= b",
        "X[i, j] == 0 for i, j in n if abs(i - j) >= b",
        "X[i, j] == 0 for |i - j| >= b",
        "off: X[i, j] == 0 for |i - j| >= b",
    ],
)
def test_ways_of_writing_one_mask(line: str, program: Callable[..., str]) -> None:
    first = relation(program, "X[i, j] == 0 for i, j in n if |i - j| >= b")
    assert relation(program, line) == first
    assert isinstance(first.left, Entries)
    assert to_source(first.left) == "X[i, j] for i in n for j in n if abs(i - j) >= b"


@pytest.mark.parametrize("op", ["<=", ">=", "==", "<", ">", "!="])
def test_every_relation_between_indices(op: str, program: Callable[..., str]) -> None:
    left = relation(program, f"X[i, j] <= 1 for i, j in n if i {op} j").left
    assert isinstance(left, Entries) and [r.op for r in left.where] == [op]


def test_one_index_without_a_condition_is_a_family(program: Callable[..., str]) -> None:
    checked = check(Program.parse(program(constraint="X[j, j] <= 1 for j in n")))
    assert checked.program.constraints[0].family is not None


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("X[i, j] == 0 for «i, j»", "a family of constraints says over what it runs", "write: for j in m"),
        (
            "X[i, j] == 0 for i in n, «j»",
            "a family of constraints says over what it runs",
            "write: for j in m",
        ),
        (
            "X[i, j] == 0 for i, j in n if «i»",
            "a condition on indices is one relation",
            "for example: if |i - j| >= b",
        ),
        (
            "X[i, j] == 0 for i, «i» in n",
            "'i' has another meaning already",
            "name the index of this family otherwise",
        ),
        (
            "X[i, j] == 0 for i, «u» in n",
            "'u' has another meaning already",
            "name the index of this family otherwise",
        ),
        ("(X + X)[i, i] == 0 for «i > 0»", "nothing says over what 'i' runs", "write: for i in n if …"),
        (
            "X[i, j] == 0 for i, j in n if |i - j| >= «q»",
            "'q' is not defined",
            "known: G, W, X, i, j, m, n, u",
        ),
        (
            "«X» >> 0 for i, j in n",
            "a number is expected for each i, j, this is a matrix (n, n)",
            "a family of vectors or of matrix inequalities has one index and no condition",
        ),
        (
            "X[«i», j] == 0 for i in m, j in n",
            "'i' runs over m, the entries here are counted by n",
            "write: for i in n",
        ),
    ],
)
def test_a_mistake_in_a_clause(
    line: str, message: str, hint: str, program: Callable[..., str], refused: Callable[[str, str, str], None]
) -> None:
    refused(program(constraint=line), message, hint)
