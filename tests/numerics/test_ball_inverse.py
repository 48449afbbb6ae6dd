"""Products around an inverse lie in their ball, and the ball is small."""

from fractions import Fraction

import numpy as np
import pytest
from exact_arithmetic import assert_inside, conditioned, fractions, solve

from mmopt.numerics import ball_inverse, balls
from mmopt.numerics.ball_inverse import (
    plain_residual,
    residual,
    sandwich,
    sandwich_diagonal,
    short_residual,
    smallest_singular,
)
from mmopt.numerics.balls import Ball, exact


@pytest.mark.quick
def test_sandwich(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for condition in [1e1, 1e4, 1e9, 1e12]:
        with subtests.test(condition=condition):
            for _ in range(4):
                n, m = int(rng.integers(2, 6)), int(rng.integers(1, 4))
                x, w = conditioned(rng, n, condition), rng.normal(size=(m, n))
                truth = fractions(w).dot(solve(x, w.T))
                ball = sandwich(exact(w), exact(x), exact(w.T))
                assert_inside(truth, ball)
                limit = 1e-12 if condition <= 1e9 else 1e-6  # the worst of 1,500 draws: 8e-8
                assert balls.trace(ball).rad <= limit * float(truth.trace())
                other = rng.normal(size=n)
                assert_inside(
                    fractions(w).dot(solve(x, other.reshape(-1, 1)))[:, 0],
                    sandwich(exact(w), exact(x), exact(other)),
                )
                number = fractions(other).dot(solve(x, other.reshape(-1, 1)))[0]
                assert_inside(number, sandwich(exact(other), exact(x), exact(other)))


def test_sandwich_of_balls(rng: np.random.Generator) -> None:
    for _ in range(4):
        x, w = conditioned(rng, 4, 1e3), rng.normal(size=(3, 4))
        # a midpoint that is not symmetric around a matrix that is
        matrix = Ball(x + rng.normal(size=(4, 4)) * 1e-8, np.full((4, 4), 1e-7))
        left = Ball(w + rng.normal(size=w.shape) * 1e-8, np.full(w.shape, 1e-7))
        ball = sandwich(left, matrix, balls.transpose(left))
        assert np.isfinite(ball.rad).all()
        truth = fractions(w).dot(solve(x, w.T))
        assert_inside(truth, ball)
        diagonal = sandwich_diagonal(left, matrix, balls.transpose(left))
        assert np.isfinite(diagonal.rad).all()
        assert_inside(truth.diagonal(), diagonal)


def test_sandwich_of_what_is_not_symmetric(rng: np.random.Generator) -> None:
    for _ in range(6):
        n = int(rng.integers(2, 6))
        x, w = rng.normal(size=(n, n)), rng.normal(size=(3, n))
        if rng.random() < 0.5:  # I + K with K skew, of Cayley's transform
            x = np.eye(n) + 10.0 * (x - x.T)
        ball = sandwich(exact(w), exact(x), exact(w.T))
        assert_inside(fractions(w).dot(solve(x, w.T)), ball)
        assert np.isfinite(ball.rad).all()
        least = np.linalg.svd(x, compute_uv=False)[-1]
        assert 0 < smallest_singular(exact(x)) <= least * (1 + 1e-12)
        assert smallest_singular(exact(np.zeros((n, n)))) == 0
        shaken = Ball(x + rng.normal(size=x.shape) * 1e-10, np.full(x.shape, 1e-9))
        assert_inside(fractions(w).dot(solve(x, w.T)), sandwich(exact(w), shaken, exact(w.T)))


@pytest.mark.quick
def test_the_diagonal_alone(
    subtests: pytest.Subtests, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two columns at a time, so that there are several, and the last is narrower."""
    monkeypatch.setattr(ball_inverse, "DIAGONAL_ROWS", 2)
    for condition in [1e1, 1e5, 1e9, 1e12]:
        # of the last 1.1e-8 with OPENBLAS_CORETYPE=Prescott
        limit = 2 * ball_inverse.MOST_LOST if condition <= 1e9 else 5e-8
        with subtests.test(condition=condition):
            for _ in range(4):
                n, m = int(rng.integers(2, 6)), int(rng.integers(1, 6))
                x, w, v = conditioned(rng, n, condition), rng.normal(size=(m, n)), rng.normal(size=(n, m))
                ball = sandwich_diagonal(exact(w), exact(x), exact(w.T))
                truth = fractions(w).dot(solve(x, w.T)).diagonal()
                assert_inside(truth, ball)
                assert (ball.rad <= limit * truth.astype(float)).all()
                assert_inside(
                    fractions(w).dot(solve(x, v)).diagonal(), sandwich_diagonal(exact(w), exact(x), exact(v))
                )
                lopsided = np.eye(n) + 3.0 * rng.normal(size=(n, n))
                found = sandwich_diagonal(exact(w), exact(lopsided), exact(v))
                assert_inside(fractions(w).dot(solve(lopsided, v)).diagonal(), found)


def test_what_has_no_inverse_has_no_bound() -> None:
    for matrix in (np.ones((2, 2)), -np.eye(2), np.full((2, 2), np.nan), np.array([[1.0, 3.0], [0.0, 0.0]])):
        for rule, shape in ((sandwich, (2, 2)), (sandwich_diagonal, (2,))):
            ball = rule(exact(np.eye(2)), exact(matrix), exact(np.eye(2)))
            assert ball.mid.shape == shape and np.isinf(ball.rad).all(), matrix


def test_nothing_to_invert_leaves_zeros() -> None:
    """So it is where fitness_level holds no query, or queries have nothing on a component."""
    nothing = sandwich(exact(np.zeros((3, 0))), exact(np.zeros((0, 0))), exact(np.zeros((0, 3))))
    assert (nothing.mid == np.zeros((3, 3))).all() and not nothing.rad.any()
    none = exact(np.zeros((0, 3)))
    assert sandwich_diagonal(none, exact(np.eye(3)), exact(np.zeros((3, 0)))).mid.shape == (0,)
    mid, rad = residual(np.zeros(3), np.zeros((3, 2)), np.zeros(2))
    assert mid.shape == rad.shape == (3,)
    assert not mid.any() and not rad.any()


@pytest.mark.quick
def test_no_matrix_in_a_ball_has_a_smaller_singular_value(rng: np.random.Generator) -> None:
    for rad in [0.0, 1e-6, 1e-2, 0.1, 0.2]:
        mid = np.eye(3) + np.triu(rng.uniform(-0.3, 0.3, (3, 3)), 1)
        found = smallest_singular(Ball(mid, np.full((3, 3), rad)))
        u, _, vt = np.linalg.svd(mid)
        worst = mid - rad * np.sign(np.outer(u[:, -1], vt[-1]))  # what moves the least value the most
        assert 0.0 <= found <= np.linalg.svd(worst, compute_uv=False)[-1]
        assert found > 0 or rad > 1e-2


@pytest.mark.quick
def test_residuals_against_fractions(
    subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """The short one has an error that is still far below that of the plain product."""
    for products, most, times in (
        (residual, 1e-28, 120),
        (short_residual, 1e-21, 6),
        (plain_residual, 3e-15, 6),
    ):
        with subtests.test(products.__name__):
            for _ in range(times):
                monkeypatch.setattr(ball_inverse, "SLICED_ROWS", int(rng.integers(1, 4)))
                n, k, c = (int(i) for i in rng.integers(1, 7, size=3))
                x = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-8, 9, size=(n, k))
                y = rng.normal(size=(k, c)) * 10.0 ** rng.integers(-8, 9, size=(k, c))
                right = x @ y  # so that nearly all digits cancel
                mid, rad = products(right, x, y)
                size = np.abs(x).max(axis=1, keepdims=True) * np.abs(y).max(axis=0, keepdims=True) * k
                off = abs(fractions(right) - fractions(x).dot(fractions(y)) - fractions(mid))
                # the radii of the quick ones are rounded themselves
                grown = 1 if products is residual else 1 + Fraction(1, 10**9)
                assert (off <= fractions(rad) * grown).all()
                assert (rad <= most * size + (1e-15 * np.abs(mid) if products is residual else 0.0)).all()
