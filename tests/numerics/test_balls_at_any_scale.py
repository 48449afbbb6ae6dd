"""No operation on balls loses the true value, of numbers next to nothing and next to all that floats hold.

One table of operations; the numbers are drawn anew, and true values have thousands of bits.

Guards balls.py and ball_functions.py.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, ctx

from mmopt.numerics import ball_functions, balls
from mmopt.numerics.balls import Ball, exact

Rng = np.random.Generator
BITS = 4500  # the largest float over the smallest, with room
POWERS = (0.0, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 33.3, 77.7, 1000.5, 1e12 + 0.5, -1.0, -2.0, -0.7)


def number(rng: Rng) -> float:
    """Often a power of two: the sum of it and a half of its last digit is rounded by all that may be."""
    kind = rng.integers(8)
    if kind == 0:
        return 0.0
    sign = float(rng.choice([-1, 1]))
    if kind < 3:
        return sign * 2.0 ** float(rng.integers(-60, 60))
    reach = (-3, 3) if kind < 5 else (-323, 300)
    return sign * float(rng.uniform(0.5, 1.5)) * 10.0 ** float(rng.uniform(*reach))


def drawn(rng: Rng, *shape: int) -> Ball:
    mid = np.array([number(rng) for _ in range(math.prod(shape))]).reshape(shape)
    mid = np.abs(mid) if rng.random() < 0.5 else mid
    kinds = [0 * mid, np.abs(mid) * 2.0 ** -rng.integers(1, 60, shape), np.abs(mid * 1e-200)]
    kinds += [10.0 ** rng.uniform(-323, 300, shape), np.full(shape, np.inf)]
    share = (0.4, 0.35, 0.1, 0.1, 0.05) if rng.random() < 0.7 else (1.0, 0.0, 0.0, 0.0, 0.0)
    return Ball(mid, np.choose(rng.choice(5, shape, p=share), kinds))


def within(rng: Rng, ball: Ball) -> np.ndarray:
    """Points of the ball, often at its edge; where nothing is known, any."""
    share = rng.choice([-1.0, 1.0, 0.0, 0.375], size=ball.mid.shape)
    rad = np.where(np.isinf(ball.rad), 10.0 ** rng.uniform(-323, 300, ball.mid.shape), ball.rad)
    return arbs(ball.mid) + arbs(share) * arbs(rad)


def arbs(a: Any) -> np.ndarray:
    return np.vectorize(lambda x: arb(float(x)), otypes=[object])(np.asarray(a))


def each(f: Callable[..., Any]) -> Callable[..., Any]:
    return np.vectorize(f, otypes=[object])


def largest(x: Any) -> Any:
    return max(np.ravel(x), key=lambda v: v.mid())


def first(x: Any, k: float) -> Any:
    return sum(min(max(k - i, 0.0), 1.0) * v for i, v in enumerate(sorted(x, key=lambda v: -v.mid())))


def positive(x: Any) -> bool:
    return all(v > 0 for v in np.ravel(x))


def symmetric(x: Any) -> Any:
    return (x + x.T) / 2


def least_minor(x: Any) -> Any:
    """A number below 0 where a matrix has an eigenvalue below 0."""
    a, b, d = x[0, 0], symmetric(x)[0, 1], x[1, 1]
    return min(a, d, a * d - b * b, key=lambda v: v.mid())


def det(x: Any) -> Any:
    return x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0]


def eigenvalues(x: Any) -> Any:
    """Those of the symmetric part of a 2 x 2 matrix, ascending."""
    half = np.trace(x) / 2
    apart = (((x[0, 0] - x[1, 1]) / 2) ** 2 + symmetric(x)[0, 1] ** 2).sqrt()
    return np.array([half - apart, half + apart])


def root(x: Any) -> Any:
    """The root of a psd 2 x 2 matrix, by Cayley and Hamilton."""
    return (x + det(x).sqrt() * np.eye(2, dtype=int)) / (np.trace(x) + 2 * det(x).sqrt()).sqrt()


def polar(x: Any) -> Any:
    turned = np.array([[x[1, 1], -x[1, 0]], [-x[0, 1], x[0, 0]]])
    y = x + turned if det(x) > 0 else x - turned
    return y / abs(det(y)).sqrt()


V, M = (3,), (2, 2)
Case = tuple[tuple[tuple[int, ...], ...], Callable[..., Any], Callable[..., Any], Callable[..., bool]]


def anywhere(*_: Any) -> bool:
    return True


# By name: the shapes of arguments, the operation on balls, the one on numbers, and where that has a value.
OPERATIONS: dict[str, Case] = {
    "add": ((V, V), balls.add, lambda x, y: x + y, anywhere),
    "sub": ((V, V), balls.sub, lambda x, y: x - y, anywhere),
    "mul": ((V, V), balls.mul, lambda x, y: x * y, anywhere),
    "div": ((V, V), balls.div, lambda x, y: x / y, lambda x, y: all(v != 0 for v in y)),
    "sqrt": ((V,), balls.sqrt, each(lambda x: x.sqrt()), positive),
    "absolute": ((V,), balls.absolute, each(abs), anywhere),
    "matmul": ((M, M), balls.matmul, lambda x, y: x.dot(y), anywhere),
    "total": ((V,), balls.total, np.sum, anywhere),
    "trace": ((M,), balls.trace, np.trace, anywhere),
    "dots": ((M, M), lambda a, b: balls.dots(a, b, 0), lambda x, y: (x * y).sum(axis=0), anywhere),
    "max": ((V,), balls.extreme(np.max), largest, anywhere),
    "larger": ((V, V), balls.larger, each(lambda x, y: largest([x, y])), anywhere),
    "smaller": ((V, V), balls.smaller, each(lambda x, y: -largest([-x, -y])), anywhere),
    "scaled": (
        (M, (2,), (2,)),
        lambda m, a, b: balls.scaled(m.mid, a, b),
        lambda m, x, y: x[:, None] * m * y,
        anywhere,
    ),
    "scaled, within radii": (
        (M, (2,), (2,)),
        lambda m, a, b: balls.scaled(m.mid.copy(), a, b, m.rad.max(axis=1)),
        lambda m, x, y: x[:, None] * m * y,
        anywhere,
    ),
    "product_radii": (
        (M, M),
        lambda a, b: Ball(a.mid @ b.mid, np.broadcast_to(balls.product_radii(a.mid, b.mid)[:, None], M)),
        lambda x, y: x.dot(y),
        anywhere,
    ),
    "norm": (
        (V,),
        lambda a: Ball(np.array(0.0), np.array(balls.norm(a))),
        lambda x: np.sum(x * x).sqrt(),
        anywhere,
    ),
    "exp": ((V,), ball_functions.exp, each(lambda x: x.exp()), lambda x: all(abs(v) < 1e4 for v in x)),
    "log": ((V,), ball_functions.log, each(lambda x: x.log()), positive),
    "entropy": ((V,), ball_functions.entropy, each(lambda x: -x * x.log()), positive),
    "rel_entropy": (
        (V, V),
        ball_functions.rel_entropy,
        each(lambda x, y: x * (x / y).log()),
        lambda x, y: positive(x) and positive(y),
    ),
    "huber": (
        (V, (1,)),
        ball_functions.huber,
        each(lambda x, m: x * x if abs(x) < m else m * (2 * abs(x) - m)),
        lambda x, m: positive(m),
    ),
    "logistic": (
        (V,),
        ball_functions.logistic,
        each(lambda x: (1 + x.exp()).log()),
        lambda x: all(abs(v) < 1e3 for v in x),
    ),
    "logsumexp": (
        (V,),
        ball_functions.logsumexp,
        lambda x: sum(v.exp() for v in x).log(),
        lambda x: all(abs(v) < 1e3 for v in x),
    ),
    "sum_largest": (
        (V,),
        lambda a: ball_functions.sum_largest(a, exact(1.5)),
        lambda x: first(x, 1.5),
        anywhere,
    ),
    "geo_mean": ((V,), ball_functions.geo_mean, lambda x: (sum(v.log() for v in x) / 3).exp(), positive),
    "cumsum": ((V,), ball_functions.cumsum, np.cumsum, anywhere),
    "kron": ((M, M), ball_functions.kron, np.kron, anywhere),
    "nuclear": (
        (M,),
        ball_functions.nuclear,
        # (σ + τ)² is the sum of squares and twice the determinant.
        lambda x: (np.sum(x * x) + 2 * abs(det(x))).sqrt(),
        anywhere,
    ),
    "largest_singular_value": (
        (M,),
        ball_functions.largest_singular_value,
        lambda x: eigenvalues(x.T.dot(x))[1].sqrt(),
        anywhere,
    ),
    "eigenvalues": ((M,), ball_functions.eigenvalues, eigenvalues, anywhere),
    "root": (
        (M,),
        lambda a: ball_functions.root(ball_functions.symmetric(a)),
        lambda x: root(symmetric(x)),
        lambda x: least_minor(x) > 0,
    ),
    "polar": ((M,), ball_functions.polar, polar, lambda x: det(x) != 0),
    "log_determinant": (
        (M,),
        lambda a: ball_functions.log_determinant(ball_functions.symmetric(a)),
        lambda x: arb_mat([list(row) for row in symmetric(x)]).det().log(),
        lambda x: least_minor(x) > 0,
    ),
}
for power in POWERS:
    OPERATIONS[f"power {power}"] = (
        (V,),
        lambda a, power=power: balls.power(a, exact(power)),
        each(lambda x, power=power: x ** int(power) if power == int(power) else x ** arb(power)),
        positive if power != int(power) else lambda x: all(v != 0 for v in x),
    )
OPERATIONS["power of a rounded exponent"] = (
    (V, ()),
    balls.power,
    lambda x, y: x ** np.ravel(y)[0],
    lambda x, y: positive(x) and abs(np.ravel(y)[0]) < 1e6,
)


@np.errstate(all="ignore")
def holds(name: str, rng: Rng) -> bool:
    """Whether the operation claims something; AssertionError where that is wrong."""
    shapes = OPERATIONS[name][0]
    arguments = [drawn(rng, *shape) for shape in shapes]
    if "scaled" in name:
        m = arguments[0]
        rad = np.broadcast_to(m.rad.max(axis=1, keepdims=True), M) if "within" in name else 0.0 * m.mid
        arguments[0] = Ball(m.mid, rad)
    elif name == "product_radii":
        arguments = [exact(a.mid) for a in arguments]
    return is_right(name, arguments, [within(rng, a) for a in arguments])


@np.errstate(all="ignore")
def is_right(name: str, arguments: list[Ball], points: list[Any]) -> bool:
    _, rule, truth, has_value = OPERATIONS[name]
    if not has_value(*points):
        return False
    ball = rule(*arguments)
    claims = False
    for t, m, r in zip(np.ravel(truth(*points)), np.ravel(ball.mid), np.ravel(ball.rad), strict=True):
        assert r >= 0
        if np.isfinite(r):
            claims = True
            assert np.isfinite(m), (name, arguments)
            assert not abs(t - arb(float(m))) > arb(float(r)), (name, arguments, ball)
    return claims


@pytest.mark.quick
def test_no_operation_loses_the_true_value(rng: Rng, subtests: pytest.Subtests) -> None:
    with ctx.workprec(BITS):
        for name in OPERATIONS:
            with subtests.test(name):
                assert sum(holds(name, rng) for _ in range(40)), "it claims nothing"


def hard_cases(rng: Rng) -> dict[str, tuple[list[Ball], ...]]:
    """Where a step on the way is lost below the smallest float, or below the last digit of another."""
    one, tiny = np.ones(3), 1e-310 * rng.uniform(1.0, 2.0, (2, 2))
    line = Ball(one, np.array([2.0**-54, 2.0**-53, 2.0**-60]))
    right = 1e300 * rng.uniform(1.0, 2.0, (2, 2))
    right[1] = -tiny[0, 0] * right[0] / tiny[0, 1]  # the sums of the first row cancel
    scales = exact(tiny[0]), exact(right[0])
    return {
        "add": ([exact(one), Ball(np.full(3, 2.0**-53), np.full(3, 1e-40))],),
        "div": ([exact(1e-320 * one), Ball(1e-200 * one, 1e-205 * one)],),
        "matmul": ([Ball(tiny, 1e-320 * np.eye(2)), exact(right)],),
        "scaled": ([exact(rng.uniform(1.0, 2.0, (2, 2))), *scales],),
        "power 77.7": ([line],),
        f"power {1e12 + 0.5}": ([line],),
        "power of a rounded exponent": (
            [Ball(1e100 * one, 0 * one), Ball(np.asarray(0.3), np.asarray(1e-12))],
            [Ball(one, 0.5 * one), Ball(np.asarray(0.3), np.asarray(1e-3))],
            [Ball(4.0 * one, 0.0 * one), Ball(np.asarray(1.3), np.asarray(0.3))],
            [Ball(0.5 * one, 0.4999999 * one), Ball(np.asarray(1e-13), np.asarray(1e-3))],
        ),
    }


def test_no_step_on_the_way_is_lost(rng: Rng, subtests: pytest.Subtests) -> None:
    with ctx.workprec(BITS):
        for _ in range(10):
            for name, cases in hard_cases(rng).items():
                for arguments in cases:
                    with subtests.test(name):
                        for way in itertools.product((-1, 0, 1), repeat=len(arguments)):
                            ends = zip(arguments, way, strict=True)
                            is_right(name, arguments, [arbs(a.mid) + s * arbs(a.rad) for a, s in ends])


@np.errstate(all="ignore")
def test_no_bound_of_eigenvalues_is_above_one(rng: Rng) -> None:
    with ctx.workprec(BITS):
        for _ in range(200):
            ball = ball_functions.symmetric(drawn(rng, 2, 2)) if rng.random() < 0.5 else drawn(rng, 2, 2)
            points = within(rng, ball)
            if ball_functions.is_semidefinite(ball):
                assert not least_minor(points) < 0, ball
            bound = ball_functions.eigenvalue_bound(ball)
            if np.isfinite(bound):
                assert not least_minor(points - arbs(bound * np.eye(2))) < 0, (ball, bound)
    huge = exact(np.array([[1e308, 1.7e308], [1.7e308, 1e308]]))
    assert not ball_functions.is_semidefinite(huge)  # the sums of its rows overflow
    assert not ball_functions.is_semidefinite(Ball(np.diag([1.0, 0.0]), np.array([[0.0, 0.1], [0.0, 0.0]])))


def test_a_rounded_exponent_that_may_be_whole_takes_negative_bases() -> None:
    """``a**(1 + 1)``, which is checked as a square, of a base of any sign."""
    two = balls.add(balls.exact(np.array(1.0)), balls.exact(np.array(1.0)))
    squared = balls.power(balls.Ball(np.array(-1.0), np.array(2.22)), two)
    assert float(squared.upper) >= 3.22**2 and two.rad > 0
    third = balls.Ball(np.array(1 / 3), np.array(1e-17))
    assert np.isfinite(balls.power(balls.Ball(np.array(1e-17), np.array(1e-16)), third).rad)
