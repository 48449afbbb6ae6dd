"""Exercises of lesson 6: the error for Laplace noise, a better strategy, a workload that meets its bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from judging import FUNCTION, Exercise, is_near, matrix

import mmopt

__all__ = ["EXERCISES"]

Array = np.ndarray
PREFIX = np.tri(8)


def _sensitivity(A: Array, norm: int) -> float:
    return float(np.linalg.norm(A, ord=norm, axis=0).max())


def _spread(W: Array, A: Array) -> float:
    return float(np.linalg.norm(W @ np.linalg.pinv(A)) ** 2)


def _error(W: Array, A: Array) -> float:
    return _sensitivity(A, 1) ** 2 * _spread(W, A)


def _laplace(answer: Callable[..., Any]) -> str | None:
    rng = np.random.default_rng()
    W, A = rng.normal(size=(5, 4)), rng.normal(size=(6, 4))
    try:
        value = float(answer(W, A))
    except (TypeError, ValueError):
        return "shape"
    if is_near(value, _error(W, A), 1e-6):
        return None
    rows = float(np.abs(A).sum(axis=1).max())
    kinds = {
        "length": _sensitivity(A, 2) ** 2 * _spread(W, A),
        "rows": rows**2 * _spread(W, A),
        "square": _sensitivity(A, 1) * _spread(W, A),
    }
    return next((kind for kind, other in kinds.items() if is_near(value, other, 1e-6)), "other")


def _better(answer: Array) -> str | None:
    if not np.allclose(PREFIX @ np.linalg.pinv(answer) @ answer, PREFIX, atol=1e-6):
        return "unsupported"
    least = float((PREFIX**2).sum())
    if _error(PREFIX, answer) < least * (1 - 1e-6):
        return None
    return "length" if _sensitivity(answer, 2) ** 2 * _spread(PREFIX, answer) < least else "worse"


def _met(answer: Array) -> str | None:
    if (np.count_nonzero(answer, axis=1) < 2).any():
        return "single"
    if len(np.unique(answer, axis=0)) < 2:
        return "few"
    groups = _groups(answer)
    if len(groups) == answer.shape[1]:
        return "apart"
    bound = mmopt.solve(answer, "l2_strategy").error_bound
    if _error(answer, groups) < bound * (1 + 1e-5):
        return None
    found = mmopt.solve(answer, "low_rank").error_gap  # where a price is zero, other strategies may do
    return None if found < 1e-5 else "gap"


def _groups(W: Array) -> Array:
    """The strategy that measures once, in a sum, what no query tells apart up to the sign: a row a group."""
    signs = np.array([np.sign(column[np.argmax(column != 0)]) for column in W.T])
    _, group = np.unique(W * np.where(signs == 0, 1, signs), axis=1, return_inverse=True)
    return np.where(np.arange(group.max() + 1)[:, None] == group.ravel(), signs, 0.0)


EXERCISES = {
    "6.1": Exercise(
        "Write a function of W and A that returns the total error for Laplace noise.",
        FUNCTION,
        _laplace,
        {
            "shape": "With two matrices the function raises an error, or it does not return one number.",
            "length": "This uses the lengths of the columns, which give the sensitivity for Gaussian noise.",
            "rows": "One person changes a column of A, not a row.",
            "square": "Noise of twice the size has four times the variance.",
            "other": "It is the sensitivity squared times the squared Frobenius norm of W A^+.",
        },
        "Only the sensitivity differs from lesson 1, but the problem is no longer convex.",
    ),
    "6.2": Exercise(
        "Find a strategy for the eight cumulative counts with Laplace error below 36.",
        matrix(None, 8),
        _better,
        {
            "unsupported": "The strategy does not support W: W A^+ A differs from W.",
            "length": "It is below 36 with the lengths of the columns. Use their sums of absolute values.",
            "worse": "Its error is not below 36. Which of the searches above found something better?",
        },
        "Your strategy is better than noise on the cells. No proof is known that it is the best.",
    ),
    "6.3": Exercise(
        "Find a workload over four cells for which the bound is attained.",
        matrix(None, 4),
        _met,
        {
            "single": "Some query uses fewer than two cells.",
            "few": "There are no two different queries.",
            "apart": "For every two cells some query distinguishes them, not only by the sign.",
            "gap": "The bound is not attained. Treat cells that are always together as one cell. Which "
            "columns are left, and are they orthogonal?",
        },
        "The best strategy measures each group of cells once, in one sum, and nothing else.",
    ),
}
