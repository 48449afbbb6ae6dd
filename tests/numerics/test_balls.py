"""The true value lies in the ball, and the ball is small.

True values are exact fractions.
"""

import operator
from fractions import Fraction

import flint
import numpy as np
import pytest
from exact_arithmetic import assert_inside, fractions, random_ball, within

from mmopt.numerics import balls
from mmopt.numerics.balls import Ball, exact

BINARY = [
    (balls.add, operator.add),
    (balls.sub, operator.sub),
    (balls.mul, operator.mul),
    (balls.div, operator.truediv),
]


@pytest.mark.quick
def test_entry_by_entry(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for rule, truth in BINARY:
        with subtests.test(rule=rule.__name__):
            for _ in range(6):
                a, b = random_ball(rng, 5), random_ball(rng, 5)
                assert_inside(truth(within(rng, a), within(rng, b)), rule(a, b))


@pytest.mark.quick
def test_sums_and_extremes(rng: np.random.Generator) -> None:
    for _ in range(6):
        a = random_ball(rng, 4, 6)
        x = within(rng, a)
        for axis in (None, 0, 1):
            assert_inside(x.sum(axis=axis), balls.total(a, axis=axis))
            assert_inside(x.max(axis=axis), balls.extreme(np.max)(a, axis=axis))
            assert_inside(x.min(axis=axis), balls.extreme(np.min)(a, axis=axis))
        assert_inside(abs(x), balls.absolute(a))
        assert_inside(-x.T, balls.neg(balls.transpose(a)))
        assert_inside(x[:, :4].trace(), balls.trace(Ball(a.mid[:, :4], a.rad[:, :4])))


@pytest.mark.quick
def test_products(rng: np.random.Generator) -> None:
    for _ in range(6):
        a, b, v = random_ball(rng, 4, 6), random_ball(rng, 6, 3), random_ball(rng, 6)
        x, y, w = (within(rng, ball) for ball in (a, b, v))
        assert_inside(x.dot(y), balls.matmul(a, b))
        assert_inside(x.dot(w), balls.matmul(a, v))
        assert_inside(w.dot(w), balls.matmul(v, v))


def test_sums_of_products_of_zeros_alone_are_exact_and_no_others() -> None:
    a, wide = exact(np.array([[2.0, 0.0], [0.0, 1 / 3]])), Ball(np.array([0.0, 0.0]), np.array([0.0, 1e-9]))
    assert balls.matmul(a, a).rad.astype(bool).tolist() == [[True, False], [False, True]]
    assert balls.mul(a, wide).rad.astype(bool).tolist() == [[False, False], [False, True]]
    assert balls.mul(wide, exact(np.array([5.0, 0.0]))).is_exact
    assert balls.total(exact(np.zeros((2, 3))), axis=1).is_exact
    for rule, operand in ((balls.mul, (2,)), (balls.matmul, (2, 2))):
        lost = exact(np.full(operand, 1e-170))  # its square is no float but 0
        assert (rule(lost, lost).mid == 0).all()
        assert (rule(lost, lost).rad > 0).all()
    near = exact(np.array([1e-155, -1e-155 * (1 + 2.0**-50)])), exact(np.array([1e-155, 1e-155]))
    assert balls.matmul(*near).mid == 0
    assert balls.matmul(*near).rad > 0
    assert not balls.total(exact(np.array([1.0, -1.0]))).is_exact
    with np.errstate(invalid="ignore"):
        assert not balls.mul(exact(np.zeros(1)), balls.unknown(np.ones(1))).is_exact


@pytest.mark.quick
def test_scaled_rows_and_columns(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balls, "ROWS_AT_A_TIME", 3)
    for _ in range(6):
        matrix, a, b = random_ball(rng, 4, 6).mid, random_ball(rng, 4), random_ball(rng, 6)
        for rows, columns in ((a, b), (a, None), (None, b), (exact(a.mid), exact(b.mid))):
            truth = within(rng, exact(matrix))
            truth = truth if rows is None else truth * within(rng, rows)[:, None]
            truth = truth if columns is None else truth * within(rng, columns)
            found = balls.scaled(matrix, rows, columns)
            assert_inside(truth, found)
            if all(scale is None or scale.is_exact for scale in (rows, columns)):
                assert (found.rad <= 1e-15 * np.abs(found.mid).max(axis=1, keepdims=True) + 1e-290).all()


@pytest.mark.quick
def test_a_product_between_scales(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rounding is one radius for each row, which the scales go with."""
    monkeypatch.setattr(balls, "ROWS_AT_A_TIME", 3)
    for _ in range(6):
        left, right = random_ball(rng, 4, 5).mid, random_ball(rng, 5, 6).mid
        a, b = random_ball(rng, 4), random_ball(rng, 6)
        truth = fractions(left).dot(fractions(right))
        radii = balls.product_radii(left, right)
        assert_inside(truth, Ball(left @ right, np.broadcast_to(radii[:, None], truth.shape)))
        widths = rng.uniform(0.0, 1.0, 4)
        matrix = Ball(left @ right, np.broadcast_to((radii + widths)[:, None], truth.shape))
        for rows, columns in ((a, b), (a, None), (None, b)):
            found = within(rng, matrix)
            found = found if rows is None else found * within(rng, rows)[:, None]
            found = found if columns is None else found * within(rng, columns)
            assert_inside(found, balls.scaled(matrix.mid.copy(), rows, columns, radii + widths))


def test_scales_and_squares_too_small_for_a_float() -> None:
    """Bits lost below the smallest float are covered, also where a large number follows it."""
    small, large = np.full((1, 3), 2.0**-1000), np.full(1, 2.0**900)
    columns = np.array([3.0, 5.0, 7.0]) * 2.0**-75
    truth = fractions(small) * fractions(columns) * Fraction(large[0])
    assert_inside(truth, balls.scaled(small, exact(large), exact(columns)))
    rng = np.random.default_rng(0)
    one, other = (rng.uniform(0.5, 1.0, (4, 50)) * 2.0**power for power in (-540, 500))
    truth = (fractions(one) * fractions(other)).sum(axis=1)
    assert_inside(truth, balls.dots(exact(one), exact(other), 1))


@pytest.mark.quick
def test_products_entry_by_entry_summed(rng: np.random.Generator) -> None:
    for _ in range(6):
        a, b = random_ball(rng, 4, 6), random_ball(rng, 4, 6)
        for one, other in ((a, b), (exact(a.mid), b), (exact(a.mid), exact(b.mid))):
            products = within(rng, one) * within(rng, other)
            for axis in (0, 1):
                found = balls.dots(one, other, axis)
                assert_inside(products.sum(axis=axis), found)
                sizes = np.linalg.norm(one.mid, axis=axis) * np.linalg.norm(other.mid, axis=axis)
                if other.is_exact:
                    assert (found.rad <= 1e-14 * sizes).all()


@pytest.mark.quick
def test_whole_powers(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for exponent in [0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 66.0, 67.0, -1.0, -2.0, -3.0]:
        with subtests.test(exponent=exponent):
            for _ in range(6):
                a = random_ball(rng, 6)
                wide = Ball(
                    a.mid, np.abs(a.mid) * rng.choice([0.0, 0.5, 2.0], size=6) if exponent >= 0 else a.rad
                )
                assert_inside(within(rng, wide) ** int(exponent), balls.power(wide, exact(exponent)))


@pytest.mark.quick
def test_roots_and_broken_powers(rng: np.random.Generator) -> None:
    for _ in range(6):
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


@pytest.mark.quick
def test_powers_of_what_is_about_one_hold_at_both_ends(subtests: pytest.Subtests) -> None:
    for exponent in [2.0, 3.0, 5.0, 0.5, -1.0, -2.0]:
        with subtests.test(exponent=exponent):
            found = balls.power(Ball(np.ones(2), np.full(2, 0.25)), exact(exponent))
            for end in (0.75, 1.25):
                assert (found.lower <= end**exponent).all() and (end**exponent <= found.upper).all()


def test_what_has_no_value_has_no_bound() -> None:
    assert np.isinf(balls.div(exact(1.0), exact(0.0)).rad)
    assert np.isinf(balls.div(exact(1.0), Ball(np.array(1.0), np.array(1.0))).rad)
    assert np.isinf(balls.sqrt(exact(-1.0)).rad)
    assert np.isinf(balls.power(exact(-1.0), exact(0.3)).rad)
    assert np.isinf(balls.power(exact(0.0), exact(-1.0)).rad)


def test_products_too_small_for_a_float() -> None:
    tiny = np.array([1e-200])
    assert_inside(fractions(tiny) * fractions(tiny), balls.mul(exact(tiny), exact(tiny)))
    assert_inside([Fraction(1e-200) ** 2], balls.matmul(exact(tiny.reshape(1, 1)), exact(tiny)))


def test_the_square_of_a_wide_number_keeps_its_ends(rng: np.random.Generator) -> None:
    for _ in range(6):
        low, high = np.sort(np.exp(rng.normal(scale=4.0, size=2)))
        wide = Ball(np.asarray((low + high) / 2), np.asarray((high - low) / 2))
        ball = balls.power(wide, exact(2.0))
        for end in (Fraction(float(wide.mid)) + sign * Fraction(float(wide.rad)) for sign in (-1, 1)):
            if end >= 0:
                assert_inside(end**2, ball)
        slack = 1e-12 * high**2
        assert ball.lower >= low**2 - slack and ball.upper <= high**2 + slack


@pytest.mark.quick
def test_an_exponent_that_is_rounded_counts(subtests: pytest.Subtests) -> None:
    """The power of a number far from 1 moves by many times the rounding of its exponent."""
    for parts in [(-1, 3), (-2, 3), (-5, 3), (1, 3), (1, 2), (3, 1)]:
        with subtests.test(parts=parts):
            p, q = parts
            base, wide = 1e-100 if p < 0 else 1e100, Fraction(1, 10**12)
            exponent = Ball(np.array(p / q), np.array(float(wide)))
            ball = balls.power(exact(np.array(base)), exponent)
            low, high = (Fraction(float(ball.mid)) + sign * Fraction(float(ball.rad)) for sign in (-1, 1))
            with flint.ctx.workprec(300):
                for off in (-wide, wide):
                    true = flint.arb(base).log() * (flint.arb(p) / q + flint.arb(float(off)))
                    assert flint.arb(float(low)).log() <= true <= flint.arb(float(high)).log()


def test_a_norm_is_one_at_any_scale() -> None:
    for scale in (1e-300, 1e-170, 1.0, 1e200):
        found = balls.norm(exact(scale * np.array([[3.0, 0.0], [0.0, 4.0]])))
        assert 5.0 * scale <= found <= 5.0 * scale * (1 + 1e-8)
    assert balls.norm(exact(np.zeros((2, 2)))) == 0.0
