"""Answers to the exercises of lesson 8: right ones, and a wrong one for each kind of mistake."""

from typing import Any

import numpy as np


def _within(times: Any, tau: float) -> Any:
    return np.isfinite(times) & (times <= tau * times.min(axis=1, keepdims=True))


def _one_by_one(times: Any, tau: float) -> list[float]:
    count = [0] * times.shape[1]
    for row in times:
        for solver, time in enumerate(row):
            count[solver] += time < np.inf and time <= tau * min(row)
    return [one / len(times) for one in count]


ANSWERS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "8.1": ([1.0006, 1], {"tolerance": 1.0003e-4, "ratio": 2.0006, "part": 0.5001, "other": 3.0}),
    "8.2": (
        [[[1, 0.1], [1, 0.1], [1, 5]], [[2, 1], [2, 1], [2, 5]]],
        {
            "positive": [[1, 0], [1, 5]],
            "arithmetic": [[1, 0.1], [1, 0.1]],
            "geometric": [[1, 2], [1, 2]],
        },
    ),
    "8.3": (
        [lambda times, tau: _within(times, tau).mean(axis=0), _one_by_one],
        {
            "shape": lambda times, tau: _within(times, tau).mean(axis=1),
            "nobody": lambda times, tau: (times <= tau * times.min(axis=1, keepdims=True)).mean(axis=0),
            "all": lambda times, tau: _within(times, tau).sum(axis=0) / np.isfinite(times).any(axis=1).sum(),
            "number": lambda times, tau: _within(times, tau).sum(axis=0),
            "instances": lambda times, tau: (times <= tau * times.min(axis=0)).mean(axis=0),
            "other": lambda times, tau: np.zeros(5),
        },
    ),
    "8.4": (
        [[[3, 1, 0.1], [3, 1, 0.1], [1, 3, 1]]],
        {
            "positive": [[0, 1, 1]],
            "three": [[3, 1, 1], [3, 1, 1], [1, 3, 1]],
            "two": [[1, 3, 1], [1, 3, 1]],
        },
    ),
}
