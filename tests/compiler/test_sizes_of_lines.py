"""Ranges, variables, givens and indices that the sizes of a workload leave nothing for, by their place."""

import numpy as np
import pytest

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


@pytest.mark.quick
def test_what_is_not_there_is_refused(subtests: pytest.Subtests) -> None:
    for words, message in [
        (
            {"objective": "sum(x) + sum(x[i] for i in n - 4)"},
            "own.program:9:27: 'i' runs over n - 4, which is -1 here\n"
            "        sum(x) + sum(x[i] for i in n - 4)\n"
            f"                              ^\n  {LESS}",
        ),
        (
            {"line": "x[i] >= 1 for i in n - 4"},
            "own.program:11:22: 'i' runs over n - 4, which is -1 here\n"
            "        a: x[i] >= 1 for i in n - 4\n"
            f"                         ^^^^^^^^^^\n  {LESS}",
        ),
        (
            {"objective": "sum(x) + max(x[i] for i in n - 3)"},
            "own.program:9:27: there is no max of no numbers: 'i' runs over n - 3, which is 0 here\n"
            "        sum(x) + max(x[i] for i in n - 3)\n"
            f"                              ^\n  {MORE}",
        ),
        (
            {"chosen": "t: vector[n - 4]"},
            "own.program:7:5: 't' has no entries: n - 4 is -1 here\n"
            f"        t: vector[n - 4]\n        ^\n  {MORE}",
        ),
        (
            {"line": "x[21] >= 1"},
            "own.program:11:10: an index of 'x' is 21, expected 0 to 2\n"
            "        a: x[21] >= 1\n             ^^\n  entries are counted from 0",
        ),
        (
            {"line": "max(stack(0 * W, 0 * W) @ x) <= 1"},
            "own.program:11:12: 'stack(0 * W, 0 * W)' has no rows here\n"
            "        a: max(stack(0 * W, 0 * W) @ x) <= 1\n               ^^^^^^^^^^^^^^^^^^^",
        ),
        (
            {"objective": "sum(x[i] * W[5, i] for i in n)"},
            "own.program:9:18: an index of 'W' is 5, expected 0 to 2\n"
            "        sum(x[i] * W[5, i] for i in n)\n                     ^\n  entries are counted from 0",
        ),
    ]:
        with subtests.test(words=words, message=message):
            with pytest.raises(OptionError) as error:
                bind(own(**words), Workload.from_matrix(np.eye(3)), {"c": 1.0})
            assert str(error.value) == message


def test_an_empty_given_is_refused(subtests: pytest.Subtests) -> None:
    for array in [np.zeros((0, 3)), np.zeros((3, 0))]:
        with subtests.test(array=array):
            with pytest.raises(OptionError) as error:
                bind(own(given="c: matrix[k, p]"), Workload.from_matrix(np.eye(3)), {"c": array})
            assert str(error.value) == (
                f"own.program:4:5: the given 'c' has no entries, its shape is {array.shape}\n"
                "        c: matrix[k, p]\n        ^"
            )


def test_an_empty_sum_is_zero_and_powers_have_a_bound_each() -> None:
    program = own("sum(2**i * x[i] for i in n) + sum(x[i] for i in n - 3)")
    s = solve(np.eye(3), program, givens={"c": 1.0})
    assert s.objective == pytest.approx(7.0, abs=1e-7) and s.bound == pytest.approx(7.0, abs=1e-7)


def test_the_rows_of_a_factor_are_those_of_its_value() -> None:
    text = own("sum((F @ x)**2)", given="Q: psd[n, n]").text
    text = text.replace("choose", "let\n    F = factor(Q)\nchoose")
    s = solve(np.eye(3), Program.parse(text), givens={"Q": np.diag([1.0, 2.0, 3.0])})
    assert s.objective == pytest.approx(6.0, abs=1e-6)


@pytest.mark.quick
def test_rows_that_only_the_numbers_tell_may_stand_in_a_line(subtests: pytest.Subtests) -> None:
    for objective, line, least in [
        ("sum(x)", "stack(W, 2 * W) @ x >= 2", 6.0),
        ("sum(stack(W, stack(W, W)) @ x)", "x >= 1", 9.0),
        ("sum(x)", "used_rows(W, ones(m)) @ x >= 1", 3.0),
        ("sum(x)", "consecutive(ones(n), 2) @ x >= 1", 2.0),
        ("sum(leading(ones(n), 1) @ x)", "windows(ones(n), 2) @ x >= 1", 1.0),
        ("sum(x)", "row_basis(W) @ x >= 1", 3.0),
    ]:
        with subtests.test(objective=objective, line=line, least=least):
            text = own(objective, line).text.replace("x: vector[n]", "x: vector[n] >= 0")
            s = solve(np.eye(3), Program.parse(text), givens={"c": 1.0})
            assert s.objective == pytest.approx(least, abs=1e-6) and s.bound == pytest.approx(least, abs=1e-6)


def test_such_rows_are_named_where_they_cannot_hold() -> None:
    program = own(line="stack(W, 2 * W) @ x >= 1").text.replace("b: t == 1", "b: sum(x) <= -1")
    with pytest.raises(SolverError) as error:
        solve(np.eye(3), Program.parse(program), givens={"c": 1.0})
    first = str(error.value).splitlines()[0]
    assert first == "'own' has no feasible point: 'a' (entries 0, 1, 2) and 'b' cannot hold together"


def test_such_rows_may_not_depend_on_an_index() -> None:
    with pytest.raises(ProgramError) as error:
        bind(
            own(line="sum(stack(i * W, W) @ x) >= 1 for i in n"), Workload.from_matrix(np.eye(3)), {"c": 1.0}
        )
    assert str(error.value) == (
        "own.program:11:12: how many rows 'stack(i * W, W)' has may differ from one 'i' to the next\n"
        "        a: sum(stack(i * W, W) @ x) >= 1 for i in n\n"
        "               ^^^^^^^^^^^^^^^\n  take the index out of it"
    )
