"""The second derivative of the nuclear norm against finite differences, and what steps leave out of it.

Sums of exponentials for 1 / z.

A triangle by panels is the matrix, and is solved with as the matrix is.
"""

import itertools

import numpy as np
import pytest
import tolerances
from solvers.nuclear.problems import KINDS, at, drawn, gradient, plain, problem_of
from tolerances import ROUNDING

from mmopt.solvers.nuclear import second_order as module
from mmopt.solvers.nuclear.nuclear_problem import whole
from mmopt.solvers.nuclear.second_order import (
    LEAST_TERM,
    Triangle,
    by_size,
    curvature,
    exponentials,
    many_exponentials,
    triangle,
)

STEP = 1e-4


def test_the_hessian(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """With enough exponentials it is the derivative of the gradient: N (diag(g) - Q)."""
    for kind in KINDS:
        with subtests.test(kind=kind):
            problem = problem_of(kind, rng)
            x = drawn(problem, rng)
            found = at(problem, x)
            q = curvature(problem, found, np.arange(len(x)), many_exponentials).dense()
            hessian = np.diag(gradient(found)) - found.norm * q
            differences = np.array(
                [
                    (gradient(at(problem, x + STEP * e)) - gradient(at(problem, x - STEP * e))) / (2 * STEP)
                    for e in np.eye(len(x))
                ]
            )
            assert np.allclose(
                hessian, differences, rtol=0, atol=tolerances.DIFFERENCES * np.abs(hessian).max()
            )


def test_the_curvature_is_positive(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """N is concave in the weights: in their logarithms Q is positive semidefinite."""
    for kind in KINDS:
        with subtests.test(kind=kind):
            problem = problem_of(kind, rng)
            x = drawn(problem, rng)
            values = np.linalg.eigvalsh(curvature(problem, at(problem, x), np.arange(len(x))).dense())
            assert values[0] >= -tolerances.ROUNDING * values[-1]


def test_in_single_precision(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """It is the same to the digits of single precision, and takes half of the memory."""
    for kind in KINDS:
        with subtests.test(kind=kind):
            problem = problem_of(kind, rng)
            found = at(problem, drawn(problem, rng))
            active = np.arange(len(drawn(problem, rng)))
            double = curvature(problem, found, active, careful=False)
            single = curvature(problem, found, active, careful=False, single=True)
            pairs = zip(single.panels, double.panels, strict=True)
            assert all(one.dtype == np.float32 and 2 * one.nbytes == other.nbytes for one, other in pairs)
            exact = double.dense()
            np.testing.assert_allclose(
                single.dense(), exact, rtol=0, atol=tolerances.SINGLE * np.abs(exact).max()
            )


def test_a_block_of_rows_at_a_time_is_the_same(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = plain(rng, targets=True)
    found = at(problem, drawn(problem, rng))
    count = len(found.cells) + len(found.queries)
    together = curvature(problem, found, np.arange(count)).dense()
    monkeypatch.setattr(module, "PANEL_ROWS", 3)
    apart = curvature(problem, found, np.arange(count)).dense()
    assert np.allclose(together, apart, rtol=tolerances.ROUNDING)


def test_rows_that_a_term_says_nothing_of(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Left out of it they change Q by little next to its diagonal, in whatever order the shares come."""
    for height, targets in itertools.product([3, 256], [False, True]):
        with subtests.test(height=height, targets=targets), pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "PANEL_ROWS", height)
            rows = rng.normal(size=(9, 7)) * 10.0 ** -np.arange(7.0)
            problem = whole(rows, np.ones(9) if targets else None)
            found = at(problem, drawn(problem, rng))
            active = by_size(problem, found, np.arange(16 if targets else 7))
            assert sorted(active) == list(range(len(active)))
            assert not targets or set(active[:9]) == set(range(9))
            exact = curvature(problem, found, active, exponentials).dense()
            some = curvature(problem, found, active, exponentials, careful=False).dense()
            sizes = np.sqrt(np.diagonal(exact))
            terms = 30
            assert (np.diagonal(some) >= (1 - terms * LEAST_TERM) * np.diagonal(exact)).all()
            assert (np.abs(some - exact) <= terms * np.sqrt(LEAST_TERM) * np.outer(sizes, sizes)).all()
            back = np.argsort(active)
            in_order = curvature(problem, found, np.arange(len(active)), exponentials).dense()
            np.testing.assert_allclose(
                exact[np.ix_(back, back)], in_order, atol=tolerances.ROUNDING * in_order.max()
            )


def test_shares_that_live_on_like_singular_values_stand_together() -> None:
    problem = whole(np.diag([1.0, 1e-6, 1e-3, 1e-5]))
    found = at(problem, np.zeros(4))
    assert by_size(problem, found, np.arange(4)).tolist() == [1, 3, 2, 0]
    assert by_size(problem, found, np.array([0, 2, 3])).tolist() == [3, 2, 0]


# A Newton step with a Hessian within a quarter of the true one converges all the same.
ENOUGH = 0.25


def test_near_everywhere(subtests: pytest.Subtests) -> None:
    for low, ratio in itertools.product([1e-9, 1.0, 1e5], [1.0, 1.5, 30.0, 1e3, 1e6, 1e10]):
        with subtests.test(low=low, ratio=ratio):
            z = np.geomspace(low, low * ratio, 1000)
            terms = exponentials(low, low * ratio)
            found = sum(w * np.exp(-a * z) for a, w in terms)
            assert np.abs(found * z - 1.0).max() < ENOUGH
            assert all(w > 0 for _, w in terms)  # the Hessian of a concave function stays one


def test_more_terms_for_a_wider_range_only() -> None:
    counts = [len(exponentials(1.0, ratio)) for ratio in (10.0, 1e4, 1e8)]
    assert counts == sorted(counts) and counts[-1] <= 14


def test_many_are_exact(subtests: pytest.Subtests) -> None:
    for low, ratio in itertools.product([1e-9, 1.0, 1e5], [1.0, 30.0, 1e6, 1e10]):
        with subtests.test(low=low, ratio=ratio):
            z = np.geomspace(low, low * ratio, 1000)
            found = sum(w * np.exp(-a * z) for a, w in many_exponentials(low, low * ratio))
            assert np.abs(found * z - 1.0).max() < ROUNDING


HEIGHTS = [1, 3, 4, 50]


def filled(matrix: np.ndarray) -> Triangle:
    found = triangle(matrix, len(matrix))
    found.add(matrix)
    return found


def test_it_is_the_matrix_and_solves_as_it(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for count, height in itertools.product([1, 4, 11, 12], HEIGHTS):
        with subtests.test(count=count, height=height), pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "PANEL_ROWS", height)
            root = rng.normal(size=(count, count + 3))
            matrix = root @ root.T
            assert np.array_equal(filled(matrix).dense(), matrix)
            assert sum(panel.size for _, panel in filled(matrix)) <= count * (count + height) / 2
            for right in (rng.normal(size=count), rng.normal(size=(count, 2))):
                found = filled(matrix).solve(right)
                assert found is not None and found.shape == right.shape
                np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=tolerances.FINE)


def test_what_is_not_definite_is_not_solved(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for height in HEIGHTS:
        with subtests.test(height=height), pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "PANEL_ROWS", height)
            matrix = np.eye(7)
            matrix[5, 5] = -1.0
            assert filled(matrix).solve(rng.normal(size=7)) is None


def test_nothing() -> None:
    assert triangle(np.zeros(0), 0).dense().shape == (0, 0)
