"""Answers to the exercises of lesson 1: right ones, and a wrong one for each kind of mistake."""

from typing import Any

import numpy as np

from mmopt import Strategy


def _length(A: np.ndarray) -> float:
    return float(np.sqrt((A**2).sum(axis=0).max()))


def _spread(W: np.ndarray, A: np.ndarray) -> np.ndarray:
    return np.linalg.norm(W @ np.linalg.pinv(A), axis=1)


ROOT = np.zeros((8, 8))  # lower triangle, ROOT @ ROOT = np.tri(8): the series of (1 - z) ** (-1/2)
for k, entry in enumerate(np.cumprod([1, *((j - 0.5) / j for j in range(1, 8))])):
    ROOT += entry * np.eye(8, k=-k)
EYE = np.eye(8)
HAAR = np.vstack([np.ones(8)] + [np.kron(np.eye(8 // k), np.repeat([1.0, -1.0], k // 2)) for k in (8, 4, 2)])

ANSWERS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "1.1": ([20**0.5, 4.472, np.float64(20) ** 0.5], {"squared": 20, "end": 8**0.5, "other": 36}),
    "1.2": (
        [lambda W, A: _length(A) ** 2 * _spread(W, A) ** 2],
        {
            "shape": lambda W, A: _length(A) ** 2 * (_spread(W, A) ** 2).sum(),
            "unscaled": lambda W, A: _spread(W, A) ** 2,
            "once": lambda W, A: _length(A) * _spread(W, A) ** 2,
            "root": lambda W, A: _length(A) * _spread(W, A),
            "other": lambda W, A: _length(A) ** 2 * _spread(W, A) ** 2 + 1,
        },
    ),
    "1.3": (
        [ROOT, (3 * ROOT).tolist(), Strategy(ROOT, norm=2)],
        {"support": EYE[:7], "cells": EYE, "more": HAAR},
    ),
}
