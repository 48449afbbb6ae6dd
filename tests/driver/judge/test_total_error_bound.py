"""The bound on total error is below every strategy's, and close to the best."""

import numpy as np
import pytest
from named_workloads import NAMED, named, random_workload
from tolerances import GAP

from mmopt import solve
from mmopt.driver.judge import total_error_bound as bounds
from mmopt.driver.judge.total_error_bound import error_bound
from mmopt.strategies import Strategy
from mmopt.workloads import Workload


def test_below_the_optimum_and_above_the_singular_value_bound(subtests: pytest.Subtests) -> None:
    for name in NAMED:
        with subtests.test(name):
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


def test_large_workloads_get_one_evaluation(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Close to the best at the best strategy, and never below the singular value bound."""
    w = Workload.from_matrix(rng.normal(size=(9, 6)))
    best = solve(w, "l2_strategy")
    svdb = np.linalg.svd(w.matrix, compute_uv=False).sum() ** 2 / w.n
    monkeypatch.setattr(bounds, "WORK_OF_BOUND", 0.0)
    assert best.objective / error_bound(w, best.strategy)[0] - 1 <= GAP
    poor = Strategy(rng.normal(size=(6, 6)) * np.geomspace(1.0, 1e-4, 6))
    assert svdb * (1 - 1e-9) <= error_bound(w, poor)[0] <= best.objective
    low = (svdb / 2, np.ones(w.n))
    assert error_bound(w, poor, earlier=low, goal=svdb)[0] >= svdb * (1 - 1e-9)


def test_a_bound_that_is_good_enough_is_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    w = named("prefix")
    best = solve(w, "l2_strategy")
    known = (best.bound, np.asarray(best.multipliers["sensitivity"]))
    assert error_bound(w, best.strategy, earlier=known)[0] >= best.bound
    monkeypatch.setattr(bounds, "WORK_OF_BOUND", 0.0)
    monkeypatch.setattr(bounds, "bound_of", None)
    found = error_bound(w, best.strategy, earlier=known, goal=best.error)
    assert found[0] == known[0] and found[1] is known[1]
