"""Ranges, variables, givens and indices that the sizes of a workload leave nothing for, by their place.

Guards lines_and_cones.py.
"""

import numpy as np
import pytest
from edited_programs import without_reach

from mmopt import Program, Workload, solve
from mmopt.compiler import bind
from mmopt.errors import OptionError, ProgramError, SolverError

TEXT = """program own
given
    W: matrix[m, n] = workload.matrix
    {given}
choose
    x: vector[n]
    {chosen}
minimize
    {objective}
subject to
    a: {line}
    b: t == 1
"""


def own(
    objective: str = "sum(x)", line: str = "x >= 1", chosen: str = "t: scalar >= 0", given: str = "c: scalar"
) -> Program:
    text = TEXT.format(objective=objective, line=line, chosen=chosen, given=given)
    return Program.parse(text, "own.program")


MORE = "ask about more cells, or leave it out"
LESS = "a range may be empty (0), not less: ask about more cells"
COUNTED = "entries are counted from 0"


def said(program: Program, row: int, column: int, message: str, marked: int = 1, hint: str = "") -> str:
    """The message at a place of the program, of whose line so many letters are marked."""
    line, caret = program.text.split("\n")[row - 1], " " * (column + 3) + "^" * marked
    return f"own.program:{row}:{column}: {message}\n    {line}\n{caret}" + f"\n  {hint}" * bool(hint)


def test_what_is_not_there_is_refused(subtests: pytest.Subtests) -> None:
    range_of, entry = "'i' runs over n - 4, which is -1 here", "is {}, expected 0 to 2"
    for program, *place in (
        (own("sum(x) + sum(x[i] for i in n - 4)"), 9, 27, range_of, 1, LESS),
        (own(line="x[i] >= 1 for i in n - 4"), 11, 22, range_of, 10, LESS),
        (
            own("sum(x) + max(x[i] for i in n - 3)"),
            *(9, 27, "there is no max of no numbers: 'i' runs over n - 3, which is 0 here", 1, MORE),
        ),
        (
            own(line="diff(diff(diff(x))) >= 0"),
            *(11, 8, "'diff(diff(x))' has one entry, and 'diff' needs two: n - 2 is 1 here", 19, MORE),
        ),
        (own(chosen="t: vector[n - 4]"), 7, 5, "'t' has no entries: n - 4 is -1 here", 1, MORE),
        (own(line="x[21] >= 1"), 11, 10, f"an index of 'x' {entry.format(21)}", 2, COUNTED),
        (own(line="max(stack(0 * W, 0 * W) @ x) <= 1"), 11, 12, "'stack(0 * W, 0 * W)' has no rows here", 19),
        (own("sum(x[i] * W[5, i] for i in n)"), 9, 18, f"an index of 'W' {entry.format(5)}", 1, COUNTED),
    ):
        with subtests.test(place[2]):
            with pytest.raises(OptionError) as error:
                bind(program, Workload.from_matrix(np.eye(3)), {"c": 1.0})
            assert str(error.value) == said(program, *place)


def test_an_empty_given_is_refused() -> None:
    program = own(given="c: matrix[k, p]")
    for array in (np.zeros((0, 3)), np.zeros((3, 0))):
        with pytest.raises(OptionError) as error:
            bind(program, Workload.from_matrix(np.eye(3)), {"c": array})
        message = f"the given 'c' has no entries, its shape is {array.shape}"
        assert str(error.value) == said(program, 4, 5, message)


def test_an_empty_sum_is_zero_and_powers_have_a_bound_each() -> None:
    program = own("sum(2**i * x[i] for i in n) + sum(x[i] for i in n - 3)")
    s = solve(np.eye(3), program, givens={"c": 1.0})
    assert s.objective == pytest.approx(7.0, abs=1e-7) and s.bound == pytest.approx(7.0, abs=1e-7)


def test_the_rows_of_a_factor_are_those_of_its_value() -> None:
    text = own("sum((F @ x)**2)", given="Q: psd[n, n]").text
    text = text.replace("choose", "let\n    F = factor(Q)\nchoose")
    s = solve(np.eye(3), Program.parse(text), givens={"Q": np.diag([1.0, 2.0, 3.0])})
    assert s.objective == pytest.approx(6.0, abs=1e-6)


def test_rows_that_only_the_numbers_tell_may_stand_in_a_line(subtests: pytest.Subtests) -> None:
    for objective, line, least in [
        ("sum(x)", "stack(W, 2 * W) @ x >= 2", 6.0),
        ("sum(stack(W, stack(W, W)) @ x)", "x >= 1", 9.0),
        ("sum(x)", "used_rows(W, ones(m)) @ x >= 1", 3.0),
        ("sum(x)", "consecutive(ones(n), 2) @ x >= 1", 2.0),
        ("sum(leading(ones(n), 1) @ x)", "windows(ones(n), 2) @ x >= 1", 1.0),
        ("sum(x)", "row_basis(W) @ x >= 1", 3.0),
    ]:
        with subtests.test(objective, line=line):
            text = own(objective, line).text.replace("x: vector[n]", "x: vector[n] >= 0")
            s = solve(np.eye(3), Program.parse(text), givens={"c": 1.0})
            assert s.objective == pytest.approx(least, abs=1e-6) and s.bound == pytest.approx(least, abs=1e-6)


def test_such_rows_are_named_where_they_cannot_hold() -> None:
    program = own(line="stack(W, 2 * W) @ x >= 1").text.replace("b: t == 1", "b: sum(x) <= -1")
    with pytest.raises(SolverError) as error:
        solve(np.eye(3), Program.parse(program), givens={"c": 1.0})
    first = without_reach(str(error.value)).splitlines()[0]
    assert first == "'own' has no feasible point: 'a' and 'b' cannot hold together"


def test_such_rows_may_not_depend_on_an_index() -> None:
    program = own(line="sum(stack(i * W, W) @ x) >= 1 for i in n")
    with pytest.raises(ProgramError) as error:
        bind(program, Workload.from_matrix(np.eye(3)), {"c": 1.0})
    message = "how many rows 'stack(i * W, W)' has may differ from one 'i' to the next"
    assert str(error.value) == said(program, 11, 12, message, 15, "take the index out of it")
