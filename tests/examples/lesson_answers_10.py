"""Answers to the exercises of lesson 10: right ones, and a wrong one for each kind of mistake."""

from typing import Any

FIT = """
program fit
given
    A: matrix[m, n]
    b: vector[m]
choose
    x: vector[n]
minimize
    {}
"""
OTHER = FIT.replace("b: vector", "c: vector").format("norm(A @ x - c)")
LARGEST = FIT.format("max(abs(A @ x - b))")
ABSOLUTE = """
program least_absolute
given
    A: matrix[m, n]
    b: vector[m]
let
    P = eye(m) - A @ pinv(A)
choose
    x: vector[n]
    u: vector[m]
minimize
    {}
subject to
    above: A @ x - b <= u
    below: b - A @ x <= u
repair
    u = abs(A @ x - b)
"""
CERTIFICATE = """certificate p: vector[m] >= 0 from dual(above), q: vector[m] >= 0 from dual(below)
    {}
"""


def _with(line: str, objective: str = "sum(u)") -> str:
    return ABSOLUTE.format(objective) + CERTIFICATE.format(line)


ANSWERS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "10.1": (
        [FIT.format("norm(A @ x - b)"), FIT.format("norm(b - A @ x)")],
        {
            "givens": OTHER,
            "square": FIT.format("sum((A @ x - b)**2)"),
            "other": FIT.format("norm(A @ x - b, 1)"),
        },
    ),
    "10.2": (
        [LARGEST + "subject to\n    rising: A[i, :] @ x <= A[i + 1, :] @ x for i in m - 1\n"],
        {
            "givens": OTHER,
            "free": LARGEST,
            "falling": LARGEST + "subject to\n    falling: A[i, :] @ x >= A[i + 1, :] @ x for i in m - 1\n",
            "other": FIT.format("sum((A @ x - b)**2)"),
        },
    ),
    "10.3": (
        [
            _with("b @ (P @ (q - p)) / max(abs(P @ (q - p)))"),
            _with("b @ (P @ (q - p)) / max(1, max(abs(P @ (q - p))))"),
        ],
        {
            "givens": OTHER,
            "lines": _with("norm(P @ b) / 2", "sum(u) / 2"),
            "none": ABSOLUTE.format("sum(u)"),
            "loose": _with("norm(P @ b)"),
            "false": _with("2 * norm(P @ b, 1)"),
        },
    ),
}
