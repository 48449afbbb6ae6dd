"""Upward rounding against exact rational arithmetic.

Guards arrays.py.
"""

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from mmopt.numerics import arrays as outward
from mmopt.numerics.arrays import plus_up, root_up, times_down, times_up

ENTRIES = st.one_of(
    st.floats(-1e6, 1e6),
    st.floats(allow_nan=False, allow_infinity=False, max_value=1e300, min_value=-1e300),
    st.integers(-3, 3).map(float),
    st.sampled_from([0.0, 5e-324, -5e-324, 1e-310, 1e-160, 1e160, 1 / 3]),
)
MATRICES = st.tuples(st.integers(1, 5), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=ENTRIES)
)


def at_least(bound: float, column: list[float] | list[Fraction], norm: int) -> bool:
    """Whether bound >= the exact norm of the column."""
    exact = [abs(Fraction(v)) for v in column]
    if np.isinf(bound):
        return True
    if norm == 1:
        return Fraction(bound) >= sum(exact)
    return Fraction(bound) ** 2 >= sum(v * v for v in exact)


@settings(max_examples=60, derandomize=True)
@given(MATRICES, st.sampled_from([1, 2]))
@example(np.array([[5e-324], [5e-324]]), 2)
@example(np.array([[1.0, 5e-324], [1e-200, 1e-310]]), 2)
@example(np.array([[1.0], [5e-324]]), 1)
@example(np.array([[1.0], [5e-324]]), 2)
@example(np.array([[1.7e308], [1.7e308]]), 1)
def test_norms_are_upper_bounds(matrix, norm):
    norms = outward.column_norms(matrix, norm)
    for bound, column in zip(norms, matrix.T, strict=True):
        assert at_least(float(bound), column.tolist(), norm)


@pytest.mark.quick
@settings(max_examples=60, derandomize=True)
@given(MATRICES, st.sampled_from([1, 2]))
@example(np.array([[1.0, 0.0], [5e-324, 0.0]]), 1)
def test_differences_are_upper_bounds(matrix, norm):
    bound = outward.largest_column_distance(matrix, norm)
    columns = [[Fraction(v) for v in column] for column in matrix.T.tolist()]
    for a in columns:
        for b in columns:
            assert at_least(bound, [x - y for x, y in zip(a, b, strict=True)], norm)


def test_bounds_are_tight(subtests: pytest.Subtests, rng):
    for norm in [1, 2]:
        with subtests.test(norm=norm):
            matrix = rng.normal(size=(300, 20)) * 10.0 ** rng.integers(-5, 5, size=(300, 1))
            plain = np.linalg.norm(matrix, norm, axis=0)
            np.testing.assert_allclose(outward.column_norms(matrix, norm), plain, rtol=1e-12)
            pairs = np.linalg.norm(matrix[:, :, None] - matrix[:, None, :], norm, axis=0)
            np.testing.assert_allclose(outward.largest_column_distance(matrix, norm), pairs.max(), rtol=1e-12)


@pytest.mark.quick
def test_small_integers_are_exact():
    tree = np.vstack([np.eye(8), np.kron(np.eye(4), [1, 1]), np.kron(np.eye(2), [1] * 4), np.ones((1, 8))])
    np.testing.assert_array_equal(outward.column_norms(tree, 1), np.full(8, 4.0))
    np.testing.assert_array_equal(outward.column_norms(tree, 2), np.full(8, 2.0))
    np.testing.assert_array_equal(outward.column_norms(tree / 4, 2), np.full(8, 0.5))
    np.testing.assert_array_equal(outward.column_norms(3 * np.eye(2), 2), [3.0, 3.0])
    assert outward.largest_column_distance(np.eye(5), 1) == 2.0
    assert np.sqrt(2) <= outward.largest_column_distance(np.eye(5), 2) <= np.nextafter(np.sqrt(2), 2)
    # The least float that is not below: √2 lies below its nearest float, √3 above.
    assert outward.column_norms(np.ones((2, 1)), 2)[0] == np.sqrt(2)
    assert outward.column_norms(np.ones((3, 1)), 2)[0] == np.nextafter(np.sqrt(3), 2)
    for equal, norm in itertools.product((np.full((4, 6), 1 / 3), np.ones((3, 1))), (1, 2)):
        assert outward.largest_column_distance(equal, norm) == 0.0
    np.testing.assert_array_equal(outward.column_norms(np.zeros((2, 3)), 2), np.zeros(3))


@pytest.mark.quick
def test_the_gram_form_bounds_the_direct_one(monkeypatch, rng):
    matrices = [rng.normal(size=(30, 12)) * 10.0**power for power in (-3, 0, 3)]
    bounds = [outward.largest_column_distance(matrix, 2) for matrix in matrices]
    monkeypatch.setattr(outward, "_MOST_DIRECT", 0)
    for matrix, direct in zip(matrices, bounds, strict=True):
        by_gram = outward.largest_column_distance(matrix, 2)
        assert by_gram >= direct * (1 - 1e-12)
        np.testing.assert_allclose(by_gram, direct, rtol=1e-9)
        # Where columns nearly agree the Gram form is too loose and is not used.
        close = 1 + 1e-9 * rng.normal(size=(5, 4))
        pairs = np.linalg.norm(close[:, :, None] - close[:, None, :], axis=0)
        np.testing.assert_allclose(outward.largest_column_distance(close, 2), pairs.max(), rtol=1e-6)


@pytest.mark.quick
def test_sums_that_leave_the_grid_are_rounded_up(subtests: pytest.Subtests, rng):
    """Integers of 25 bits: the squares of twenty need more than 53 bits, their sum is then not exact."""
    for norm, rows in itertools.product([1, 2], [3, 20, 500]):
        with subtests.test(norm=norm, rows=rows):
            matrix = (2.0 * rng.integers(2**23, 2**24, size=(rows, 8)) + 1.0) * rng.choice(
                [-1.0, 1.0], (rows, 8)
            )
            norms, powers = outward.column_norms(matrix, norm), outward.column_powers(matrix, norm)
            for column, bound, power in zip(matrix.T.tolist(), norms, powers, strict=True):
                assert at_least(float(bound), column, norm)
                assert Fraction(float(power)) >= sum(abs(Fraction(v)) ** norm for v in column)
                assert power <= sum(abs(v) ** norm for v in column) * (1 + 1e-12)


@pytest.mark.quick
@given(
    st.floats(-1e300, 1e300, allow_subnormal=False), st.integers(1, 15), st.booleans(), st.sampled_from("ge")
)
@example(45.665354230783, 6, False, "g")
@example(0.1, 6, True, "g")
@example(0.3, 6, False, "e")
@example(-2.5, 1, True, "g")
@example(9.9999999, 2, True, "e")
def test_a_printed_figure_errs_to_one_side_by_less_than_a_unit(
    value: float, digits: int, up: bool, layout: str
) -> None:
    text = outward.rounded(value, digits, up=up, layout=layout)
    precision = digits - (layout == "e")
    assert text == f"{float(text):.{precision}{layout}}"
    exact, printed = Fraction(value), Fraction(Decimal(text))
    off = printed - exact if up else exact - printed
    unit = Fraction(Decimal(10) ** (Decimal(value).adjusted() + 1 - digits))
    assert 0 <= off < unit
    if off == 0:
        assert text.removeprefix("-") == f"{abs(value):.{precision}{layout}}"  # a zero of either sign


def test_printed_figures(subtests: pytest.Subtests) -> None:
    for value, up, text in [
        (None, True, "-"),
        (np.inf, False, "inf"),
        (-np.inf, True, "-inf"),
        (np.nan, True, "nan"),
        (0.0, True, "0"),
        (16.0, True, "16"),
        (1234567.0, True, "1.23457e+06"),
        (1234567.0, False, "1.23456e+06"),
        (1e-5 / 3, False, "3.33333e-06"),
        (-1 / 3, True, "-0.333333"),
        (-1 / 3, False, "-0.333334"),
        (0.1, True, "0.100001"),
        ("0.1", True, "0.1"),
        ("0.10000003", True, "0.100001"),
    ]:
        with subtests.test(value=value, up=up, text=text):
            assert outward.rounded(value, 6, up=up) == text


LARGEST = np.finfo(np.float64).max
NUMBERS = st.one_of(
    st.floats(0, 1e6),
    st.integers(0, 1000).map(float),
    st.floats(0, LARGEST, allow_nan=False),
    st.sampled_from([0.0, 5e-324, 1e-310, 1e-160, 1e160, 1 / 3, 2.0**53 - 1, 2.0**53, LARGEST]),
)
SURE = (2.0**-899, 2.0**899)  # beyond these a result may be one float too large


def is_least(found: float, exact: Fraction) -> bool:
    return Fraction(found) >= exact and (found == 0 or Fraction(float(np.nextafter(found, 0.0))) < exact)


@pytest.mark.quick
@settings(max_examples=100, derandomize=True)
@given(NUMBERS, NUMBERS)
@example(1.0, 2.0**-53)
@example(2.0**53, 1.0)
@example(LARGEST, LARGEST)
def test_sums(a, b):
    found = float(plus_up(a, b))
    exact = Fraction(a) + Fraction(b)
    assert exact > LARGEST if np.isinf(found) else is_least(found, exact)


@pytest.mark.quick
@settings(max_examples=100, derandomize=True)
@given(NUMBERS, NUMBERS)
@example(1 / 3, 3.0)
@example(5e-324, 0.5)
@example(1e200, 1e200)
@example(0.0, LARGEST)
def test_products(a, b):
    found = float(times_up(a, b))
    exact = Fraction(a) * Fraction(b)
    if all(v == 0 or SURE[0] < v < SURE[1] for v in (a, b, exact)):
        assert is_least(found, exact)
    elif np.isinf(found):
        assert exact >= Fraction(LARGEST)
    else:
        assert Fraction(found) >= exact
        below = float(np.nextafter(np.nextafter(found, 0.0), 0.0))
        assert Fraction(below) < exact or found == 0
    least = float(times_down(a, b))
    assert least >= 0 and Fraction(least) <= exact
    assert least >= LARGEST / 2 or Fraction(float(np.nextafter(np.nextafter(least, np.inf), np.inf))) > exact


@settings(max_examples=100, derandomize=True)
@given(NUMBERS)
@example(2.0)
@example(5e-324)
@example(LARGEST)
def test_square_roots(a):
    found = float(root_up(a))
    assert Fraction(found) ** 2 >= Fraction(a)
    if SURE[0] < a < SURE[1]:
        assert Fraction(float(np.nextafter(found, 0.0))) ** 2 < Fraction(a)


def test_whole_numbers_are_exact():
    a, b = (x.astype(float) for x in np.indices((300, 300)))
    np.testing.assert_array_equal(plus_up(a, b), a + b)
    np.testing.assert_array_equal(times_up(a, b), a * b)
    np.testing.assert_array_equal(root_up(a * a), a)
