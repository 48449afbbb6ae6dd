"""The bound on total error over all strategies, wherever a strategy comes from."""

from __future__ import annotations

import numpy as np
import pytest
from cases import NAMED, named, random_workload
from tolerances import GAP

from mmopt import Strategy, Workload, solve
from mmopt.pipeline.bounds import error_bound


@pytest.mark.parametrize("name", NAMED)
def test_below_the_optimum_and_above_the_singular_value_bound(name: str) -> None:
    w = named(name)
    best = solve(w, "l2_strategy")
    bound, multipliers = error_bound(w, Strategy(np.eye(w.n)))
    assert multipliers.shape == (w.n,) and (multipliers >= 0).all()
    svdb = np.linalg.svd(w.matrix, compute_uv=False).sum() ** 2 / w.n
    assert svdb * (1 - 1e-9) <= bound <= best.objective


def test_close_at_the_optimal_strategy(rng: np.random.Generator) -> None:
    """Its own multipliers are found from it, without a dual."""
    for _ in range(5):
        w = Workload.from_matrix(rng.normal(size=(9, 6)))
        best = solve(w, "l2_strategy")
        bound, _ = error_bound(w, best.strategy)
        assert best.objective / bound - 1 <= GAP


def test_never_above_any_strategy(rng: np.random.Generator) -> None:
    for _ in range(10):
        w = random_workload(rng)
        strategy = Strategy(rng.normal(size=(w.n + 2, w.n)))
        starts = [rng.uniform(size=w.n), np.zeros(w.n), np.full(w.n, np.nan), -np.ones(w.n)]
        assert error_bound(w, strategy, starts)[0] <= strategy.total_error(w) * (1 + 1e-11)
