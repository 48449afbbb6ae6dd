"""Entries of programs/ERRATA.md on Li and Miklau, PVLDB 2012, shown: the printed fails, the other holds."""

import math

import numpy as np
import pytest
from query_rows import haar, hierarchy
from scipy.optimize import minimize_scalar

import mmopt
from mmopt import Strategy, Workload
from mmopt.privacy.epsilon_delta_rho import continuous_gaussian_delta, continuous_gaussian_scale


def test_example_4_has_logarithms_of_base_2_and_no_mean() -> None:
    """Definition 5 divides by the 8 queries, Propositions 2 to 4 have 2 ln(2/δ): neither gives 45.36."""
    error, epsilon, delta = 36.0, 0.5, 1e-4  # the identity strategy, tests/papers/test_example_4.py
    holds = math.sqrt(error * math.log2(2 / delta)) / epsilon
    assert holds == pytest.approx(45.36, abs=0.005)
    for logarithm in (math.log(2 / delta), 2 * math.log(2 / delta), 2 * math.log2(2 / delta)):
        for mean in (1, 8):
            assert abs(math.sqrt(error * logarithm / mean) / epsilon - 45.36) > 5


def test_query_error_does_not_follow_the_norm_of_the_query() -> None:
    """Section 3.4: true for multiples of one query only."""
    queries = Workload.from_matrix([[1, 1, 1, 1], [1, -1, 1, -1], [2, 2, 2, 2]])
    variances = Strategy(haar(4)).variances(queries)
    assert variances == pytest.approx([1, 2, 4])


def test_query_labels_of_figure_1() -> None:
    """Cells 1 to 4 are male: the second query of the matrix counts men, the third women."""
    male = np.repeat([1.0, 0.0], 4)
    low = np.tile([1.0, 1.0, 0.0, 0.0], 2)
    labels = {
        "female": 1 - male,
        "male": male,
        "female, 3.0 or above": (1 - male) * (1 - low),
        "male, below 3.0": male * low,
        "male less female": 2 * male - 1,
    }
    printed = {2: "female", 3: "male", 6: "female, 3.0 or above", 7: "male, below 3.0", 8: "male less female"}
    rows = {
        2: [1, 1, 1, 1, 0, 0, 0, 0],
        3: [0, 0, 0, 0, 1, 1, 1, 1],
        6: [0, 0, 0, 0, 0, 0, 1, 1],
        7: [1, 1, 0, 0, 0, 0, 0, 0],
        8: [1, 1, 1, 1, -1, -1, -1, -1],
    }
    wrong = [number for number, row in rows.items() if not np.array_equal(labels[printed[number]], row)]
    assert wrong == [2, 3]
    assert np.array_equal(labels["male"], rows[2]) and np.array_equal(labels["female"], rows[3])


def test_gaussian_noise_of_propositions_2_and_3_is_too_small_for_a_large_epsilon() -> None:
    def printed(epsilon: float, delta: float) -> float:
        return continuous_gaussian_delta(epsilon, epsilon / math.sqrt(2 * math.log(2 / delta)))

    for delta in (1e-4, 1e-2, 0.1):
        assert all(printed(epsilon, delta) <= delta for epsilon in (0.1, 0.5, 1.0))
        assert printed(10.0, delta) > 1.5 * delta
        holds = continuous_gaussian_scale(10.0, delta)
        assert continuous_gaussian_delta(10.0, 1 / holds) <= delta * (1 + 1e-9)


def test_matrix_mechanism_draws_one_noise_per_strategy_query(rng: np.random.Generator) -> None:
    """Proposition 3 draws as many as the workload has queries."""
    W, A = np.tri(4)[1:], hierarchy(4)
    transform = W @ np.linalg.pinv(A)
    with pytest.raises(ValueError, match="mismatch"):
        transform @ rng.normal(size=len(W))
    assert (transform @ rng.normal(size=len(A))).shape == (len(W),)


def test_weighting_needs_independent_design_queries() -> None:
    """Theorem 1, for the cells and their total: Program 1's weights are not the best ones."""
    rows = np.vstack([np.eye(4), np.ones(4)])
    workload = Workload.from_matrix(rows)
    c = np.square(rows @ np.linalg.pinv(rows)).sum(axis=0)

    def split(total: float) -> float:  # Program 1: the total weighs `total`, each cell the rest
        return float(c @ (1 / np.r_[np.full(4, 1 - total), total]))

    def error(total: float) -> float:
        weights = np.sqrt(np.r_[np.full(4, 1 - total), total])
        return Strategy(weights[:, None] * rows).total_error(workload)

    # By symmetry and convexity the best weights of the cells are equal.
    chosen = minimize_scalar(split, bounds=(0, 1), method="bounded", options={"xatol": 1e-9}).x
    assert split(chosen) == pytest.approx(7.2, rel=1e-6)
    assert error(chosen) == pytest.approx(7.0, rel=1e-4)
    assert error(0.236) < 6.855
    # With independent design queries the two agree.
    Q = haar(4)
    u = np.array([0.2, 0.3, 0.5, 0.5])
    c = np.square(rows @ np.linalg.pinv(Q)).sum(axis=0)
    strategy = Strategy(np.sqrt(u)[:, None] * Q)
    assert strategy.total_error(workload) == pytest.approx(c @ (1 / u), rel=1e-12)


def test_strategy_behind_the_singular_value_bound_has_fourth_roots(rng: np.random.Generator) -> None:
    """Section 3.4: error with the sensitivity under-estimated by √(trace(AᵀA)/n)."""
    workload = Workload.from_matrix(rng.normal(size=(9, 6)))
    Q, sigma = workload.eigenqueries, workload.eigenvalues
    bound = np.sqrt(sigma).sum() ** 2 / 6

    def under_estimate(power: float) -> float:
        A = sigma[:, None] ** power * Q
        return float((A**2).sum() / 6 * Strategy(A).variances(workload).sum())

    assert under_estimate(0.25) == pytest.approx(bound, rel=1e-9)
    assert under_estimate(0.5) == pytest.approx(sigma.sum(), rel=1e-9)  # as printed
    assert sigma.sum() > 1.01 * bound


def test_eigen_design_depends_on_the_eigenvectors_of_a_repeated_eigenvalue() -> None:
    """Propositions 5 and 6, for the identity over six cells and the total of three."""
    workload = mmopt.Workload.from_matrix(np.vstack([np.eye(6), [1, 1, 1, 0, 0, 0]]))
    assert workload.eigenvalues == pytest.approx([4, 1, 1, 1, 1, 1])
    ours = mmopt.solve(workload, "eigen_design").objective
    rng = np.random.default_rng(0)
    rotated = workload.eigenqueries.copy()
    rotated[1:] = np.linalg.qr(rng.normal(size=(5, 5)))[0] @ rotated[1:]
    assert np.allclose(rotated.T @ np.diag(workload.eigenvalues) @ rotated, workload.gram)
    other = mmopt.solve(workload, "eigen_design", givens={"Q": rotated}).objective
    assert ours == pytest.approx(25 / 3, rel=1e-6)
    assert other > 1.001 * ours


def test_pure_privacy_weighting_is_a_second_order_cone_program() -> None:
    """Section 3.5: Σ cᵢ/λᵢ² under |Q|ᵀλ ≤ 1, with wᵢλᵢ ≥ 1 and t ≥ Σ cᵢwᵢ², both cones of second order."""
    import cvxpy as cp

    Q = haar(8)
    c = np.square(np.tri(8) @ np.linalg.inv(Q)).sum(axis=0)
    weights, inverse, t = cp.Variable(8), cp.Variable(8), cp.Variable()
    constraints = [
        cp.SOC(inverse + weights, cp.vstack([2 * np.ones(8), inverse - weights]), axis=0),
        cp.SOC(t + 1, cp.hstack([2 * cp.multiply(np.sqrt(c), inverse), t - 1])),
        np.abs(Q).T @ weights <= 1,
    ]
    problem = cp.Problem(cp.Minimize(t), constraints)
    assert set(problem.get_problem_data("CLARABEL", solver_opts={})[0]["dims"].soc) >= {3, 10}
    found = problem.solve(solver="CLARABEL")
    # Hölder's bound for equal multipliers, which the optimum attains here.
    b = np.abs(Q).sum(axis=1)
    assert found == pytest.approx((c ** (1 / 3) * b ** (2 / 3)).sum() ** 3 / 64, rel=1e-6)


def test_best_group_size_of_the_eigen_separation() -> None:
    """Section 4.2: n/g groups at n g³ and one program at n (n/g)³ make n² g² + n⁴/g³."""
    sizes = np.geomspace(1, 1e5, 20001)
    for n in (1e4, 1e6, 1e8):

        def cost(g: np.ndarray, n: float = n) -> np.ndarray:
            return (n / g) * n * g**3 + n * (n / g) ** 3

        best = sizes[np.argmin(cost(sizes))]
        assert best == pytest.approx((1.5 * n**2) ** 0.2, rel=1e-3)
        assert cost(best) == pytest.approx(n**2.8 * (1.5**0.4 + 1.5**-0.6), rel=1e-6)
        assert cost(np.array(n ** (1 / 3))) > n**3 > cost(best)
