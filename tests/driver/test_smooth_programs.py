"""The shipped smooth programs, and the procedure on them: known values, and their certificates."""

import numpy as np
import pytest
from tolerances import FITNESS, GAP, GAP_INTERIOR

from mmopt import Program, Workload, solve
from mmopt.strategies.baselines import baseline

H4 = np.vstack([np.ones(4), np.kron(np.eye(2), np.ones(2)), np.eye(4)])
Y4 = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]], dtype=float)
CAYLEY = ("    Q = polar(M)\n", "    K = M - M.T\n    Q = (eye(n) - K) @ inv(eye(n) + K)\n")


def prefix(n: int) -> Workload:
    return Workload.from_matrix(np.tri(n), targets=np.ones(n))


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "best"), [(Y4, 2.0), (H4, 2.577935)], ids=["Y4", "H4"])
@pytest.mark.parametrize("parametrised", ["polar", pytest.param("Cayley", marks=pytest.mark.nightly)])
def test_rotations_lower_the_sensitivity(strategy: np.ndarray, best: float, parametrised: str) -> None:
    """Both have L1 sensitivity 3. Cayley's rotations, without reflections, reach the same."""
    text = Program.load("min_sensitivity_rotation").text
    if parametrised == "Cayley":
        text = text.replace(*CAYLEY).replace("M = eye(n)", "M = 0 * eye(n)")
    s = solve(Workload.from_matrix(strategy), Program.parse(text), starts=20)
    assert s.objective == pytest.approx(best, rel=1e-6)
    assert s.bound == pytest.approx(np.sqrt(3.0), rel=1e-12)
    assert s.strategy.norm == 1
    # The error is the one of the strategy given, up to the square of its sensitivity.
    a = s.strategy.matrix * s.objective
    np.testing.assert_allclose(a.T @ a, strategy.T @ strategy, atol=1e-8)


def test_one_filter_for_all_steps_is_a_few_percent_above_the_best_strategy(subtests: pytest.Subtests) -> None:
    """It is so in the program's words, and below the square root of the prefix sums."""
    for n, above in [(4, 0.0563), (64, 0.0768)]:
        with subtests.test(n=n, above=above):
            s, best = solve(prefix(n), "toeplitz_strategy"), solve(prefix(n), "l2_strategy")
            assert s.objective / best.objective - 1 == pytest.approx(above, abs=1e-4)
            assert s.objective < baseline("square_root", prefix(n), 2).total_error(prefix(n))


def test_a_soft_step_is_proved_optimal(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    w = Workload.from_matrix(rng.normal(size=(7, 5)), targets=rng.uniform(0.5, 5.0, size=7))
    best = 2 * np.sqrt(solve(w, "fitness_for_use").objective)
    for t, hybrid in [(1.0, 0.0), (1.0, 0.1), (30.0, 0.0), (1000.0, 0.0), (1000.0, 0.1)]:
        with subtests.test(hybrid=hybrid, t=t):
            s = solve(w, "softmax_step", givens={"t1": t, "t2": t, "hybrid": hybrid})
            assert s.status.stop == "gap reached" and s.gap <= GAP_INTERIOR
            if not hybrid:
                # A soft maximum lies above the maximum, by at most the logarithm of the number of terms.
                assert best * (1 - GAP) <= s.objective <= best * (1 + GAP) + np.log(35) / t
                assert s.value == pytest.approx(s.objective**2 / 4)


def test_soft_maxima_end_at_fitness_for_use(subtests: pytest.Subtests) -> None:
    for n, alpha in [(2, 4 / 3), (4, 1.75860)]:
        with subtests.test(n=n, alpha=alpha):
            s = solve(prefix(n), "fitness_softmax")
            assert s.status.stop == "gap reached in every step" and s.status.bound_valid
            assert 0 <= s.gap <= GAP
            assert alpha * (1 - FITNESS) <= s.value <= alpha * (1 + 2 * GAP)
            assert s.privacy_cost**2 == pytest.approx(s.value, rel=GAP)
            assert list(s.steps) == [f"fit {i}" for i in range(1, len(s.steps) + 1)] and len(s.steps) > 3
            assert all(step.solver == "softmax" for step in s.steps.values())
            # Soft maxima lie above the maxima, the less so the sharper they are.
            objectives = [step.objective for step in s.steps.values()]
            assert objectives == sorted(objectives, reverse=True)


def test_a_weight_on_total_variance_lowers_it(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(np.tri(6), targets=rng.uniform(1.0, 30.0, size=6))
    plain, hybrid = (solve(w, "fitness_softmax", givens={"hybrid": h}) for h in (0.0, 0.3))
    for s in (plain, hybrid):
        assert 0 <= s.gap <= GAP

    assert hybrid.error < plain.error  # total variance at one unit of privacy cost
    assert hybrid.privacy_cost > plain.privacy_cost
