"""The bound on total error is below every strategy's; what point_meaning adds covers rounding."""

from fractions import Fraction

import numpy as np
import pytest
from cases import NAMED, named, random_workload
from tolerances import GAP, RECOMPUTED

from mmopt import solve
from mmopt.driver.judge import bound_on_total_error as bounds
from mmopt.driver.judge.bound_on_total_error import error_bound
from mmopt.driver.judge.point_meaning import rounding, without_rounding
from mmopt.strategies import Strategy, normalise
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
    assert error_bound(w, poor, known=low, goal=svdb)[0] >= svdb * (1 - 1e-9)


def test_a_bound_that_is_good_enough_is_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    w = named("prefix")
    best = solve(w, "l2_strategy")
    known = (best.bound, np.asarray(best.multipliers["sensitivity"]))
    assert error_bound(w, best.strategy, known=known)[0] >= best.bound
    monkeypatch.setattr(bounds, "WORK_OF_BOUND", 0.0)
    monkeypatch.setattr(bounds, "bound_of", None)
    found = error_bound(w, best.strategy, known=known, goal=best.error)
    assert found[0] == known[0] and found[1] is known[1]


AS_ZERO = 8 * 8 * np.finfo(float).eps  # singular values below this part of the largest (8 cells)


def total_error_of_cells(a: np.ndarray) -> Fraction:
    """‖A‖² tr (AᵀA)⁻¹ of the floats in A, exactly."""
    n = a.shape[1]
    rows = [[Fraction(float(v)) for v in row] for row in a]
    gram = [[sum(row[i] * row[j] for row in rows) for j in range(n)] for i in range(n)]
    largest = max(gram[i][i] for i in range(n))
    both = [[*gram[i], *(Fraction(int(i == j)) for j in range(n))] for i in range(n)]
    for c in range(n):
        pivot = next(r for r in range(c, n) if both[r][c] != 0)
        both[c], both[pivot] = both[pivot], both[c]
        both[c] = [v / both[c][c] for v in both[c]]
        for r in range(n):
            if r != c:
                both[r] = [x - both[r][c] * y for x, y in zip(both[r], both[c], strict=True)]
    return largest * sum((both[i][n + i] for i in range(n)), Fraction(0))


def test_rounding_of_total_error_is_covered(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for condition in [1e1, 1e3, 1e5, 1e6, 1e8]:
        with subtests.test(condition=condition):
            for _ in range(5):
                left, right = (np.linalg.qr(rng.normal(size=(5, 5)))[0] for _ in range(2))
                strategy = Strategy(left @ np.diag(np.geomspace(1.0, 1.0 / condition, 5)) @ right)
                cells = Workload.from_matrix(np.eye(5))
                found = Fraction(strategy.total_error(cells))
                true = total_error_of_cells(strategy.matrix)
                assert abs(found - true) <= Fraction(rounding(strategy, cells)) * true


def test_what_is_rounding_next_to_the_strategy_is_not_measured() -> None:
    """W - R @ A has a direction of 1e-14, for which the queries of rank 3 have no use."""
    rows = [[3, 2, 1, 3, 5, 0, 3, 2], [1, 0, 1, 1, 1, 0, 1, 0], [3, 2, 1, 2, 4, 0, 2, 1]]
    w = Workload.from_matrix([*rows, [0, 0, 0, 2, 2, 0, 2, 2]])
    s = solve(w, "low_rank_reconstruction")
    values = np.linalg.svd(s.strategy.matrix, compute_uv=False)
    assert (values[3:] <= AS_ZERO * values[0]).all()
    inverse = np.linalg.pinv(s.strategy.matrix, rcond=1e-10)
    error = np.abs(s.strategy.matrix).sum(axis=0).max() ** 2 * ((w.matrix @ inverse) ** 2).sum()
    assert s.error == pytest.approx(error, rel=RECOMPUTED)
    # How large that direction is depends on the processor; this one counts as zero on none.
    only = np.array([0, 0, 0, 1, -1, 0, 0, 0]) * 1e-13
    found = without_rounding(normalise(Strategy(np.vstack([w.basis, only]), 1)), w)
    values = np.linalg.svd(found.matrix, compute_uv=False)
    assert (values[3:] <= AS_ZERO * values[0]).all()
