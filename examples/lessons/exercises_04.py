"""Exercises of lesson 4: a Schur complement by hand, the rows of a formulation, and a block of one's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from judging import FUNCTION, NUMBER, PROGRAM, Exercise, is_near

import mmopt

__all__ = ["EXERCISES"]

X = np.array([[2.0, 1.0], [1.0, 1.0]])
w = np.array([1.0, 3.0])


def _least_corner(answer: float) -> str | None:
    for kind, value in (
        (None, w @ np.linalg.solve(X, w)),
        ("multiplied", w @ X @ w),
        ("length", w @ w),
        ("diagonal", (w**2 / np.diag(X)).sum()),
    ):
        if is_near(answer, float(value)):
            return kind
    return "other"


def _rows(answer: Callable[[int, int], int]) -> str | None:
    rng = np.random.default_rng()
    kinds: set[str] = set()
    for m, n in ((3, 4), (4, 4), (2, 5)):
        workload = rng.normal(size=(m, n))
        rows = {form: _handed_rows(f"l2_strategy_{form}", workload) for form in ("lmi", "block")}
        given = NUMBER.read(answer(m, n))
        if is_near(given, rows["lmi"], 1e-9):
            continue
        other = {rows["block"]: "block", rows["lmi"] - n: "limits", m * (n + 1) ** 2 + n: "square"}
        kinds.add(other.get(int(given), "other"))
    return None if not kinds else kinds.pop() if len(kinds) == 1 else "other"


def _handed_rows(program: str, workload: np.ndarray) -> int:
    compiled = mmopt.explain(program, workload).compiled
    assert compiled is not None and compiled.matrix is not None, "none of these workloads is too large"
    return compiled.matrix.rows


def _worst_combination(answer: mmopt.Program) -> str | None:
    if [given.name for given in answer.givens] != ["W"]:
        return "givens"
    kinds: set[str] = set()
    for W in (np.tri(4), np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])):
        objective = mmopt.solve(W, answer).objective
        if is_near(objective, float((W**2).sum(axis=0).max())):
            continue
        other = {"sum": "l2_strategy", "query": "minimax_variance"}
        near = (k for k, name in other.items() if is_near(objective, mmopt.solve(W, name).objective))
        kinds.add(next(near, "other"))
    return None if not kinds else kinds.pop() if len(kinds) == 1 else "other"


EXERCISES = {
    "4.1": Exercise(
        "What is the least corner u that makes the matrix psd?",
        NUMBER,
        _least_corner,
        {
            "multiplied": "That is w.T X w. The lemma has the inverse of X.",
            "length": "That is the squared length of w, the answer for X = I.",
            "diagonal": "X has entries off the diagonal, so its inverse is not that of its diagonal.",
            "other": "Use the lemma with Y = u and W = w.T: u is at least w.T inv(X) w.",
        },
        "This is the variance of query w under the strategy with Gram matrix X.",
    ),
    "4.2": Exercise(
        "Write a function of m and n: how many rows has one inequality for each query?",
        FUNCTION,
        _rows,
        {
            "block": "That is the count for one block of size m + n.",
            "limits": "The n limits on the diagonal are rows too.",
            "square": "The matrix is symmetric. Count the entries above and below the diagonal once.",
            "other": "There are m matrices. What is the size of each, and how many different entries has it?",
        },
        "This number grows like m n^2, and that of one block like (m + n)^2.",
    ),
    "4.3": Exercise(
        "Write the program of the worst combination of the queries.",
        PROGRAM,
        _worst_combination,
        {
            "givens": "The data of the program must be W = workload.matrix, and nothing else.",
            "sum": "That is the sum of the variances, as in l2_strategy.",
            "query": "That is the largest variance of a query. A combination of queries may be worse.",
            "other": "Its optimum is wrong. Which Y has W inv(X) W.T <= Y exactly when no eigenvalue is "
            "above t? And is X constrained?",
        },
        "The optimum is the largest squared length of a column of W. X = W.T W / t reaches it: this strategy "
        "measures the queries themselves. For the worst combination no other strategy is better.",
    ),
}
