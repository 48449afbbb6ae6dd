"""Answers to the exercises of lesson 4: right ones, and a wrong one for each kind of mistake."""

from typing import Any


def _program(line: str, objective: str = "t", given: str = "") -> str:
    return f"""
program worst_combination
given
    W: matrix[m, n] = workload.matrix
{given}choose
    X: psd[n, n]
    t: scalar
minimize
    {objective}
subject to
    block: {line}
    sensitivity: diag(X) <= 1
"""


BLOCK = "[[t * eye(m), W], [W.T, X]] >> 0"

ANSWERS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "4.1": ([13, 13.0], {"multiplied": 17, "length": 10, "diagonal": 9.5, "other": 12}),
    "4.2": (
        [lambda m, n: m * (n + 1) * (n + 2) // 2 + n],
        {
            "block": lambda m, n: (m + n) * (m + n + 1) / 2 + n,
            "limits": lambda m, n: m * (n + 1) * (n + 2) / 2,
            "square": lambda m, n: m * (n + 1) ** 2 + n,
            "other": lambda m, n: m + n,
        },
    ),
    "4.3": (
        [_program(BLOCK), _program("lambda_max(W @ inv(X) @ W.T) <= t")],
        {
            "givens": _program(BLOCK, given="    c: vector[m]\n"),
            "sum": _program("trace(W @ inv(X) @ W.T) <= t"),
            "query": _program("diag(W @ inv(X) @ W.T) <= t"),
            "other": _program(BLOCK, "2 * t"),
        },
    ),
}
