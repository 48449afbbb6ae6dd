"""Small singular values keep their digits, and what a kernel hands over is orthonormal and well-conditioned.

Guards problem_and_iterates.py and programs_and_points.py.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import tolerances
from exact_arithmetic import orthogonal

from mmopt import Workload, solve
from mmopt.solvers.nuclear import problem_and_iterates as module
from mmopt.solvers.nuclear.problem_and_iterates import decomposed as from_vectors, iterate, whole
from mmopt.solvers.nuclear.programs_and_points import conditioned, polar_of

SHAPES = [(1, 1), (4, 4), (9, 5), (5, 9)]


def decomposed(k: np.ndarray) -> tuple[np.ndarray, ...]:
    vectors = np.linalg.eigh(k @ k.T if k.shape[0] < k.shape[1] else k.T @ k)[1]
    return from_vectors(k.copy(), vectors)


def test_the_decomposition_is_one(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for shape, most in itertools.product(SHAPES, [0, 256]):
        with subtests.test(shape=shape, most=most), pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "MOST_JACOBI_COLUMNS", most)
            k = rng.normal(size=shape)
            left, values, right = decomposed(k)
            count = min(shape)
            assert left.shape == (shape[0], count) and right.shape == (shape[1], count)
            np.testing.assert_allclose((left * values) @ right.T, k, atol=tolerances.FINE)
            np.testing.assert_allclose(left.T @ left, np.eye(count), atol=tolerances.FINE)
            np.testing.assert_allclose(right.T @ right, np.eye(count), atol=tolerances.FINE)
            assert (np.diff(values) >= 0).all()


def test_small_values_are_right_next_to_themselves(rng: np.random.Generator) -> None:
    """Their product is the determinant, whole numbers times powers of two."""
    for turned in [False, True]:
        whole = rng.integers(-9, 10, size=(5, 5))
        scales = [2.0 ** (-16 * i) for i in range(5)]
        k = whole * np.array(scales)
        if turned:
            k = k.T.copy()
        _, values, _ = decomposed(k)
        determinant = Fraction(round(float(np.linalg.det(whole)))) * np.prod([Fraction(s) for s in scales])
        product = np.prod([Fraction(float(v)) for v in values])
        assert determinant and abs(product / abs(determinant) - 1) < tolerances.FINE


def test_only_eigenvalues_that_are_too_large_are_lowered(rng: np.random.Generator) -> None:
    for decades in [1, 4, 9]:
        turn, values = orthogonal(rng, 6), 10.0 ** np.linspace(0, decades, 6)
        (found,) = conditioned([turn * values], 1e6)
        expected = (turn * np.minimum(values**2, 1e6)) @ turn.T
        np.testing.assert_allclose(found, expected, atol=tolerances.FINE * expected.max())
        assert np.linalg.eigvalsh(found)[0] == pytest.approx(1.0, rel=tolerances.FINE)


def test_what_a_root_does_not_reach_gets_the_largest(rng: np.random.Generator) -> None:
    """And the smallest eigenvalue is that of all roots."""
    turn = orthogonal(rng, 5)
    low, high = conditioned([turn[:, :3] * np.array([3.0, 2.0, 20.0]), 10.0 * np.eye(2)], 25.0)
    np.testing.assert_allclose(np.linalg.eigvalsh(low), [4.0, 9.0, 100.0, 100.0, 100.0], rtol=tolerances.FINE)
    np.testing.assert_allclose(high, 100.0 * np.eye(2), atol=tolerances.FINE)


def test_a_gap_out_of_reach_costs_nothing() -> None:
    """A gap that no arithmetic reaches is no reason to stop before the first step."""
    workload = Workload.from_matrix(np.tri(16))
    reached = solve(workload, "l2_strategy", tolerance=1e-10)
    for tolerance in (1e-14, 1e-15, 1e-300):
        found = solve(workload, "l2_strategy", tolerance=tolerance)
        assert found.gap is not None
        assert found.gap <= 1e-10
        assert found.objective <= reached.objective * (1 + 1e-10)
        assert found.status.stop == "gap not reached"


@pytest.mark.quick
def test_the_polar_factor_is_orthonormal(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Also where the rank is a little short: what stands beside changes nothing in <K, Z>.

    With singular values of like sizes: of small ones a Gram matrix gives the directions less well.
    """
    for targets, missing, shape in itertools.product([False, True], [0, 1, 2], [(12, 8), (8, 8), (8, 12)]):
        with subtests.test(targets=targets, missing=missing, shape=shape):
            m, n = shape
            rank = min(shape) - missing
            left, right = (np.linalg.qr(rng.normal(size=(size, rank)))[0] for size in (m, n))
            rows = left * rng.uniform(0.1, 1.0, rank) @ right.T
            problem = whole(rows, np.ones(m) if targets else None)
            cells, queries = rng.dirichlet(np.full(n, 9.0)), rng.dirichlet(np.full(m, 9.0))
            at = iterate(problem, [None], cells, queries if targets else None)
            k = np.sqrt(queries if targets else np.ones(m))[:, None] * rows * np.sqrt(cells)
            z = polar_of(problem, at)
            assert isinstance(z, np.ndarray) and z.shape == shape
            one = z @ z.T if m < n else z.T @ z
            np.testing.assert_allclose(one, np.eye(min(shape)), atol=tolerances.FINE)
            assert np.vdot(k, z) == pytest.approx(np.linalg.norm(k, "nuc"), rel=tolerances.FINE)
            np.testing.assert_allclose(k @ z.T, z @ k.T, atol=tolerances.FINE)


def test_there_is_no_polar_factor_far_from_full_rank(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(8, 3)) @ rng.normal(size=(3, 8))
    assert polar_of(whole(rows), iterate(whole(rows), [None], np.full(8, 0.125), None)) is None
