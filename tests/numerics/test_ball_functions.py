"""The true exponential, logarithm or polar factor lies in the ball, and the ball is small.

True values have fifty digits more than a float (``decimal``), or are orthogonal matrices of known entries.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from mmopt.numerics import ball_functions, balls
from mmopt.numerics.balls import Ball, exact

pytestmark = pytest.mark.quick


def decimals(a: np.ndarray) -> list[Decimal]:
    return [Decimal(float(x)) for x in np.ravel(a)]


def assert_inside(truth: list[Decimal], ball: Ball) -> None:
    for t, m, r in zip(truth, decimals(ball.mid), decimals(ball.rad), strict=True):
        assert abs(t - m) <= r, (t, m, r)


def random_ball(rng: np.random.Generator, *shape: int) -> Ball:
    mid = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3, size=shape)
    return Ball(mid, np.abs(mid) * rng.choice([0.0, 1e-17, 1e-14, 1e-3], size=shape))


@pytest.mark.draws(6)
def test_exponentials_and_logarithms(rng: np.random.Generator) -> None:
    a = random_ball(rng, 4, 3)
    share = rng.choice([-1.0, 1.0, 0.0, 0.5], size=a.mid.shape)
    with localcontext() as context:
        context.prec = 70
        x = [m + s * r for m, s, r in zip(*map(decimals, (a.mid, share, a.rad)), strict=True)]
        grown = [v.exp() for v in x]
        assert_inside(grown, ball_functions.exp(a))
        positive = Ball(np.abs(a.mid), a.rad / 2)
        y = [m + s * r for m, s, r in zip(*map(decimals, (positive.mid, share, positive.rad)), strict=True)]
        assert_inside([v.ln() for v in y], ball_functions.log(positive))
        assert_inside([sum(grown).ln()], ball_functions.logsumexp(a))
        rows = [grown[3 * i : 3 * i + 3] for i in range(4)]
        assert_inside([sum(row).ln() for row in rows], ball_functions.logsumexp(a, axis=1))
        assert_inside(
            [sum(column).ln() for column in zip(*rows, strict=True)], ball_functions.logsumexp(a, axis=0)
        )


def test_exponentials_are_tight() -> None:
    x = np.linspace(-30, 30, 61)
    assert (ball_functions.exp(exact(x)).rad <= 1e-14 * np.exp(x)).all()
    assert (ball_functions.log(exact(np.exp(x))).rad <= 1e-14 * (1 + np.abs(x))).all()
    assert ball_functions.logsumexp(exact(1e6 * x)).rad <= 1e-14 * 3e7


@pytest.mark.parametrize("at", [1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)])
def test_logarithms_next_to_one(at: float) -> None:
    ball = Ball(np.array([at]), np.array([2.0**-60]))
    with localcontext() as context:
        context.prec = 70
        for sign in (-1, 0, 1):
            assert_inside([(Decimal(at) + sign * Decimal(2) ** -60).ln()], ball_functions.log(ball))


def test_what_has_no_value_has_no_bound() -> None:
    assert np.isinf(ball_functions.log(exact(0.0)).rad)
    assert np.isinf(ball_functions.log(Ball(np.array(1.0), np.array(1.0))).rad)
    with np.errstate(all="ignore"):
        assert np.isinf(ball_functions.exp(exact(1e4)).rad)
    assert np.isinf(ball_functions.logsumexp(exact(np.array([np.inf]))).rad)
    assert np.isinf(ball_functions.polar(exact(np.zeros((2, 2)))).rad).all()
    assert np.isinf(ball_functions.polar(exact(np.full((2, 2), np.nan))).rad).all()


@pytest.mark.draws(6)
def test_polar_factor(rng: np.random.Generator) -> None:
    """Of Q H with Q = I - 2 v vᵀ / 4, v = ±1, and H a symmetric positive definite matrix of few bits."""
    v = rng.choice([-1.0, 1.0], size=4)
    q = np.eye(4) - np.outer(v, v) / 2
    b = rng.integers(-8, 9, size=(4, 4)).astype(float)
    h = b @ b.T + np.eye(4)
    ball = ball_functions.polar(exact(q @ h))
    for t, m, r in zip(q.ravel(), ball.mid.ravel(), ball.rad.ravel(), strict=True):
        assert abs(Fraction(t) - Fraction(m)) <= Fraction(r)
    assert ball.rad.max() <= 1e-9
    off = rng.normal(size=(4, 4)) * 1e-6
    shaken = ball_functions.polar(balls.Ball(q @ h + off, np.abs(off) * (1 + 1e-9)))
    assert (np.abs(q - shaken.mid) <= shaken.rad).all() and np.isfinite(shaken.rad).all()
