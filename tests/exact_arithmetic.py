"""Exact arithmetic for tests of error bounds: fractions, and matrices of known singular values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from mmopt.numerics.balls import Ball


def fractions(a: np.ndarray) -> np.ndarray:
    return np.vectorize(Fraction, otypes=[object])(a)


def within(rng: np.random.Generator, ball: Ball) -> np.ndarray:
    """An exact point of the ball, often at its edge."""
    share = rng.choice([-1.0, 1.0, 0.0, 0.5], size=ball.mid.shape)
    return fractions(ball.mid) + fractions(share) * fractions(ball.rad)


def random_ball(rng: np.random.Generator, *shape: int, positive: bool = False) -> Ball:
    mid = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, size=shape)
    mid = np.abs(mid) + 1e-3 if positive else mid
    rad = np.abs(mid) * rng.choice([0.0, 1e-14, 1e-3], size=shape)
    return Ball(mid, rad)


def assert_inside(truth: Any, ball: Ball) -> None:
    truth, mid, rad = (np.atleast_1d(np.asarray(x, dtype=object)) for x in (truth, ball.mid, ball.rad))
    assert truth.shape == mid.shape
    for t, m, r in zip(truth.ravel(), mid.ravel(), rad.ravel(), strict=True):
        assert abs(t - Fraction(float(m))) <= Fraction(float(r)), (float(t), m, r)


def orthogonal(rng: np.random.Generator, n: int) -> np.ndarray:
    """An orthogonal matrix of multiples of a power of two: I - 2 v vᵀ / n, v = ±1."""
    out = np.eye(n)
    for _ in range(2):
        v = rng.choice([-1.0, 1.0], size=n)
        out = out - np.outer(out @ v, v) * (2 / n)
    return out


def solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Gauss's elimination with fractions."""
    a = np.concatenate([fractions(matrix), fractions(right)], axis=1)
    n = len(a)
    for i in range(n):
        at = next(j for j in range(i, n) if a[j, i] != 0)
        a[[i, at]] = a[[at, i]]
        a[i] = a[i] / a[i, i]
        for j in range(n):
            if j != i:
                a[j] = a[j] - a[i] * a[j, i]
    return a[:, n:]


def conditioned(rng: np.random.Generator, n: int, condition: float) -> np.ndarray:
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    x = (q * np.logspace(0, -np.log10(condition), n)) @ q.T
    return (x + x.T) / 2
