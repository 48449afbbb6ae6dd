"""The error and its gradient against dense inverses, and merged cells against all of them."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import DERIVATIVE, RECOMPUTED

from mmopt.numerics.matrix_functions import Array
from mmopt.solvers.p_identity import Objective


def dense(gram: Array, theta: Array) -> float:
    whole = np.vstack([np.eye(len(gram)), theta])
    a = whole / whole.sum(axis=0)
    return float(np.trace(gram @ np.linalg.inv(a.T @ a)))


@pytest.mark.parametrize(("n", "k"), [(1, 1), (7, 2), (12, 15)])
def test_the_value_is_total_error(n: int, k: int, rng: np.random.Generator) -> None:
    w, theta = rng.normal(size=(n + 2, n)), rng.random((k, n))
    assert Objective.of(w.T @ w).value(theta) == pytest.approx(dense(w.T @ w, theta), rel=RECOMPUTED)


@pytest.mark.parametrize("block", [1, 3])
def test_the_gradient(block: int, rng: np.random.Generator) -> None:
    w = rng.normal(size=(9, 11))
    objective = Objective.of(w.T @ w, block)
    t, way = rng.random((2, 3, len(objective.cells)))
    step = 1e-5
    up, down = (objective.value(t + sign * step * way) for sign in (1, -1))
    _, gradient = objective.value_and_gradient(t)
    assert (up - down) / (2 * step) == pytest.approx(float((gradient * way).sum()), rel=DERIVATIVE)


@pytest.mark.parametrize(("n", "block"), [(12, 3), (11, 4), (5, 8)])
def test_merged_cells_have_the_error_of_all(n: int, block: int, rng: np.random.Generator) -> None:
    w = rng.normal(size=(n, n))
    gram = w.T @ w
    merged = Objective.of(gram, block)
    t = rng.random((2, len(merged.cells)))
    theta = merged.spread(t)
    assert merged.value(t) == pytest.approx(dense(gram, theta), rel=RECOMPUTED)
    assert merged.merged(theta) == pytest.approx(t)
