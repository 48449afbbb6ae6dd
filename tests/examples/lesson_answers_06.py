"""Answers to the exercises of lesson 6: right ones, and a wrong one for each kind of mistake."""

from typing import Any

import numpy as np

import mmopt


def _spread(W: Any, A: Any) -> Any:
    return np.linalg.norm(W @ np.linalg.pinv(A)) ** 2


def _found() -> np.ndarray:
    """Result of the search in turn for eight cumulative counts."""
    return np.asarray(mmopt.solve(np.tri(8), "low_rank").strategy.matrix)


ANSWERS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "6.1": (
        [lambda W, A: np.abs(A).sum(axis=0).max() ** 2 * _spread(W, A)],
        {
            "shape": lambda W: W,
            "length": lambda W, A: (A**2).sum(axis=0).max() * _spread(W, A),
            "rows": lambda W, A: np.abs(A).sum(axis=1).max() ** 2 * _spread(W, A),
            "square": lambda W, A: np.abs(A).sum(axis=0).max() * _spread(W, A),
            "other": lambda W, A: _spread(W, A),
        },
    ),
    "6.2": (
        [_found(), 3 * _found()],
        {
            "unsupported": np.tri(8)[:7],
            "length": np.asarray(mmopt.solve(np.tri(8), "l2_strategy").strategy.matrix),
            "worse": np.eye(8),
        },
    ),
    "6.3": (
        [
            [[1, 1, 0, 0], [0, 0, 1, 1]],
            [[1, 1, 1, 1], [1, 1, -1, -1]],
            [[1, 1, 1, 1], [1, 1, 1, -1]],
            [[1, 1, 1, 1], [2, 2, 2, 2]],
            [[1, -1, 0, 0], [0, 0, 1, -1]],
            [[1, 1, 0, 0], [1, -1, 0, 0]],
        ],
        {
            "single": np.eye(4),
            "few": [[1, 1, 0, 0], [1, 1, 0, 0]],
            "apart": [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]],
            "gap": [[1, 1, 1, 1], [1, 1, 0, 0]],
        },
    ),
}
