"""Upward rounding of single operations against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mmopt.queries.directed import plus_up, root_up, times_up

LARGEST = np.finfo(np.float64).max
NUMBERS = st.one_of(
    st.floats(0, 1e6),
    st.integers(0, 1000).map(float),
    st.floats(0, LARGEST, allow_nan=False),
    st.sampled_from([0.0, 5e-324, 1e-310, 1e-160, 1e160, 1 / 3, 2.0**53 - 1, 2.0**53, LARGEST]),
)
EDGES = (2.0**-900, 2.0**900)  # beyond them a result may go one float too far


def check(found: float, exact: Fraction) -> None:
    """The least float not below the exact number; near the ends of the range perhaps the next one."""
    if np.isinf(found):
        assert exact > Fraction(EDGES[1])
        return
    assert Fraction(found) >= exact
    steps = 1 if exact == 0 or Fraction(EDGES[0]) < exact < Fraction(EDGES[1]) else 2
    below = found
    for _ in range(steps):
        below = float(np.nextafter(below, 0.0))
    assert found == 0 or Fraction(below) < exact or (steps == 2 and found < 1e-320)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(NUMBERS, NUMBERS)
@example(1.0, 2.0**-53)
@example(2.0**53, 1.0)
@example(LARGEST, LARGEST)
def test_sums(a, b):
    found = float(plus_up(a, b))
    assert np.isinf(found) or Fraction(found) >= Fraction(a) + Fraction(b)
    if np.isfinite(found) and found > 0:
        assert Fraction(float(np.nextafter(found, 0.0))) < Fraction(a) + Fraction(b)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(NUMBERS, NUMBERS)
@example(1 / 3, 3.0)
@example(5e-324, 0.5)
@example(1e200, 1e200)
def test_products(a, b):
    check(float(times_up(a, b)), Fraction(a) * Fraction(b))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(NUMBERS)
@example(2.0)
@example(5e-324)
@example(LARGEST)
def test_square_roots(a):
    found = float(root_up(a))
    assert Fraction(found) ** 2 >= Fraction(a)
    if EDGES[0] < a < EDGES[1]:
        assert Fraction(float(np.nextafter(found, 0.0))) ** 2 < Fraction(a)


def test_whole_numbers_are_exact():
    a, b = (x.astype(float) for x in np.indices((300, 300)))
    np.testing.assert_array_equal(plus_up(a, b), a + b)
    np.testing.assert_array_equal(times_up(a, b), a * b)
    np.testing.assert_array_equal(root_up(a * a), a)
