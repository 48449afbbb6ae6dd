"""Steps of a procedure: other programs with their givens."""

from collections.abc import Callable

import pytest

from mmopt.language import Program, check

TEXT = """program two_steps
class procedure
given
    W: matrix[r, n] = workload.root
    Q: matrix[h, n] = workload.eigenqueries
steps
    weighting = solve(query_weighting, Q=Q)
    A = weighting.strategy
    A = stack(A, diag(sqrt(abs(1 - sum(A * A, axis=0)))))
minimize
    trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 2
"""


def test_types_of_steps() -> None:
    checked = check(Program.load("eigen_design"))
    types = checked.scope.types
    assert str(types["weighting.strategy"].dims[1]) == str(types["A"].dims[1]) == "n"
    assert types["A"].dims[0] != types["weighting.strategy"].dims[0]
    assert types["weighting.objective"].is_scalar


MISTAKES = [
    (
        "query_weighting",
        "«query_weihting»",
        "there is no program 'query_weihting'",
        "did you mean 'query_weighting'?",
    ),
    ("query_weighting", "«two_steps»", "'two_steps' would solve itself", ""),
    ("Q=Q", "P=«Q»", "'query_weighting' has no given 'P'", "known: Q, W"),
    ("Q=Q", "Q=«1»", "the given 'Q' of 'query_weighting' is a matrix, this is a number", ""),
    ("Q=Q", "Q=«R»", "'R' is not defined", "did you mean 'r'?"),
    (
        "solve(query_weighting, Q=Q)",
        "«solve(query_weighting, Q)»",
        "a step that solves names one program, then its givens",
        "write: solve(program, Q=…)",
    ),
    (
        "solve(query_weighting, Q=Q)",
        "«solve(Q=Q)»",
        "a step that solves names one program, then its givens",
        "write: solve(program, Q=…)",
    ),
    (
        "weighting.strategy",
        "«weighting.strateg»",
        "'weighting.strateg' is not defined",
        "did you mean 'weighting.strategy'?",
    ),
    (
        "    A = weighting",
        "    «W» = weighting",
        "'W' is given; a step cannot change it",
        "use another name",
    ),
    ("    weighting =", "    «Q» =", "'Q' is given; a step cannot change it", "use another name"),
    ("    weighting =", "    «n» =", "'n' is a dimension already", "give it another name"),
    (
        "\nstrategy\n    A",
        "\nstrategy\n    «W.T»",
        "a strategy has a column per cell (n), this is a matrix (n, r)",
        "",
    ),
    (
        "trace(W @ inv(A.T @ A) @ W.T)",
        "«W @ inv(A.T @ A) @ W.T»",
        "an objective is a number, this is a matrix (r, r)",
        "",
    ),
    (
        "\nstrategy\n    A",
        "\n«choose»\n    X: psd[n, n]\nstrategy\n    A",
        "section 'choose' has no place in a program of class 'procedure'",
        "a procedure chooses in its steps: name = solve(program, …)",
    ),
    (
        "\nstrategy\n    A",
        "\ncertificate\n    «mu»: vector[n] >= 0\n    sum(mu)\nstrategy\n    A",
        "a multiplier of a procedure starts from a result of its steps",
        "write: mu: vector[n] >= 0 from fit.mu",
    ),
    (
        "\nstrategy\n    A",
        "\ncertificate\n    sum(«weighting.strategy»)\nstrategy\n    A",
        "'weighting.strategy' is not defined",
        "a bound holds whatever is chosen, so it uses what is given",
    ),
]


def test_mistake_in_a_step(subtests: pytest.Subtests, refused: Callable[[str, str, str], None]) -> None:
    for old, new, message, hint in MISTAKES:
        with subtests.test(message):
            refused(TEXT.replace(old, new, 1), message, hint)
