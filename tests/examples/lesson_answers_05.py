"""Answers to the exercises of lesson 5: right ones, and a wrong one for each kind of mistake."""

from typing import Any

import numpy as np

# Rows of the inverse of [[1, 1, 1], [-3, 0, 3], [1, 0, 1]]: (0, -1/6, 1/2), (1, 0, -1), (0, 1/6, 1/2).
COSTS = np.array([1 / 36 + 1 / 4, 2.0, 1 / 36 + 1 / 4])
ROOTS = np.sqrt(COSTS) / np.sqrt(COSTS).sum()
QUARTERS = np.array([1.0, 2.0, 1.0]) / 4


def _spread(V: np.ndarray, d: np.ndarray) -> np.ndarray:
    return np.diag(V.T @ np.linalg.inv(V @ np.diag(d) @ V.T) @ V)


def _design() -> np.ndarray:
    """Weights by forty steps of the lesson's method, squared as in lesson 3."""
    W, d = np.tri(16), np.full(16, 1 / 16)
    for _ in range(40):
        _, s, Vt = np.linalg.svd(W * np.sqrt(d))
        d = d * (np.diag((Vt.T * s) @ Vt) / d / s.sum()) ** 2
        d = d / d.sum()
    return d


ANSWERS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "5.1": (
        [ROOTS, ROOTS.round(4).tolist()],
        {
            "negative": [-0.2, 1.4, -0.2],
            "sum": [1, 2, 1],
            "unscaled": QUARTERS,
            "equal": np.full(3, 1 / 3),
            "costs": COSTS / COSTS.sum(),
            "other": [0.3, 0.4, 0.3],
        },
    ),
    "5.2": (
        [lambda V, d: _spread(V, d) / len(V)],
        {
            "shape": lambda V, d: _spread(V, d).max(),
            "derivative": _spread,
            "weighted": lambda V, d: d * _spread(V, d) / len(V),
            "other": lambda V, d: _spread(V, d) / len(d),
        },
    ),
    "5.3": (
        [_design()],
        {
            "negative": [-1, 2] + [0] * 14,
            "sum": 2 * _design(),
            "zero": [1] + [0] * 15,
            "gap": np.full(16, 1 / 16),
        },
    ),
}
