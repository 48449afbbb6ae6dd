"""The clauses of constraints over several indices, or with a condition, and their ways of writing.

Guards syntax_tree.py, parse_statements.py.
"""

from collections.abc import Callable

import pytest

from mmopt.language import Program, check, to_source
from mmopt.language.syntax.syntax_tree import Entries, Relation

PARAMETER = "parameter\n    b: dim = 2\n"


def relation(program: Callable[..., str], line: str) -> Relation:
    text = program(constraint=line).replace("choose", PARAMETER + "choose", 1)
    return check(Program.parse(text)).program.constraints[0].relation


WAYS = [
    "X[i, j] == 0 for i, j in n if |i - j| >= b",
    "X[i, j] == 0 for i in n, j in n if |i - j| >= b",
    "X[i, j] == 0 for i in n for j in n if |i - j| >= b",
    "X[i, j] == 0 for i, j in n if abs(i - j) >= b",
    "X[i, j] == 0 for |i - j| >= b",
    "off: X[i, j] == 0 for |i - j| >= b",
]


@pytest.mark.quick
def test_ways_of_writing_one_mask(subtests: pytest.Subtests, program: Callable[..., str]) -> None:
    for line in WAYS:
        with subtests.test(line):
            first = relation(program, "X[i, j] == 0 for i, j in n if |i - j| >= b")
            assert relation(program, line) == first
            assert isinstance(first.left, Entries)
            assert to_source(first.left) == "X[i, j] for i in n for j in n if abs(i - j) >= b"


def test_every_relation_between_indices(subtests: pytest.Subtests, program: Callable[..., str]) -> None:
    for op in ("<=", ">=", "==", "<", ">", "!="):
        with subtests.test(op):
            left = relation(program, f"X[i, j] <= 1 for i, j in n if i {op} j").left
            assert isinstance(left, Entries) and [r.op for r in left.where] == [op]


def test_one_index_without_a_condition_is_a_family(program: Callable[..., str]) -> None:
    checked = check(Program.parse(program(constraint="X[j, j] <= 1 for j in n")))
    assert checked.program.constraints[0].family is not None
