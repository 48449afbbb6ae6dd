"""Upward rounding of single operations against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from mmopt.numerics.directed import plus_up, root_up, times_up

pytestmark = pytest.mark.quick

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


@settings(max_examples=400, derandomize=True)
@given(NUMBERS, NUMBERS)
@example(1.0, 2.0**-53)
@example(2.0**53, 1.0)
@example(LARGEST, LARGEST)
def test_sums(a, b):
    found = float(plus_up(a, b))
    exact = Fraction(a) + Fraction(b)
    assert exact > LARGEST if np.isinf(found) else is_least(found, exact)


@settings(max_examples=400, derandomize=True)
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


@settings(max_examples=400, derandomize=True)
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
