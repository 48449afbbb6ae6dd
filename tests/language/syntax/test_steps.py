"""Blocks of steps: how they are read, and what comes back. Guards check/sections_after_constraints.py too."""

import pytest
from edited_programs import typeset_text

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


def test_what_is_assigned_again_has_its_new_shape() -> None:
    types = check(Program.load("eigen_design")).scope.types
    assert str(types["weighting.strategy"].dims[1]) == str(types["A"].dims[1]) == "n"
    assert types["A"].dims[0] != types["weighting.strategy"].dims[0]
    assert types["weighting.objective"].is_scalar


def test_blocks_are_printed_indented() -> None:
    lines = typeset_text(Program.parse(TEXT)).split("\n")
    at = next(i for i, line in enumerate(lines) if "repeat rounds" in line)
    assert lines[at].split("repeat")[1] == " rounds times or until total ≤ 1"
    indents = [len(line) - len(line.lstrip()) for line in lines[at : at + 5]]
    assert indents[1] == indents[0] + 4 and indents[3] == indents[0] + 8 and indents[4] == indents[1]
