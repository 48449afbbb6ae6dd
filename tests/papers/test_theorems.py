"""Theorems of PODS 2010, PVLDB 2012 and PVLDB 2021 as inequalities and equalities, on random workloads."""

import math

import numpy as np
import pytest
from tolerances import FITNESS

from mmopt import Strategy, Workload, solve
from mmopt.privacy.epsilon_delta_rho import continuous_gaussian_delta

Matrix = np.ndarray
TIMES = 2


def random_strategy(rng: np.random.Generator, n: int, p: int | None = None) -> Matrix:
    """Full column rank: p random rows, n to n + 3 of them if not said."""
    return rng.normal(size=(p or n + int(rng.integers(4)), n)) * rng.uniform(0.2, 2.0, size=n)


def random_rows(rng: np.random.Generator, n: int) -> Workload:
    return Workload.from_matrix(rng.normal(size=(int(rng.integers(1, 2 * n)), n)))


def test_pods_theorem_1_least_squares_has_the_least_variance(rng: np.random.Generator) -> None:
    """Any other unbiased linear estimate W (A⁺ + N), N A = 0, has at least its variances."""
    for _ in range(TIMES):
        A, workload = random_strategy(rng, 4, 6), random_rows(rng, 4)
        inverse = np.linalg.pinv(A)
        other = inverse + rng.normal(size=inverse.shape) @ (np.eye(6) - A @ inverse)
        np.testing.assert_allclose(other @ A, np.eye(4), atol=1e-9)
        least = Strategy(A).variances(workload)
        assert np.all(np.square(workload.queries @ other).sum(axis=1) > least)
        np.testing.assert_allclose(np.square(workload.queries @ inverse).sum(axis=1), least, rtol=1e-9)


def test_pods_theorem_5_20_the_l2_optimum_is_within_n_for_pure_privacy(rng: np.random.Generator) -> None:
    for _ in range(TIMES):
        n = int(rng.integers(2, 7))
        workload = random_rows(rng, n)
        found = solve(workload, "l2_strategy", solver="clarabel")
        best = Strategy(found.strategy.matrix, norm=1)
        assert best.p <= n  # so that ‖x‖₁ ≤ √n ‖x‖₂ for its columns
        assert best.total_error(workload) <= n * found.objective * (1 + 1e-9)
        for _ in range(20):
            other = random_strategy(rng, n)
            pure = Strategy(other, norm=1).total_error(workload)
            assert best.total_error(workload) <= n * pure
            assert found.bound is not None and found.bound <= Strategy(other).total_error(workload) <= pure


def test_pods_theorems_5_25_and_5_26_singular_value_bound(rng: np.random.Generator) -> None:
    """A = Λ^½ Vᵀ minimises the approximation, at (Σλ)², and is within n of every ε-private strategy."""
    for _ in range(TIMES):
        n = int(rng.integers(2, 7))
        workload = random_rows(rng, n)
        _, values, V = np.linalg.svd(workload.matrix, full_matrices=False)
        kept = values / values[0] > 1e-9
        ours = Strategy(np.sqrt(values[kept])[:, None] * V[kept], norm=1)

        def approximation(A: Matrix, workload: Workload = workload) -> float:
            return float(np.square(A).sum() * Strategy(A).variances(workload).sum())

        least = values[kept].sum() ** 2
        assert approximation(ours.matrix) == pytest.approx(least, rel=1e-9)
        assert ours.total_error(workload) <= least * (1 + 1e-9)
        for _ in range(20):
            other = random_strategy(rng, n)
            assert approximation(other) >= least
            assert ours.total_error(workload) <= n * Strategy(other, norm=1).total_error(workload)
            assert least / n <= Strategy(other, norm=2).total_error(workload)  # PVLDB 2012, Theorem 2


def test_pods_theorem_5_27_more_rows_are_never_worse(rng: np.random.Generator) -> None:
    for _ in range(TIMES):
        n = 5
        A, B = random_strategy(rng, n), rng.normal(size=(int(rng.integers(1, n)), n))
        # No gain exactly for w = q AᵀA with B qᵀ = 0.
        unmoved = np.linalg.svd(B)[2][len(B) :] @ A.T @ A
        workload = Workload.from_matrix(np.vstack([unmoved, rng.normal(size=(6, n))]))
        before, after = Strategy(A).variances(workload), Strategy(np.vstack([A, B])).variances(workload)
        np.testing.assert_allclose(after[: len(unmoved)], before[: len(unmoved)], rtol=1e-9)
        assert np.all(after[len(unmoved) :] < before[len(unmoved) :])


# -- Li, Miklau, PVLDB 2012


def test_adaptive_theorem_1_program_1_finds_the_best_weights(rng: np.random.Generator) -> None:
    """For independent design queries the error is Σ cᵢ/uᵢ, and no other weights do better."""
    for _ in range(TIMES):
        n = int(rng.integers(2, 6))
        workload = random_rows(rng, n)
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0] * rng.uniform(0.5, 2.0, size=n)  # not nearly dependent
        found = solve(workload, "query_weighting", givens={"Q": Q}, solver="clarabel")
        c = np.square(workload.matrix @ np.linalg.inv(Q)).sum(axis=0)
        assert found.error == pytest.approx(found.objective, rel=1e-9)
        for _ in range(50):
            u = rng.uniform(0.01, 1, size=n)
            strategy = Strategy(np.sqrt(u)[:, None] * Q)
            assert strategy.total_error(workload) == pytest.approx(
                strategy.sensitivity**2 * (c / u).sum(), rel=1e-9
            )
            assert strategy.total_error(workload) >= found.objective * (1 - 1e-6)


def test_adaptive_theorem_3_ratio_of_the_eigen_design(rng: np.random.Generator) -> None:
    """The rmse is within (n σ₁/SVDB)^¼ of the best, by the strategy Λ^¼ Q alone."""
    for _ in range(TIMES):
        n = int(rng.integers(2, 7))
        workload = random_rows(rng, n)
        sigma = workload.eigenvalues
        kept = sigma / sigma[0] > 1e-12
        svdb = np.sqrt(sigma[kept]).sum() ** 2 / n
        ratio = (n * sigma[0] / svdb) ** 0.25
        simple = Strategy(sigma[kept][:, None] ** 0.25 * workload.eigenqueries[: kept.sum()])
        found = solve(workload, "eigen_design", solver="clarabel")
        assert svdb <= found.error_bound * (1 + 1e-4) <= found.error * (1 + 1e-4)
        assert found.error <= simple.total_error(workload) * (1 + 1e-6)
        assert math.sqrt(simple.total_error(workload) / svdb) <= ratio * (1 + 1e-9)
        assert ratio >= 1 - 1e-12


# -- Xiao et al., PVLDB 2021


def random_mechanism(rng: np.random.Generator, n: int) -> tuple[Workload, Matrix]:
    """A workload of full column rank with targets, and a covariance on its cells."""
    root = rng.normal(size=(n, n))
    rows = np.vstack([np.eye(n), rng.normal(size=(3, n))])
    return Workload.from_matrix(rows, targets=rng.uniform(0.5, 5, size=n + 3)), root @ root.T + np.eye(n)


def test_fitness_theorems_2_and_4_the_basis_does_not_matter(rng: np.random.Generator) -> None:
    """Σ₂ = T Σ₁ Tᵀ on the basis T B gives the same variances and the same privacy profile."""
    for _ in range(TIMES):
        workload, sigma = random_mechanism(rng, 4)
        T = rng.normal(size=(4, 4)) + 3 * np.eye(4)
        one, two = Strategy.from_covariance(sigma, np.eye(4)), Strategy.from_covariance(T @ sigma @ T.T, T)
        np.testing.assert_allclose(one.variances(workload), two.variances(workload), rtol=1e-8)
        np.testing.assert_allclose(
            np.square(one.matrix).sum(axis=0), np.square(two.matrix).sum(axis=0), rtol=1e-8
        )


def test_fitness_theorem_3_correlated_noise_is_whitened(rng: np.random.Generator) -> None:
    """The privacy cost is the L2 sensitivity after whitening, and δ grows with it."""
    for _ in range(TIMES):
        _, sigma = random_mechanism(rng, 4)
        cost = math.sqrt(np.diag(np.linalg.inv(sigma)).max())
        assert Strategy.from_covariance(sigma, np.eye(4)).sensitivity == pytest.approx(cost, rel=1e-9)
        deltas = [continuous_gaussian_delta(1.0, factor * cost) for factor in (0.5, 1, 2, 4)]
        assert deltas == sorted(deltas) and deltas[0] < deltas[-1]


def test_fitness_theorems_5_and_12_budget_and_penalty_forms(rng: np.random.Generator) -> None:
    """Σ α/α* solves Problem 2 with k = α/α*; the least value of Problem 3 is 2√α, at a multiple of Σ."""
    for _ in range(TIMES):
        workload, _ = random_mechanism(rng, 3)
        found = solve(workload, "fitness_for_use", solver="clarabel")
        alpha, best = found.objective, found.strategy
        assert (best.variances(workload) / workload.targets).max() == pytest.approx(1, rel=FITNESS)
        budget = rng.uniform(0.1, 3) * alpha
        scaled = Strategy(best.matrix * math.sqrt(budget / alpha))
        assert scaled.sensitivity**2 == pytest.approx(budget, rel=FITNESS)
        k = (scaled.variances(workload) / workload.targets).max()
        assert k == pytest.approx(alpha / budget, rel=FITNESS)

        def penalty(strategy: Strategy, workload: Workload = workload) -> float:
            return float(strategy.sensitivity**2 + (strategy.variances(workload) / workload.targets).max())

        balanced = Strategy(best.matrix / alpha**0.25)
        assert penalty(balanced) == pytest.approx(2 * math.sqrt(alpha), rel=FITNESS)
        for _ in range(50):
            other = Strategy(rng.normal(size=(5, 3)))
            ratio = (other.variances(workload) / workload.targets).max()
            assert penalty(other) >= 2 * math.sqrt(alpha) * (1 - FITNESS)
            # Problem 2: at the same budget no k is smaller.
            assert ratio * other.sensitivity**2 / budget >= k * (1 - FITNESS)


def ones_and_total(d: int) -> Workload:
    return Workload.from_matrix(np.vstack([np.eye(d), np.ones(d)]))


def symmetric(a: float, b: float, d: int) -> Strategy:
    return Strategy.from_covariance(a * np.eye(d) + b, np.eye(d))


def test_fitness_theorems_6_to_8_identity_and_total(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """The closed forms at γ = β = 1, against all a I + b 1 1ᵀ and a dual bound."""
    for d in (5, 6, 20, 101):
        with subtests.test(str(d)):
            workload, root = ones_and_total(d), math.sqrt(1 + d)
            divisor = d - 1 - root
            a = (d - 3) / divisor
            b = (d - 3) * (2 - root) / (divisor * (-1 - d + (d - 1) * root))
            least = symmetric(a, b, d)  # Theorem 6
            assert least.sensitivity == pytest.approx(1, rel=1e-9)
            svdb = np.sqrt(workload.eigenvalues).sum() ** 2 / d
            assert least.total_error(workload) == pytest.approx(svdb, rel=1e-9)

            fit = symmetric((d + 1) / d, -1 / d, d)  # Theorem 7
            alpha = 2 * d / (1 + d)
            np.testing.assert_allclose(fit.variances(workload), 1, rtol=1e-9)
            assert fit.sensitivity**2 == pytest.approx(alpha, rel=1e-9)
            # Weak duality with equal weights on the cells and these on the queries: it is the optimum.
            q = np.r_[np.full(d, 1.0), d + 2] / (2 * d + 2)
            assert q.sum() == pytest.approx(1, rel=1e-12)
            bound = np.linalg.svd(np.sqrt(q)[:, None] * workload.matrix, compute_uv=False).sum() ** 2 / d
            assert bound == pytest.approx(alpha, rel=1e-9)
            for _ in range(20):
                size = rng.uniform(0.1, 3)
                other = symmetric(size, rng.uniform(-0.999, 3) * size / d, d)
                assert other.total_error(workload) >= svdb * (1 - 1e-9)
                assert other.sensitivity**2 * other.variances(workload).max() >= alpha * (1 - 1e-9)

            # Theorem 8: at the same privacy cost the least total error exceeds a target by about √d / 2.
            largest = least.variances(workload).max() / alpha
            assert largest > 1 and math.sqrt(d) / 2 <= largest <= math.sqrt(d)
