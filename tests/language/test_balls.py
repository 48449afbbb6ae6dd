"""The true value lies in the ball, and the ball is small.

True values are exact: fractions, or matrices built so that their nuclear norm is known.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from mmopt.language import balls
from mmopt.language.balls import Ball, exact
from mmopt.language.inverse_balls import sandwich, smallest_singular
from mmopt.language.nuclear_ball import nuclear
from mmopt.language.spectral_balls import root, smallest_eigenvalue

SEEDS = range(25)


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


BINARY: list[tuple[Callable[..., Ball], Callable[[Any, Any], Any]]] = [
    (balls.add, lambda a, b: a + b),
    (balls.sub, lambda a, b: a - b),
    (balls.mul, lambda a, b: a * b),
    (balls.div, lambda a, b: a / b),
]


@pytest.mark.parametrize(("rule", "truth"), BINARY, ids=["add", "sub", "mul", "div"])
@pytest.mark.parametrize("seed", SEEDS)
def test_entry_by_entry(rule: Callable[..., Ball], truth: Callable[[Any, Any], Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_ball(rng, 5), random_ball(rng, 5)
    assert_inside(truth(within(rng, a), within(rng, b)), rule(a, b))


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_and_extremes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = random_ball(rng, 4, 6)
    x = within(rng, a)
    for axis in (None, 0, 1):
        assert_inside(x.sum(axis=axis), balls.total(a, axis=axis))
        assert_inside(x.max(axis=axis), balls.extreme(np.max)(a, axis=axis))
        assert_inside(x.min(axis=axis), balls.extreme(np.min)(a, axis=axis))
    assert_inside(abs(x), balls.absolute(a))
    assert_inside(-x.T, balls.neg(balls.transpose(a)))
    assert_inside(x[:, :4].trace(), balls.trace(Ball(a.mid[:, :4], a.rad[:, :4])))


@pytest.mark.parametrize("seed", SEEDS)
def test_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, v = random_ball(rng, 4, 6), random_ball(rng, 6, 3), random_ball(rng, 6)
    x, y, w = (within(rng, ball) for ball in (a, b, v))
    assert_inside(x.dot(y), balls.matmul(a, b))
    assert_inside(x.dot(w), balls.matmul(a, v))
    assert_inside(w.dot(w), balls.matmul(v, v))


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 4.0, 7.0, -1.0, -2.0, -3.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_whole_powers(exponent: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = random_ball(rng, 6)
    wide = Ball(a.mid, np.abs(a.mid) * rng.choice([0.0, 0.5, 2.0], size=6) if exponent >= 0 else a.rad)
    assert_inside(within(rng, wide) ** int(exponent), balls.power(wide, exact(exponent)))


@pytest.mark.parametrize("seed", SEEDS)
def test_roots_and_broken_powers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = random_ball(rng, 6, positive=True)
    x = within(rng, a)
    for ball, order in (
        (balls.sqrt(a), 2),
        (balls.power(a, exact(0.5)), 2),
        (balls.power(a, exact(1 / 4)), 4),
    ):
        low = np.clip(fractions(ball.mid) - fractions(ball.rad), 0, None)
        high = fractions(ball.mid) + fractions(ball.rad)
        assert (low**order <= x).all() and (x <= high**order).all()
        assert (ball.rad <= a.rad / np.abs(a.mid) * ball.mid + 1e-14 * ball.mid).all()


def test_what_has_no_value_has_no_bound() -> None:
    assert np.isinf(balls.div(exact(1.0), exact(0.0)).rad)
    assert np.isinf(balls.div(exact(1.0), Ball(np.array(1.0), np.array(1.0))).rad)
    assert np.isinf(balls.sqrt(exact(-1.0)).rad)
    assert np.isinf(balls.power(exact(-1.0), exact(0.3)).rad)
    assert np.isinf(balls.power(exact(0.0), exact(-1.0)).rad)
    assert np.isinf(nuclear(exact(np.array([[np.inf]]))).rad)
    singular = np.ones((2, 2))
    for matrix in (singular, -np.eye(2), np.full((2, 2), np.nan), np.array([[1.0, 3.0], [0.0, 0.0]])):
        ball = sandwich(exact(np.eye(2)), exact(matrix), exact(np.eye(2)))
        assert np.isinf(ball.rad).all()


def test_products_too_small_for_a_float() -> None:
    tiny = np.array([1e-200])
    assert_inside(fractions(tiny) * fractions(tiny), balls.mul(exact(tiny), exact(tiny)))
    assert_inside([Fraction(1e-200) ** 2], balls.matmul(exact(tiny.reshape(1, 1)), exact(tiny)))


# ---------------------------------------------------------------- nuclear norm


def orthogonal(rng: np.random.Generator, n: int) -> np.ndarray:
    """An orthogonal matrix of multiples of a power of two: I - 2 v vᵀ / n, v = ±1."""
    out = np.eye(n)
    for _ in range(2):
        v = rng.choice([-1.0, 1.0], size=n)
        out = out - np.outer(out @ v, v) * (2 / n)
    return out


@pytest.mark.parametrize(("rows", "columns"), list(product((1, 2, 4, 16), repeat=2)))
@pytest.mark.parametrize("smallest", [0, 1, 30])
def test_nuclear_norm(rows: int, columns: int, smallest: int) -> None:
    rng = np.random.default_rng(rows * 100 + columns)
    r = min(rows, columns)
    # singular values over a wide range, with few bits, so that the product below is exact
    s = np.ldexp(rng.integers(1, 8, size=r).astype(float), -rng.integers(0, smallest + 1, size=r))
    s[rng.random(r) < 0.3] = 0.0
    s[0] = 1.0
    k = (orthogonal(rng, rows)[:, :r] * s) @ orthogonal(rng, columns)[:r]
    ball = nuclear(exact(k))
    assert_inside(fractions(s).sum(), ball)
    assert ball.rad <= 1e-12 * s.sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_nuclear_norm_of_a_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = orthogonal(rng, 4), orthogonal(rng, 4)
    s = rng.integers(1, 100, size=4).astype(float)
    k = (a * s) @ b
    off = rng.normal(size=(4, 4)) * 1e-5
    shaken = Ball(k + off, np.abs(off) * (1 + 1e-9) + 1e-9)
    assert_inside(fractions(s).sum(), nuclear(shaken))


# ---------------------------------------------------------------- inverses


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


@pytest.mark.parametrize("condition", [1e1, 1e4, 1e9, 1e12])
@pytest.mark.parametrize("seed", range(5))
def test_sandwich(condition: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    x, w = conditioned(rng, n, condition), rng.normal(size=(m, n))
    truth = fractions(w).dot(solve(x, w.T))
    ball = sandwich(exact(w), exact(x), exact(w.T))
    assert_inside(truth, ball)
    limit = 1e-12 if condition <= 1e9 else 1e-8
    assert balls.trace(ball).rad <= limit * float(truth.trace())
    other = rng.normal(size=n)
    assert_inside(
        fractions(w).dot(solve(x, other.reshape(-1, 1)))[:, 0],
        sandwich(exact(w), exact(x), exact(other)),
    )
    number = fractions(other).dot(solve(x, other.reshape(-1, 1)))[0]
    assert_inside(number, sandwich(exact(other), exact(x), exact(other)))


@pytest.mark.parametrize("seed", range(5))
def test_sandwich_of_balls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, w = conditioned(rng, 4, 1e3), rng.normal(size=(3, 4))
    # a midpoint that is not symmetric around a matrix that is
    matrix = Ball(x + rng.normal(size=(4, 4)) * 1e-8, np.full((4, 4), 1e-7))
    left = Ball(w + rng.normal(size=w.shape) * 1e-8, np.full(w.shape, 1e-7))
    ball = sandwich(left, matrix, balls.transpose(left))
    assert np.isfinite(ball.rad).all()
    assert_inside(fractions(w).dot(solve(x, w.T)), ball)


@pytest.mark.parametrize("seed", SEEDS)
def test_sandwich_of_what_is_not_symmetric(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    x, w = rng.normal(size=(n, n)), rng.normal(size=(3, n))
    if seed % 2:  # I + K with K skew, of Cayley's transform
        x = np.eye(n) + 10.0 * (x - x.T)
    ball = sandwich(exact(w), exact(x), exact(w.T))
    assert_inside(fractions(w).dot(solve(x, w.T)), ball)
    assert np.isfinite(ball.rad).all()
    least = np.linalg.svd(x, compute_uv=False)[-1]
    assert 0 < smallest_singular(exact(x)) <= least * (1 + 1e-12)
    assert smallest_singular(exact(np.zeros((n, n)))) == 0
    shaken = Ball(x + rng.normal(size=x.shape) * 1e-10, np.full(x.shape, 1e-9))
    assert_inside(fractions(w).dot(solve(x, w.T)), sandwich(exact(w), shaken, exact(w.T)))


@pytest.mark.parametrize("condition", [1.0, 1e6, 1e12])
def test_smallest_eigenvalue_is_a_lower_bound(condition: float) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 20):
        s = np.ldexp(1.0, -rng.integers(0, int(np.log2(condition)) + 1, size=n))
        q = orthogonal(rng, 16)
        values = np.concatenate([s, np.ones(16)])[:16]
        found = smallest_eigenvalue(exact((q * values) @ q.T))
        assert values.min() - 1e-13 <= found <= values.min()
    assert smallest_eigenvalue(exact(np.zeros((2, 2)))) <= 0
    assert smallest_eigenvalue(exact(-np.eye(2))) <= -1
    assert smallest_eigenvalue(exact(np.full((2, 2), np.nan))) == -np.inf
    assert smallest_eigenvalue(Ball(np.eye(2), np.full((2, 2), 0.6))) < 0


@pytest.mark.parametrize("least", [0.0, 2.0**-20, 1.0])
def test_matrix_root(least: float) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        q = orthogonal(rng, 4)
        s = np.array([least, 1.0, 2.0, 4.0])
        ball = root(exact((q * s**2) @ q.T))
        assert_inside(fractions((q * s) @ q.T), ball)
        assert ball.rad.max() <= (1e-12 if least == 1.0 else 1e-6)
