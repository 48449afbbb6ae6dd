"""Theorems of the papers as inequalities and equalities, on random workloads and strategies."""

import itertools
import math

import numpy as np
import pytest
from constructed import haar, hierarchy, identity

from mmopt import Strategy, Workload, solve

Matrix = np.ndarray
TIMES = 3


def random_strategy(rng: np.random.Generator, n: int, p: int | None = None) -> Matrix:
    """Full column rank: p random rows, n to n + 3 of them if not said."""
    return rng.normal(size=(p or n + int(rng.integers(4)), n)) * rng.uniform(0.2, 2.0, size=n)


def random_rows(rng: np.random.Generator, n: int) -> Workload:
    return Workload.from_matrix(rng.normal(size=(int(rng.integers(1, 2 * n)), n)))


def signs(p: int) -> Matrix:
    return np.array(list(itertools.product([1.0, -1.0], repeat=p)))


# -- Li et al., PODS 2010


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


def test_pods_theorem_5_23_sensitivity_of_equivalent_strategies(rng: np.random.Generator) -> None:
    """√(Σλ²/n) ≤ sensitivity; the least ball around a rotated ellipsoid has √(Σλ²), at Λ Vᵀ."""
    for _ in range(TIMES):
        A = random_strategy(rng, 4, 4)
        _, values, V = np.linalg.svd(A)
        frobenius = math.sqrt(np.square(values).sum())

        def radius(B: Matrix) -> float:  # of the least L1 ball that holds {B x: ‖x‖₂ ≤ 1}
            return float(np.linalg.norm(signs(4) @ B, axis=1).max())

        axes = values[:, None] * V
        assert radius(axes) == pytest.approx(frobenius, rel=1e-9)
        for B in [axes, A, *(np.linalg.qr(rng.normal(size=(4, 4)))[0] @ A for _ in range(50))]:
            assert radius(B) >= frobenius * (1 - 1e-9)
            sensitivity = Strategy(B, norm=1).sensitivity
            assert frobenius / 2 * (1 - 1e-9) <= sensitivity <= radius(B) * (1 + 1e-9)


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


def test_pods_theorem_6_29_hierarchy_and_wavelet_within_a_factor_of_2(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """At the same sensitivity 1 + log n; (2n - 1)/n and 1/2 are attained."""
    for n in (4, 8, 32):
        with subtests.test(str(n)):
            total, cells = np.ones(n), np.eye(n)[0] - np.eye(n)[1]
            workload = Workload.from_matrix(np.vstack([total, cells, rng.normal(size=(50, n))]))
            tree, wavelet = (Strategy(A).variances(workload) for A in (hierarchy(n), haar(n)))
            assert tree[0] == pytest.approx(wavelet[0] * n / (2 * n - 1)) and tree[1] == pytest.approx(
                2 * wavelet[1]
            )
            assert np.all(tree >= wavelet / 2) and np.all(tree <= 2 * wavelet * (1 + 1e-9))


# -- Sensitivities: PODS 2010 (Example 2, Figure 4, section 6, appendix F), PVLDB 2012, the slides


def test_sensitivities_of_the_constructions(subtests: pytest.Subtests) -> None:
    for levels in range(1, 7):
        with subtests.test(str(levels)):
            n = 2**levels
            for make, l1 in ((identity, 1), (hierarchy, 1 + levels), (haar, 1 + levels)):
                A = make(n)
                assert Strategy(A, norm=1).sensitivity == l1
                assert Strategy(A, norm=2).sensitivity == pytest.approx(math.sqrt(l1), rel=1e-12)


def test_sensitivities_of_workloads() -> None:
    ranges = np.array(
        [[lo <= i <= hi for i in range(6)] for lo in range(6) for hi in range(lo, 6)], dtype=float
    )
    predicates = np.array(list(itertools.product([0.0, 1.0], repeat=6)))
    assert Strategy(ranges, norm=1).sensitivity == 12  # (n/2)(n/2 + 1)
    assert Strategy(predicates, norm=1).sensitivity == 32  # 2^(n - 1)
    assert Strategy(np.tri(6), norm=1).sensitivity == 6


def test_rotations_of_the_hierarchy_and_the_wavelet_in_figure_4(subtests: pytest.Subtests) -> None:
    """Rows √eigenvalue · eigenvector, the eigenvectors on blocks of cells (appendix F)."""
    for levels in range(1, 7):
        with subtests.test(str(levels)):
            n = 2**levels
            details = haar(n)[1:]  # differences of halves, as eigenvectors of both
            units = details / np.linalg.norm(details, axis=1, keepdims=True)
            halves = np.kron(np.eye(2), np.full(n // 2, math.sqrt(2 / n)))
            of_tree = np.vstack([np.full(n, 1 / math.sqrt(n)), units])
            of_wavelet = np.vstack([halves, units[1:]])  # the two largest eigenvalues are equal
            rotated = []
            for A, vectors in ((hierarchy(n), of_tree), (haar(n), of_wavelet)):
                gram = A.T @ A
                B = np.sqrt(np.einsum("ij,jk,ik->i", vectors, gram, vectors))[:, None] * vectors
                np.testing.assert_allclose(B.T @ B, gram, atol=1e-9)
                rotated.append(Strategy(B, norm=1).sensitivity)
            tree = math.sqrt((2 * n - 1) / n) + sum(math.sqrt(1 - 0.5**i) for i in range(1, levels + 1))
            assert rotated == pytest.approx([tree, levels - 1 + math.sqrt(2)], rel=1e-12)
            assert max(rotated) < 1 + levels
            if n == 4:
                assert rotated == pytest.approx([2.8960, 2.4142], abs=5e-5)


def test_sensitivities_of_products_and_p_identity(rng: np.random.Generator) -> None:
    A, B = rng.normal(size=(3, 4)), rng.normal(size=(5, 2))
    for norm in (1, 2):
        one, two = (Strategy(M, norm=norm).sensitivity for M in (A, B))
        assert Strategy(np.kron(A, B), norm=norm).sensitivity == pytest.approx(one * two, rel=1e-12)
    theta = rng.uniform(0, 3, size=(2, 6))
    p_identity = np.vstack([identity(6), theta]) / (1 + theta.sum(axis=0))
    np.testing.assert_allclose(np.abs(p_identity).sum(axis=0), 1)
    assert Strategy(p_identity).supports(Workload.from_matrix(rng.normal(size=(9, 6))))
