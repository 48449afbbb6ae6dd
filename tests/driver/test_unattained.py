"""Where an objective has no least value, the line at fault is named; attained optima pass.

Guards why_no_solution.py.
"""

# ruff: noqa: E501 - a message stands on one line, as it is printed

import re

import numpy as np
import pytest
from tolerances import GAP

from mmopt import Program, Workload, solve
from mmopt.compiler import bind
from mmopt.driver.why_no_solution import find_endless
from mmopt.errors import SolverError
from mmopt.language import check

W = Workload.from_matrix(np.tri(4))
TRACE = "trace(W @ inv(X) @ W.T)"


def program(choose: str, objective: str, line: str = "", sense: str = "minimize") -> Program:
    text = f"program t\ngiven\n    W: matrix[m, n] = workload.matrix\nchoose\n    {choose}\n{sense}\n    {objective}\n"
    text += f"subject to\n    {line}\n" if line else ""
    return Program.parse(text + "strategy\n    eye(n) norm 2\n")


def test_what_gets_better_without_end(subtests: pytest.Subtests) -> None:
    number = r"-?[0-9.e+-]+"
    zero = ", and never below 0"
    for choose, objective, line, sense, way, cap, end in [
        ("X: psd[n, n]", TRACE, "", "minimize", "'X' growing", "diag(X) <= 1", zero),
        ("X: psd[n, n]", TRACE, "s: diag(X) >= 1", "minimize", "'X' growing", "diag(X) <= 1", zero),
        ("t: scalar", "exp(t)", "", "minimize", "'t' falling", "t >= 0", zero),
        ("t: scalar\n    u: scalar", "exp(t) + 0 * u", "", "minimize", "'t' falling", "t >= 0", zero),
        ("t: scalar", "-exp(t)", "", "maximize", "'t' falling", "t >= 0", ", and never above 0"),
        ("x: vector[n]", "sum(logistic(W @ x))", "", "minimize", "'x' falling", "x >= 0", zero),
        ("x: vector[n] >= 0", "1 / sum(x)", "", "minimize", "'x' growing", "x <= 1", zero),
        ("x: vector[n] >= 0", "sum(log(x))", "s: sum(x) >= 1", "maximize", "'x' growing", "x <= 1", ""),
    ]:
        with subtests.test(objective=objective, line=line):
            with pytest.raises(SolverError) as error:
                solve(W, program(choose, objective, line, sense))
            moves = "falls" if sense == "minimize" else "rises"
            assert re.fullmatch(
                rf"'t' seems to have no optimum{' that is attained' * bool(end)}, or one with entries beyond "
                rf"[1-9]e\+\d+: every constraint holds with {way}, while the objective {moves} "
                rf"from {number} to {number}{end}\n"
                rf"  add a constraint such as {re.escape(cap)}, or check the sign of the objective and the directions of the constraints",
                str(error.value),
            )


def test_an_optimum_that_is_reached_is_none(subtests: pytest.Subtests) -> None:
    for choose, objective, line, sense, value in [
        ("X: psd[n, n]", TRACE, "diag(X) <= 1", "minimize", 6.874144),
        ("t: scalar", "max(t, 0)", "", "minimize", 0.0),
        ("t: scalar", "max(-t, 0)", "", "minimize", 0.0),
        ("x: scalar\n    y: scalar", "1e-130 * x**2 - x + 0 * y", "s: x >= 0", "minimize", -2.5e129),
        ("x: vector[n]", "norm(x) + sum(huber(x))", "", "minimize", 0.0),
        ("x: vector[n]", "norm(x)", "sum(x) == 1", "minimize", 0.5),
        ("x: vector[n]", "logsumexp(x)", "sum(x) == 1", "minimize", 1.6362943),
        ("x: vector[n]", "sum(x)", "norm(x) <= 1", "maximize", 2.0),
        ("x: vector[n] >= 0", "sum(entropy(x))", "", "maximize", 4 * np.exp(-1.0)),
        ("t: scalar", "(t - 1000)**2", "", "minimize", 0.0),
    ]:
        with subtests.test(choose=choose, objective=objective):
            found = solve(W, program(choose, objective, line, sense))
            assert found.objective == pytest.approx(value, rel=1e-5, abs=1e-6)


def test_what_ends_far_away_is_not_said_to_go_on(subtests: pytest.Subtests) -> None:
    """Beyond where the program was followed."""
    lines = ["abs(x) <= 1e10", "norm(x) <= 1e9", "sum(x**2) <= 1e18", "norm(x, 1) <= 1e9", "x >= -1e10"]
    for line in [*lines, "max(abs(x)) <= 1e8"]:
        with subtests.test(line):
            found = solve(W, program("x: vector[n]", "1e-8 * sum(x)", f"far: {line}"))
            assert found.bound is not None and found.bound <= found.objective
    for line, is_endless in (("x >= -1e120", False), ("x <= 0", True)):
        with subtests.test(line):
            instance = bind(check(program("x: vector[n]", "sum(x)", f"far: {line}")), W)
            assert (find_endless(instance, {"x": -np.ones(4)}) is not None) is is_endless


def test_the_part_without_a_value_is_named() -> None:
    text = "program t\ngiven\n    a: vector[n]\nchoose\n    x: vector[n]\nmaximize\n    sum(log(x))\nsubject to\n    x <= -a\n"
    with pytest.raises(SolverError) as refused:
        solve(np.eye(2), Program.parse(text), givens={"a": np.array([3.0, 1.0, 4.0])}, solver="clarabel")
    first, hint = str(refused.value).splitlines()
    assert first.endswith(
        "its objective has no finite value (PrimalInfeasible): 'log(x)' has none at entry 0"
    )
    assert hint == (
        "  relax the constraints, check signs and data, or allow more time or iterations, or try another solver"
    )


def test_a_line_far_out_is_in_the_way(subtests: pytest.Subtests) -> None:
    """Each is missed there by little of its terms, or speaks of large entries; the optimum is known."""
    for lines, largest in [
        ("up: x - y <= 1\n    down: y - 0.999999 * x <= 1", 2e6),
        ("far: 1e-40 * x + 1e-40 * y <= 1", 1e40),
    ]:
        text = "program t\nchoose\n    x: scalar >= 0\n    y: scalar >= 0\nmaximize\n    x\nsubject to\n    "
        with subtests.test(lines):
            try:
                assert solve(W, Program.parse(f"{text}{lines}\n")).objective == pytest.approx(
                    largest, rel=GAP
                )
            except SolverError as error:
                assert not re.search("seems|no feasible point", str(error)), error


def test_a_point_that_rounding_alone_calls_feasible_is_no_solution() -> None:
    """A hyperbola comes as near to its asymptote as one likes, and the bound is above such a point."""
    text = "program t\nchoose\n    x: scalar\n    t: scalar\nminimize\n    t\n"
    text += "subject to\n    branch: norm([[x], [1]], fro) <= t\n    asymptote: t == x\n"
    with pytest.raises(SolverError, match="was not decided"):
        solve([[1]], Program.parse(text))


def test_a_single_feasible_point_without_slope_is_no_contradiction() -> None:
    """Misses there are worth more than any multiplier says: the objective is estimated."""
    for line in ("log(x) >= x - 1", "exp(x - 1) <= x"):
        text = f"program t\nchoose\n    x: scalar\nmaximize\n    x\nsubject to\n    l: {line}\n"
        s = solve([[1]], Program.parse(text))
        assert s.objective_grade == "estimated" and s.objective <= s.bound
        assert s.objective == pytest.approx(1.0, rel=GAP)
