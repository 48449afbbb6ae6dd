"""The true exponential, logarithm, eigenvalue or root lies in the ball, and the ball is small.

True values have fifty digits more than a float (``decimal``), or are orthogonal matrices of known entries.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import exact_arithmetic
import numpy as np
import pytest
import scipy.linalg

from mmopt.errors import ProgramError
from mmopt.numerics import ball_functions, balls
from mmopt.numerics.arrays import EPS
from mmopt.numerics.ball_functions import eigenvalue_bound, positive_eigenvalue_bound, root
from mmopt.numerics.balls import TINY, Ball, exact


def decimals(a: np.ndarray) -> list[Decimal]:
    return [Decimal(float(x)) for x in np.ravel(a)]


def assert_inside(truth: list[Decimal], ball: Ball) -> None:
    for t, m, r in zip(truth, decimals(ball.mid), decimals(ball.rad), strict=True):
        assert abs(t - m) <= r, (t, m, r)


def random_ball(rng: np.random.Generator, *shape: int) -> Ball:
    mid = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3, size=shape)
    return Ball(mid, np.abs(mid) * rng.choice([0.0, 1e-17, 1e-14, 1e-3], size=shape))


@pytest.mark.quick
def test_exponentials_and_logarithms(rng: np.random.Generator) -> None:
    for _ in range(6):
        a = random_ball(rng, 4, 3)
        share = rng.choice([-1.0, 1.0, 0.0, 0.5], size=a.mid.shape)
        with localcontext() as context:
            context.prec = 70
            x = [m + s * r for m, s, r in zip(*map(decimals, (a.mid, share, a.rad)), strict=True)]
            grown = [v.exp() for v in x]
            assert_inside(grown, ball_functions.exp(a))
            assert_inside([(1 + v).ln() for v in grown], ball_functions.logistic(a))
            positive = Ball(np.abs(a.mid), a.rad / 2)
            y = [
                m + s * r for m, s, r in zip(*map(decimals, (positive.mid, share, positive.rad)), strict=True)
            ]
            assert_inside([v.ln() for v in y], ball_functions.log(positive))
            assert_inside([sum(grown).ln()], ball_functions.logsumexp(a))
            rows = [grown[3 * i : 3 * i + 3] for i in range(4)]
            assert_inside([sum(row).ln() for row in rows], ball_functions.logsumexp(a, axis=1))
            assert_inside(
                [sum(column).ln() for column in zip(*rows, strict=True)],
                ball_functions.logsumexp(a, axis=0),
            )


def test_exponentials_are_tight() -> None:
    x = np.linspace(-30, 30, 61)
    assert (ball_functions.exp(exact(x)).rad <= 1e-14 * np.exp(x)).all()
    assert (ball_functions.log(exact(np.exp(x))).rad <= 1e-14 * (1 + np.abs(x))).all()
    assert ball_functions.logsumexp(exact(1e6 * x)).rad <= 1e-14 * 3e7


def test_logarithms_next_to_one(subtests: pytest.Subtests) -> None:
    for at in [1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)]:
        with subtests.test(at=at):
            ball = Ball(np.array([at]), np.array([2.0**-60]))
            with localcontext() as context:
                context.prec = 70
                for sign in (-1, 0, 1):
                    assert_inside([(Decimal(at) + sign * Decimal(2) ** -60).ln()], ball_functions.log(ball))


@pytest.mark.quick
def test_what_has_no_value_has_no_bound() -> None:
    assert np.isinf(ball_functions.log(exact(0.0)).rad)
    assert np.isinf(ball_functions.log(Ball(np.array(1.0), np.array(1.0))).rad)
    with np.errstate(all="ignore"):
        assert np.isinf(ball_functions.exp(exact(1e4)).rad)
    assert np.isinf(ball_functions.logsumexp(exact(np.array([np.inf]))).rad)
    assert np.isinf(ball_functions.polar(exact(np.zeros((2, 2)))).rad).all()
    assert np.isinf(ball_functions.polar(exact(np.full((2, 2), np.nan))).rad).all()


@pytest.mark.quick
def test_polar_factor(rng: np.random.Generator) -> None:
    """The matrix is Q H with Q = I - 2 v vᵀ / 4, v = ±1, and H a symmetric positive definite matrix of few
    bits."""
    for _ in range(4):
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


@pytest.mark.quick
def test_the_eigenvalue_bound_is_below_the_smallest(subtests: pytest.Subtests) -> None:
    for condition in [1.0, 1e6, 1e12]:
        with subtests.test(condition=condition):
            rng = np.random.default_rng(1)
            for n in (1, 2, 5, 20):
                s = np.ldexp(1.0, -rng.integers(0, int(np.log2(condition)) + 1, size=n))
                q = exact_arithmetic.orthogonal(rng, 16)
                values = np.concatenate([s, np.ones(16)])[:16]
                found = eigenvalue_bound(exact((q * values) @ q.T))
                assert values.min() - 1e-13 <= found <= values.min()
    assert eigenvalue_bound(exact(np.zeros((2, 2)))) <= 0
    assert eigenvalue_bound(exact(-np.eye(2))) <= -1
    assert eigenvalue_bound(exact(np.full((2, 2), np.nan))) == -np.inf
    assert eigenvalue_bound(Ball(np.eye(2), np.full((2, 2), 0.6))) < 0


def test_no_matrix_in_a_ball_has_a_smaller_eigenvalue(rng: np.random.Generator) -> None:
    for rad in [0.0, 1e-6, 1e-2, 0.1]:
        own = rng.normal(size=(3, 3))
        mid = own @ own.T + np.eye(3)
        v = np.linalg.eigh(mid)[1][:, 0]
        worst = mid - rad * np.sign(np.outer(v, v))
        found = eigenvalue_bound(Ball(mid, np.full((3, 3), rad)))
        assert found <= np.linalg.eigvalsh(worst)[0] + 1e-12, rad


def test_a_matrix_is_semidefinite_if_all_of_the_ball_are() -> None:
    """By its rows where one is of zeros, which Cholesky's algorithm does not show; with nothing around it."""
    singular = np.diag([1.0, 0.0])
    assert ball_functions.is_semidefinite(exact(singular))
    assert not ball_functions.is_semidefinite(Ball(singular, np.full((2, 2), 1e-9)))


@pytest.mark.quick
def test_matrix_root(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for least in [0.0, 2.0**-20, 1.0]:
        with subtests.test(least=least):
            for _ in range(8):
                q = exact_arithmetic.orthogonal(rng, 4)
                s = np.array([least, 1.0, 2.0, 4.0])
                ball = root(exact((q * s**2) @ q.T))
                exact_arithmetic.assert_inside(exact_arithmetic.fractions((q * s) @ q.T), ball)
                assert ball.rad.max() <= (1e-12 if least == 1.0 else 1e-6)


def test_a_number_below_every_eigenvalue(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Positive where Cholesky's algorithm can show it, and not much too small."""
    for bits in [0, 4, 20, 40]:
        with subtests.test(bits=bits):
            q = exact_arithmetic.orthogonal(rng, 16)
            x = (q * np.ldexp(1.0, -(np.arange(16) % (bits + 1)))) @ q.T
            least = 2.0 ** -min(bits, 15)
            lower = scipy.linalg.cholesky(x, lower=True)
            found = positive_eigenvalue_bound(exact(x), lower)
            assert least / 1000 <= found <= least
            shaken = Ball(x, np.full(x.shape, least / 100))
            assert positive_eigenvalue_bound(shaken, lower) <= least * (1 - 16 / 100)
            assert positive_eigenvalue_bound(Ball(x, np.full(x.shape, least)), lower) == 0.0


@pytest.mark.quick
def test_rows_of_a_stack_are_those_of_every_matrix_in_the_ball() -> None:
    """A row that may be zeros leaves nothing to say; a product that is too small for a float is not zero."""
    a = exact(np.tri(3))
    found = ball_functions.stack(Ball(a.mid, np.full((3, 3), 1e-9)), exact(np.zeros((2, 3))))
    assert np.array_equal(found.mid, a.mid) and (found.rad == 1e-9).all()
    for mid, rad in ((0.0, 1e-9), (1e-12, 1e-9), (TINY, 2 * TINY), (0.0, TINY)):
        with pytest.raises(ProgramError) as error:
            ball_functions.stack(a, Ball(np.full((1, 3), mid), np.full((1, 3), rad)))
        assert str(error.value) == "'stack' has no error bound here, a row may be zeros\n  move it into 'let'"


@pytest.mark.quick
def test_a_share_of_the_largest_is_certain_or_nothing_is_known() -> None:
    share = len("ab") * EPS
    for amount, is_certain in {
        (1.0, 0.0): True,
        (1.0, share): False,  # next to the limit that floats round
        (1.0, 2 * share): True,
        (3.0, 3 * share): False,
        (3.0, 2 * share): True,
    }.items():
        rows = ball_functions.used_rows(balls.exact(np.eye(2)), balls.exact(np.array(amount)))
        assert np.isfinite(rows.rad).all() == is_certain, amount
    marks = ball_functions.support(Ball(np.array([1.0, 0.002, 0.0]), np.array([0.1, 1e-4, 0.0])))
    assert marks.is_exact
    assert np.isfinite(
        ball_functions.support(balls.exact(np.array([-1.0, 0.0]))).rad
    ).all()  # none is above 0
    assert marks.mid.tolist() == [1.0, 1.0, 0.0]
    assert np.isinf(ball_functions.support(Ball(np.array([1.0, 0.00105]), np.array([0.1, 0.0]))).rad).all()


def test_sums_means_and_products_of_entries(rng: np.random.Generator) -> None:
    """At corners of the balls, in fractions; of equal entries, and of a fraction of an entry, too."""
    for _ in range(20):
        a, b = random_ball(rng, 3, 2), random_ball(rng, 2, 3)
        for moved in rng.choice([-1, 1], size=(4, 6)):
            x = [
                Fraction(m) + int(s) * Fraction(r)
                for m, s, r in zip(a.mid.flat, moved, a.rad.flat, strict=True)
            ]
            y = [
                Fraction(m) - int(s) * Fraction(r)
                for m, s, r in zip(b.mid.flat, moved, b.rad.flat, strict=True)
            ]
            line = Ball(a.mid.ravel(), a.rad.ravel())
            inside([sum(x[: i + 1]) for i in range(6)], ball_functions.cumsum(line))
            k, off = float(rng.choice([1.0, 2.0, 2.5, 6.0, 9.0])), float(rng.choice([0.0, 1e-3]))
            within = min(Fraction(k) + int(moved[0]) * Fraction(off), Fraction(6))
            shares = [min(max(within - i, Fraction(0)), Fraction(1)) for i in range(6)]
            largest = sum(s * z for s, z in zip(shares, sorted(x, reverse=True), strict=True))
            inside([largest], ball_functions.sum_largest(line, Ball(np.asarray(k), np.asarray(off))))
            products = [
                x[2 * i + j] * y[3 * p + q]
                for i in range(3)
                for p in range(2)
                for j in range(2)
                for q in range(3)
            ]
            inside(products, ball_functions.kron(a, b))
    level = ball_functions.sum_largest(exact(np.array([0.1, 0.3, 0.1, 0.1])), exact(2.0))
    inside([Fraction(0.1) + Fraction(0.3)], level)
    twos = Ball(np.array([2.0, 4.0, 8.0]), np.array([0.0, 1e-3, 0.0]))
    inside([Fraction(4)], ball_functions.geo_mean(exact(twos.mid)))
    assert (
        abs(ball_functions.geo_mean(twos).mid - (2 * 4.001 * 8) ** (1 / 3))
        <= ball_functions.geo_mean(twos).rad
    )
    assert np.isinf(ball_functions.geo_mean(exact(np.array([1.0, -1.0]))).rad)


def inside(truth: list[Fraction], ball: Ball) -> None:
    for t, m, r in zip(truth, np.ravel(ball.mid), np.ravel(ball.rad), strict=True):
        assert abs(t - Fraction(float(m))) <= Fraction(float(r)), (float(t), m, r)
