"""Exercises of lesson 1: sensitivity, variances, and a strategy by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from judging import FUNCTION, NUMBER, Exercise, is_near, matrix

import mmopt

__all__ = ["EXERCISES"]

Array = np.ndarray
PREFIX = np.tri(8)
ENOUGH = 21.0  # total error for the prefix sums that exercise 1.3 asks for


def _sensitivity(A: Array) -> float:
    return float(np.sqrt((A**2).sum(axis=0).max()))


def _of_all_ranges(answer: float) -> str | None:
    ranges = np.array([[float(a <= i < b) for i in range(8)] for b in range(1, 9) for a in range(b)])
    value = _sensitivity(ranges)
    if is_near(answer, value):
        return None
    if is_near(answer, value**2):
        return "squared"
    return "end" if is_near(answer, np.sqrt(8)) else "other"


def _variances(answer: Callable[[Array, Array], object]) -> str | None:
    rng = np.random.default_rng()
    for queries, rows, cells in ((5, 7, 4), (3, 4, 4), (4, 6, 5)):
        W, A = rng.normal(size=(queries, cells)), 3 * rng.normal(size=(rows, cells))
        per_query = (np.linalg.norm(W @ np.linalg.pinv(A), axis=1)) ** 2
        given = np.asarray(answer(W, A), dtype=np.float64)
        if given.shape != (queries,):
            return "shape"
        for kind, values in (
            ("unscaled", per_query),
            ("once", per_query * _sensitivity(A)),
            ("root", np.sqrt(per_query) * _sensitivity(A)),
        ):
            if np.allclose(given, values):
                return kind
        if not np.allclose(given, per_query * _sensitivity(A) ** 2):
            return "other"
    return None


def _by_hand(answer: Array) -> str | None:
    if not np.allclose(PREFIX @ np.linalg.pinv(answer) @ answer, PREFIX, atol=1e-8):
        return "support"
    error = mmopt.certify(PREFIX, answer, solve=False).objective
    if error < ENOUGH:
        return None
    return "cells" if error >= 36 * (1 - 1e-9) else "more"


EXERCISES = {
    "1.1": Exercise(
        "What is the sensitivity of all ranges over eight cells?",
        NUMBER,
        _of_all_ranges,
        {
            "squared": "That is the squared length of a column. The sensitivity is the length.",
            "end": "That is the length of the first column. Another cell is in more ranges.",
            "other": "How many ranges contain cell i? They begin at or before it and end at or after it. "
            "Take the cell that is in the most ranges, and the length of its column.",
        },
        "A cell in the middle is in the most ranges: it has the most pairs of a beginning and an end.",
    ),
    "1.2": Exercise(
        "Write a function of W and A that returns the variance of each answer.",
        FUNCTION,
        _variances,
        {
            "shape": "There is one variance for each row of W.",
            "unscaled": "That is right for noise of standard deviation one. How large is the noise here?",
            "once": "The variance of c times the noise is c squared times that of the noise.",
            "root": "These are standard deviations. The exercise asks for their squares, the variances.",
            "other": "Answer j is row j of W pinv(A) applied to independent noise. What is the variance of "
            "such a sum? Check whether you sum over rows or over columns.",
        },
        "The sum of the variances is the total error. Each one measures the error of one answer.",
    ),
    "1.3": Exercise(
        "Find a strategy for eight cumulative counts with total error below 21.",
        matrix(None, 8),
        _by_hand,
        {
            "support": "The strategy does not determine all counts: W pinv(A) A differs from W.",
            "cells": "This is no better than noise on the cells. The Haar strategy of the lesson is better.",
            "more": "This is better than noise on the cells, but not yet below 21. With A A = W the "
            "reconstruction W inv(A) is A itself, so neither factor is large.",
        },
        "The next section finds the best strategy, and proves that it is the best.",
    ),
}
