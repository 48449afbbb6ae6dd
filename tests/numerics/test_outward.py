"""Upward rounding against exact rational arithmetic."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from mmopt.numerics import outward

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


@settings(max_examples=200, derandomize=True)
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
@settings(max_examples=200, derandomize=True)
@given(MATRICES, st.sampled_from([1, 2]))
@example(np.array([[1.0, 0.0], [5e-324, 0.0]]), 1)
def test_differences_are_upper_bounds(matrix, norm):
    bound = outward.largest_difference(matrix, norm)
    columns = [[Fraction(v) for v in column] for column in matrix.T.tolist()]
    for a in columns:
        for b in columns:
            assert at_least(bound, [x - y for x, y in zip(a, b, strict=True)], norm)


@pytest.mark.quick
@pytest.mark.draws(4)
@pytest.mark.parametrize("norm", [1, 2])
def test_bounds_are_tight(rng, norm):
    matrix = rng.normal(size=(300, 20)) * 10.0 ** rng.integers(-5, 5, size=(300, 1))
    plain = np.linalg.norm(matrix, norm, axis=0)
    np.testing.assert_allclose(outward.column_norms(matrix, norm), plain, rtol=1e-12)
    pairs = np.linalg.norm(matrix[:, :, None] - matrix[:, None, :], norm, axis=0)
    np.testing.assert_allclose(outward.largest_difference(matrix, norm), pairs.max(), rtol=1e-12)


@pytest.mark.quick
def test_small_integers_are_exact():
    tree = np.vstack([np.eye(8), np.kron(np.eye(4), [1, 1]), np.kron(np.eye(2), [1] * 4), np.ones((1, 8))])
    np.testing.assert_array_equal(outward.column_norms(tree, 1), np.full(8, 4.0))
    np.testing.assert_array_equal(outward.column_norms(tree, 2), np.full(8, 2.0))
    np.testing.assert_array_equal(outward.column_norms(tree / 4, 2), np.full(8, 0.5))
    np.testing.assert_array_equal(outward.column_norms(3 * np.eye(2), 2), [3.0, 3.0])
    assert outward.largest_difference(np.eye(5), 1) == 2.0
    assert np.sqrt(2) <= outward.largest_difference(np.eye(5), 2) <= np.nextafter(np.sqrt(2), 2)
    # Never below: √2 is rounded up by one float at most.
    assert outward.column_norms(np.ones((2, 1)), 2)[0] == np.nextafter(np.sqrt(2), 2)


@pytest.mark.quick
def test_equal_columns_do_not_differ():
    third = np.full((4, 6), 1 / 3)
    assert outward.largest_difference(third, 1) == 0.0
    assert outward.largest_difference(third, 2) == 0.0
    assert outward.largest_difference(np.ones((3, 1)), 2) == 0.0
    np.testing.assert_array_equal(outward.column_norms(np.zeros((2, 3)), 2), np.zeros(3))


@pytest.mark.quick
@pytest.mark.draws(4)
def test_the_gram_form_bounds_the_direct_one(monkeypatch, rng):
    matrix = rng.normal(size=(30, 12)) * 10.0 ** rng.integers(-3, 4)
    direct = outward.largest_difference(matrix, 2)
    monkeypatch.setattr(outward, "_DIRECT", 0)
    by_gram = outward.largest_difference(matrix, 2)
    assert by_gram >= direct * (1 - 1e-12)
    np.testing.assert_allclose(by_gram, direct, rtol=1e-9)
    # Where columns nearly agree the Gram form is too loose and is not used.
    close = 1 + 1e-9 * rng.normal(size=(5, 4))
    pairs = np.linalg.norm(close[:, :, None] - close[:, None, :], axis=0)
    np.testing.assert_allclose(outward.largest_difference(close, 2), pairs.max(), rtol=1e-6)


@pytest.mark.quick
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("rows", [3, 20, 500])
def test_sums_that_leave_the_grid_are_rounded_up(norm, rows, rng):
    """Integers of 25 bits: the squares of twenty need more than 53 bits, their sum is then not exact."""
    matrix = (2.0 * rng.integers(2**23, 2**24, size=(rows, 40)) + 1.0) * rng.choice([-1.0, 1.0], (rows, 40))
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


@pytest.mark.quick
@pytest.mark.parametrize(
    ("value", "up", "text"),
    [
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
    ],
)
def test_printed_figures(value: float | str | None, up: bool, text: str) -> None:
    assert outward.rounded(value, 6, up=up) == text
