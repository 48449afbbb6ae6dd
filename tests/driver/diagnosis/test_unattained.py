"""A forgotten 'subject to', a constraint the wrong way round, an exponential: the full text; attained optima pass."""

# ruff: noqa: E501 - a message stands on one line, as it is printed

import re

import numpy as np
import pytest

from mmopt import Program, Workload, solve
from mmopt.errors import SolverError

W = Workload.from_matrix(np.tri(4))
TRACE = "trace(W @ inv(X) @ W.T)"


def program(choose: str, objective: str, line: str = "", sense: str = "minimize") -> Program:
    text = f"program t\ngiven\n    W: matrix[m, n] = workload.matrix\nchoose\n    {choose}\n{sense}\n    {objective}\n"
    text += f"subject to\n    {line}\n" if line else ""
    return Program.parse(text + "strategy\n    eye(n) norm 2\n")


NONE = "the program has no 'subject to': add it, with a constraint such as"
ENDLESS = [
    ("X: psd[n, n]", TRACE, "", "least", "falls", "'X' grows", f"{NONE} diag(X) <= 1"),
    (
        "X: psd[n, n]",
        TRACE,
        "s: diag(X) >= 1",
        "least",
        "falls",
        "'X' grows",
        "add a constraint such as diag(X) <= 1, or turn 's' round: is <= meant?",
    ),
    ("t: scalar", "exp(t)", "", "least", "falls", "'t' falls", f"{NONE} t >= 0"),
    ("x: vector[n] >= 0", "1 / sum(x)", "", "least", "falls", "'x' grows", f"{NONE} x <= 1"),
    (
        "x: vector[n] >= 0",
        "sum(log(x))",
        "s: sum(x) >= 1",
        "largest",
        "rises",
        "'x' grows",
        "add a constraint such as x <= 1, or turn 's' round: is <= meant?",
    ),
]


def test_what_gets_better_without_end(subtests: pytest.Subtests) -> None:
    for choose, objective, line, least, moves, way, hint in ENDLESS:
        with subtests.test(choose=choose, objective=objective):
            sense = "minimize" if least == "least" else "maximize"
            with pytest.raises(SolverError) as error:
                solve(W, program(choose, objective, line, sense))
            number = r"-?[0-9.e+-]+"
            assert re.fullmatch(
                rf"'t' seems to have no {least} value that is reached: the objective {moves} from {number} to {number} "
                rf"and on while {re.escape(way)}, and no line keeps that from it "
                rf"\(followed to entries of [1-9]e\+\d\d\)\n  {re.escape(hint)}",
                str(error.value),
            )


@pytest.mark.quick
def test_an_optimum_that_is_reached_is_none(subtests: pytest.Subtests) -> None:
    for choose, objective, line, sense, value in [
        ("X: psd[n, n]", TRACE, "diag(X) <= 1", "minimize", 6.874144),
        ("t: scalar", "max(t, 0)", "", "minimize", 0.0),
        ("t: scalar", "max(-t, 0)", "", "minimize", 0.0),
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
