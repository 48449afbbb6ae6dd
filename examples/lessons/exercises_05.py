"""Exercises of lesson 5: a design on paper, the equivalence theorem for D, and a design for counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from judging import FUNCTION, Exercise, vector

__all__ = ["EXERCISES"]

Array = np.ndarray
PREFIX = np.tri(16)
CLOSE = 1e-3  # the gap that exercise 5.3 asks for
PARABOLAS = np.diag([1.0, 3.0, 1.0]) @ np.vander([-1.0, 0.0, 1.0], 3, increasing=True).T


def _not_a_design(d: Array) -> str | None:
    if (d < 0).any():
        return "negative"
    return None if abs(d.sum() - 1) < 1e-3 else "sum"


def _sum_of_variances(answer: Array) -> str | None:
    if wrong := _not_a_design(answer):
        return wrong
    costs = (np.linalg.inv(PARABOLAS) ** 2).sum(axis=1)
    for kind, weights in (
        (None, np.sqrt(costs)),
        ("unscaled", np.array([1.0, 2.0, 1.0])),
        ("equal", np.ones(3)),
        ("costs", costs),
    ):
        if np.allclose(answer, weights / weights.sum(), atol=2e-3):
            return kind
    return "other"


def _for_determinants(answer: Callable[[Array, Array], object]) -> str | None:
    rng = np.random.default_rng()
    for k, n in ((2, 5), (3, 6)):
        V, d = rng.normal(size=(k, n)), rng.dirichlet(np.ones(n))
        value = np.einsum("ji,jk,ki->i", V, np.linalg.inv(V * d @ V.T), V)
        given = np.asarray(answer(V, d), dtype=np.float64)
        if given.shape != (n,):
            return "shape"
        for kind, wrong in (("derivative", value), ("weighted", value * d / k)):
            if np.allclose(given, wrong):
                return kind
        if not np.allclose(given, value / k):
            return "other"
    return None


def _for_counts(answer: Array) -> str | None:
    if wrong := _not_a_design(answer):
        return wrong
    if (answer == 0).any():
        return "zero"
    values, vectors = np.linalg.eigh(PREFIX * (answer / answer.sum()) @ PREFIX.T)
    f = ((vectors.T @ PREFIX) ** 2 / np.sqrt(values)[:, None]).sum(axis=0) / np.sqrt(values).sum()
    return None if f.max() - 1 <= CLOSE else "gap"


_DESIGN = {
    "negative": "A design has no negative weights.",
    "sum": "The weights of a design sum to one.",
}

EXERCISES = {
    "5.1": Exercise(
        "What are the A-optimal weights at -1, 0, 1 for the functions 1, 3x, x^2?",
        vector(3),
        _sum_of_variances,
        {
            **_DESIGN,
            "unscaled": "That is the design for 1, x, x^2. The slope of 3x has a ninth of the variance.",
            "equal": "That is the D-optimal design, in any units.",
            "costs": "Those are the costs c. Lesson 3 shows how to share one unit to minimise sum(c / d).",
            "other": "Invert the 3 x 3 matrix V, whose columns are the points. Row i has squared length c_i.",
        },
        "A depends on the units of the functions. D does not: det M is only multiplied by a constant.",
    ),
    "5.2": Exercise(
        "Write a function of V and d: the f of the D-criterion.",
        FUNCTION,
        _for_determinants,
        {
            "shape": "There is one number for each point, a column of V.",
            "derivative": "That is the derivative. Its mean with weights d is trace(inv(M) M): divide by it.",
            "weighted": "The weights belong in the mean, not in f.",
            "other": "Begin with v_i.T inv(M) v_i for each column of V, M = V diag(d) V.T.",
        },
        "No point may have a prediction of variance above k. This is the theorem of Kiefer and Wolfowitz.",
    ),
    "5.3": Exercise(
        "Find a design for 16 cumulative counts with a gap of at most 0.001.",
        vector(16),
        _for_counts,
        {
            **_DESIGN,
            "zero": "M has no inverse if a cell has weight zero. Here every cell needs some weight.",
            "gap": "This is a design, but its largest f is too far above one. Take more steps.",
        },
        "You have solved the strategy problem without a strategy among the variables.",
    ),
}
