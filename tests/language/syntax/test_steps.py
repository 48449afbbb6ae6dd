"""Blocks of steps: how they are read, what comes back, and their mistakes."""

from collections.abc import Callable

import pytest
from own_texts import typeset_text

from mmopt.language import Program, check, to_source
from mmopt.language.syntax.syntax_tree import Assignment, Repeat, SubProgram

TEXT = """program blocks
class procedure
given
    W: matrix[r, n] = workload.root
    Q: matrix[h, n] = workload.eigenqueries
parameter
    rounds = 3
steps
    fit = solve(query_weighting, Q=Q)
    total = fit.objective
    repeat rounds until total <= 1:   # a comment
        inner = solve(group_weighting, Q=Q,
                      u0=ones(h))
        repeat 2:
            total = total / 2
        total = total + sum(inner.t)
    alternate 5:
        fit = solve(query_weighting, Q=Q)
    A = fit.strategy
minimize
    trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 2
"""


@pytest.mark.quick
def test_blocks_are_read_with_what_is_below_them() -> None:
    first, second, loop, settle, last = Program.parse(TEXT).steps
    assert isinstance(first, SubProgram) and isinstance(second, Assignment) and isinstance(last, Assignment)
    assert isinstance(loop, Repeat) and not loop.settles and loop.until is not None
    assert to_source(loop.times) == "rounds" and loop.until.op == "<="
    solve, inner, after = loop.steps
    assert isinstance(solve, SubProgram) and [name for name, _ in solve.arguments] == ["Q", "u0"]
    assert isinstance(inner, Repeat) and [s.span.line for s in inner.steps] == [15]
    assert isinstance(after, Assignment) and (after.span.line, after.span.column) == (16, 9)
    assert isinstance(settle, Repeat) and settle.settles and settle.until is None


def test_results_have_the_shapes_of_the_solved_program() -> None:
    types = check(Program.parse(TEXT)).scope.types
    assert str(types["inner.sensitivity"].dims[0]) == "n"
    assert types["inner.t"].dims == types["inner.v"].dims and types["inner.t"].sign == 1
    assert types["fit.objective"].is_scalar and str(types["fit.strategy"].dims[1]) == "n"


def test_blocks_are_printed_indented() -> None:
    lines = typeset_text(Program.parse(TEXT)).split("\n")
    at = next(i for i, line in enumerate(lines) if "repeat rounds" in line)
    assert lines[at].split("repeat")[1] == " rounds times or until total ≤ 1"
    indents = [len(line) - len(line.lstrip()) for line in lines[at : at + 5]]
    assert indents[1] == indents[0] + 4 and indents[3] == indents[0] + 8 and indents[4] == indents[1]


MISTAKES = [
    ("repeat 2:", "«repeat» 2", "a ':' is missing after 'repeat …'", "write: repeat 10: and steps below"),
    ("repeat 2:", "«repeat»:", "'repeat' says how often at most", "write: repeat 10:"),
    ("repeat 2:", "repeat «ones(n)»:", "a number of times is a number, this is a vector of length n", ""),
    (
        "repeat 2:",
        "repeat 2 until «ones(n)» <= 1:",
        "'until' compares two numbers, this is a vector of length n",
        "",
    ),
    (
        "alternate 5:",
        "alternate 5 until «total <= 1»:",
        "'alternate' ends by itself, when the objective of its last step falls no more",
        "write 'repeat' for another end",
    ),
    (
        "    alternate 5:\n        fit = solve(query_weighting, Q=Q)",
        "    «alternate» 5:\n        total = 2",
        "'alternate' ends by the objective of its last step that solves, and none does",
        "write 'repeat'",
    ),
    (
        "    alternate 5:\n        fit = solve(query_weighting, Q=Q)",
        "    «alternate» 5:",
        "'alternate' has no steps",
        "indent them deeper, below it",
    ),
    (
        "total <= 1:",
        "«inner.objective» <= 1:",
        "'inner.objective' is not defined",
        "did you mean 'fit.objective'?",
    ),
    (
        "    alternate 5:\n        fit = solve(query_weighting, Q=Q)",
        "    alternate 5:\n        «fit» = solve(group_weighting, Q=Q)",
        "'fit' is the result of 'query_weighting' already",
        "use another name",
    ),
    (
        "total = total / 2",
        "«fit» = total / 2",
        "'fit' is the result of a step; an assignment cannot change it",
        "use another name",
    ),
    (
        "solve(query_weighting, Q=Q)\n    A",
        "solve(query_weighting, Q=Q, start=«fit»)\n    A",
        "'query_weighting' is of class 'convex': its result does not depend on a start",
        "leave out 'start'",
    ),
    (
        "solve(query_weighting, Q=Q)\n    A",
        "solve(query_weighting, Q=Q, start=«Q»)\n    A",
        "a start is the name of an earlier step",
        "write: start=fit",
    ),
    (
        "minimize",
        "«bound»\n    fitness_for_use\nminimize",
        "there is no program 'fitness_for_use' whose bound could hold",
        "known: group_weighting, l2_strategy, query_weighting",
    ),
]


def test_mistake_in_a_block(subtests: pytest.Subtests, refused: Callable[[str, str, str], None]) -> None:
    for old, new, message, hint in MISTAKES:
        with subtests.test(message):
            assert old in TEXT
            refused(TEXT.replace(old, new, 1), message, hint)
