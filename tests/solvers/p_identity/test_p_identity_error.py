"""The error and its gradient against dense inverses, and merged cells against all of them."""

import numpy as np
import pytest
from tolerances import DERIVATIVE, RECOMPUTED

from mmopt.numerics.matrix_functions import Array
from mmopt.solvers.p_identity import Objective


def dense(gram: Array, theta: Array) -> float:
    whole = np.vstack([np.eye(len(gram)), theta])
    a = whole / whole.sum(axis=0)
    return float(np.trace(gram @ np.linalg.inv(a.T @ a)))


def test_the_value_is_total_error(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for n, k in [(1, 1), (7, 2), (12, 15)]:
        with subtests.test(n=n, k=k):
            w, theta = rng.normal(size=(n + 2, n)), rng.random((k, n))
            assert Objective.of(w.T @ w).value(theta) == pytest.approx(dense(w.T @ w, theta), rel=RECOMPUTED)


def test_the_gradient(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for block in [1, 3]:
        with subtests.test(block=block):
            w = rng.normal(size=(9, 11))
            objective = Objective.of(w.T @ w, block)
            t, way = rng.random((2, 3, len(objective.cells)))
            step = 1e-5
            up, down = (objective.value(t + sign * step * way) for sign in (1, -1))
            _, gradient = objective.value_and_gradient(t)
            assert (up - down) / (2 * step) == pytest.approx(float((gradient * way).sum()), rel=DERIVATIVE)


def test_merged_cells_have_the_error_of_all(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for n, block in [(12, 3), (11, 4), (5, 8)]:
        with subtests.test(n=n, block=block):
            w = rng.normal(size=(n, n))
            gram = w.T @ w
            merged = Objective.of(gram, block)
            t = rng.random((2, len(merged.cells)))
            theta = merged.spread(t)
            assert merged.value(t) == pytest.approx(dense(gram, theta), rel=RECOMPUTED)
            assert merged.merged(theta) == pytest.approx(t)
