"""Products around an inverse lie in their ball, and the ball is small."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from rational import assert_inside, conditioned, fractions, solve

from mmopt.numerics import ball_inverse, balls
from mmopt.numerics.ball_inverse import (
    Residual,
    plain_residual,
    residual,
    sandwich,
    sandwich_diagonal,
    short_residual,
    smallest_singular,
)
from mmopt.numerics.balls import Ball, exact

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("condition", [1e1, 1e4, 1e9, 1e12])
@pytest.mark.draws(4)
def test_sandwich(condition: float, rng: np.random.Generator) -> None:
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


@pytest.mark.draws(4)
def test_sandwich_of_balls(rng: np.random.Generator) -> None:
    x, w = conditioned(rng, 4, 1e3), rng.normal(size=(3, 4))
    # a midpoint that is not symmetric around a matrix that is
    matrix = Ball(x + rng.normal(size=(4, 4)) * 1e-8, np.full((4, 4), 1e-7))
    left = Ball(w + rng.normal(size=w.shape) * 1e-8, np.full(w.shape, 1e-7))
    ball = sandwich(left, matrix, balls.transpose(left))
    assert np.isfinite(ball.rad).all()
    assert_inside(fractions(w).dot(solve(x, w.T)), ball)


@pytest.mark.draws(6)
def test_sandwich_of_what_is_not_symmetric(rng: np.random.Generator) -> None:
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


@pytest.mark.parametrize("condition", [1e1, 1e5, 1e9, 1e12])
@pytest.mark.draws(4)
def test_the_diagonal_alone(
    condition: float, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two columns at a time, so that there are several, and the last is narrower."""
    monkeypatch.setattr(ball_inverse, "DIAGONAL_COLUMNS", 2)
    n, m = int(rng.integers(2, 6)), int(rng.integers(1, 6))
    x, w, v = conditioned(rng, n, condition), rng.normal(size=(m, n)), rng.normal(size=(n, m))
    limit = 2 * ball_inverse.MOST_LOST if condition <= 1e9 else 5e-8  # 1.1e-8 with OPENBLAS_CORETYPE=Prescott
    ball = sandwich_diagonal(exact(w), exact(x), exact(w.T))
    truth = fractions(w).dot(solve(x, w.T)).diagonal()
    assert_inside(truth, ball)
    assert (ball.rad <= limit * truth.astype(float)).all()
    assert_inside(fractions(w).dot(solve(x, v)).diagonal(), sandwich_diagonal(exact(w), exact(x), exact(v)))
    lopsided = np.eye(n) + 3.0 * rng.normal(size=(n, n))
    found = sandwich_diagonal(exact(w), exact(lopsided), exact(v))
    assert_inside(fractions(w).dot(solve(lopsided, v)).diagonal(), found)


def test_the_diagonal_of_no_rows() -> None:
    """Queries that have nothing on a component."""
    none = exact(np.zeros((0, 3)))
    assert sandwich_diagonal(none, exact(np.eye(3)), exact(np.zeros((3, 0)))).mid.shape == (0,)


@pytest.mark.draws(4)
def test_the_diagonal_of_balls(rng: np.random.Generator) -> None:
    x, w = conditioned(rng, 4, 1e3), rng.normal(size=(3, 4))
    matrix = Ball(x + rng.normal(size=(4, 4)) * 1e-8, np.full((4, 4), 1e-7))
    left = Ball(w + rng.normal(size=w.shape) * 1e-8, np.full(w.shape, 1e-7))
    ball = sandwich_diagonal(left, matrix, balls.transpose(left))
    assert np.isfinite(ball.rad).all()
    assert_inside(fractions(w).dot(solve(x, w.T)).diagonal(), ball)


@pytest.mark.parametrize(
    "matrix",
    [np.ones((2, 2)), -np.eye(2), np.full((2, 2), np.nan), np.array([[1.0, 3.0], [0.0, 0.0]])],
    ids=["singular", "negative", "no number", "not symmetric"],
)
def test_what_has_no_inverse_has_no_bound(matrix: np.ndarray) -> None:
    for rule, shape in ((sandwich, (2, 2)), (sandwich_diagonal, (2,))):
        ball = rule(exact(np.eye(2)), exact(matrix), exact(np.eye(2)))
        assert ball.mid.shape == shape and np.isinf(ball.rad).all()


def test_nothing_to_invert_leaves_zeros() -> None:
    """As where fitness_level holds no query: its bound would be lost."""
    nothing = sandwich(exact(np.zeros((3, 0))), exact(np.zeros((0, 0))), exact(np.zeros((0, 3))))
    assert (nothing.mid == np.zeros((3, 3))).all() and not nothing.rad.any()


@pytest.mark.draws(40)
def test_residual_against_fractions(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr("mmopt.numerics.ball_inverse.SLICED_ROWS", int(rng.integers(1, 4)))
    n, k, c = (int(i) for i in rng.integers(1, 7, size=3))
    x = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-8, 9, size=(n, k))
    y = rng.normal(size=(k, c)) * 10.0 ** rng.integers(-8, 9, size=(k, c))
    right = x @ y  # so that nearly all digits cancel
    mid, rad = residual(right, x, y)
    size = np.abs(x).max(axis=1, keepdims=True) * np.abs(y).max(axis=0, keepdims=True) * k
    for i in range(n):
        for j in range(c):
            terms = (Fraction(x[i, t]) * Fraction(y[t, j]) for t in range(k))
            truth = Fraction(right[i, j]) - sum(terms, Fraction(0))
            assert abs(truth - Fraction(mid[i, j])) <= Fraction(rad[i, j])
    assert (rad <= 1e-28 * size + 1e-15 * np.abs(mid)).all()


def test_vectors_and_zeros() -> None:
    mid, rad = residual(np.zeros(3), np.zeros((3, 2)), np.zeros(2))
    assert mid.shape == rad.shape == (3,)
    assert not mid.any() and not rad.any()


@pytest.mark.parametrize(("products", "most"), [(short_residual, 1e-21), (plain_residual, 3e-15)])
@pytest.mark.draws(6)
def test_residuals_from_fewer_products_against_fractions(
    monkeypatch: pytest.MonkeyPatch, products: Residual, most: float, rng: np.random.Generator
) -> None:
    """The short one has an error that is still far below that of the plain product."""
    monkeypatch.setattr("mmopt.numerics.ball_inverse.SLICED_ROWS", int(rng.integers(1, 4)))
    n, k, c = (int(i) for i in rng.integers(1, 7, size=3))
    x = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-8, 9, size=(n, k))
    y = rng.normal(size=(k, c)) * 10.0 ** rng.integers(-8, 9, size=(k, c))
    right = x @ y
    mid, rad = products(right, x, y)
    size = np.abs(x).max(axis=1, keepdims=True) * np.abs(y).max(axis=0, keepdims=True) * k
    for i in range(n):
        for j in range(c):
            terms = (Fraction(x[i, t]) * Fraction(y[t, j]) for t in range(k))
            truth = Fraction(right[i, j]) - sum(terms, Fraction(0))
            assert abs(truth - Fraction(mid[i, j])) <= Fraction(rad[i, j]) * (1 + Fraction(1, 10**9))
    assert (rad <= most * size).all()
