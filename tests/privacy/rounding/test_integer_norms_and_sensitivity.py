"""Sums, products and differences of 64-bit integers are exact, or refused.

Guards norms_and_measured_integers.py.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from mmopt.errors import TooLargeError
from mmopt.privacy.rounding.norms_and_measured_integers import (
    bound_by_column,
    exactly,
    integer_product,
    largest_absolute_difference,
    largest_entry,
    largest_row_sum,
    largest_squared_difference,
    largest_squared_norm,
    root_above,
    squared_sensitivity,
)
from mmopt.strategies import ADD_REMOVE, Neighbours

REPLACED = Neighbours.of("replace-one")


def matrices(bits: int, shape: tuple[int, int] = (3, 5)) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.int64, shape, elements=st.integers(-(2**bits), 2**bits))


def columns(matrix: np.ndarray) -> list[list[int]]:
    return [[int(v) for v in column] for column in matrix.T]


@pytest.mark.quick
@settings(max_examples=60)
@given(st.sampled_from([5, 29, 30, 40, 62]).flatmap(matrices))
def test_norms_and_differences_equal_python_integers(matrix):
    listed = columns(matrix)
    assert largest_squared_norm(matrix) == max(sum(v * v for v in c) for c in listed)
    assert largest_squared_difference(matrix) == max(
        sum((a - b) ** 2 for a, b in zip(c, d, strict=True)) for c in listed for d in listed
    )
    assert squared_sensitivity(matrix, 1, ADD_REMOVE) == max(sum(map(abs, c)) for c in listed) ** 2
    assert largest_absolute_difference(matrix) == max(
        sum(abs(a - b) for a, b in zip(c, d, strict=True)) for c in listed for d in listed
    )
    assert largest_entry(matrix) == max(abs(v) for c in listed for v in c)
    assert largest_row_sum(matrix) == max(sum(abs(int(v)) for v in row) for row in matrix)


@settings(max_examples=120)
@given(st.sampled_from([10, 30, 44, 46, 62]).flatmap(matrices), matrices(10, (5, 2)))
def test_products_are_exact_or_refused(left, right):
    wide = left.astype(object) @ right.astype(object)
    largest = max(abs(int(v)) for v in wide.ravel())
    if largest < 2**62:
        found = integer_product(left, right)
        assert found.dtype == np.int64
        assert (found.astype(object) == wide).all()
    else:
        with pytest.raises(TooLargeError) as caught:
            integer_product(left, right)
        assert str(caught.value) == (
            f"an integer product has an entry of size {largest}, the limit is 2^62 = {2**62}\n"
            "  scale the queries down, or use fewer bits"
        )


def test_differences_over_several_blocks():
    rng = np.random.default_rng(7)
    matrix = rng.integers(-(2**28), 2**28, (4, 2500))
    found = largest_squared_difference(matrix)
    wide = matrix.astype(object)
    probe = [int(i) for i in np.argsort(np.abs(matrix).sum(axis=0))[-60:]]
    assert found >= max(int(((wide[:, i] - wide[:, j]) ** 2).sum()) for i in probe for j in probe)
    sums = np.abs(wide[:, probe, None] - wide[:, None, probe]).sum(axis=0)
    assert largest_absolute_difference(matrix) >= int(sums.max())
    floats = matrix.astype(float)
    squares = (floats**2).sum(axis=0)
    assert found == pytest.approx((squares[:, None] + squares - 2 * floats.T @ floats).max(), rel=1e-12)


@given(matrices(42), arrays(np.int64, 5, elements=st.integers(0, 2**31)))
def test_a_linear_function_is_exact_whatever_its_size(matrix, counts):
    wide = matrix.astype(object) @ counts.astype(object)
    for bound in (2**62 - 1, 2**62):
        found = exactly(matrix.__matmul__, counts, bound)
        assert found.dtype == (np.int64 if bound < 2**62 else object)
        if bound == 2**62 or abs(wide).max() < 2**62:
            assert found.tolist() == wide.tolist()
    with pytest.raises(TooLargeError) as caught:
        exactly(matrix.__matmul__, counts, 2**90)
    assert str(caught.value) == f"an answer may be of size {2**90}, the limit is 2^90\n  use fewer bits"


def test_empty_and_extreme():
    assert integer_product(np.zeros((0, 3), dtype=np.int64), np.zeros((3, 2), dtype=np.int64)).shape == (0, 2)
    assert largest_squared_norm(np.zeros((0, 3), dtype=np.int64)) == 0
    assert largest_squared_difference(np.ones((2, 4), dtype=np.int64)) == 0
    assert largest_entry(np.array([[-(2**63), 5]])) == 2**63


@given(st.integers(0, 2**130))
def test_root_above(squared):
    root = Fraction(root_above(squared))
    assert root**2 >= squared
    assert root**2 <= squared * (1 + Fraction(1, 2**50))


@pytest.mark.quick
@given(arrays(np.int64, (3, 2), elements=st.integers(-3, 3)), st.booleans())
def test_a_replaced_row_moves_by_no_more_than_is_claimed(columns, is_nonnegative):
    first, second = (np.abs(columns) if is_nonnegative else columns).T
    squared = max((first**2).sum(), (second**2).sum())
    assert ((first - second) ** 2).sum() <= bound_by_column(squared, 2, REPLACED, is_nonnegative)
    sizes = [int(np.abs(own).sum()) ** 2 for own in (first, second)]
    assert np.abs(first - second).sum() ** 2 <= bound_by_column(max(sizes), 1, REPLACED, is_nonnegative)


@pytest.mark.quick
def test_replaced_rows_that_move_the_furthest():
    """Two cells counted apart; a column and its opposite."""
    cases = ((1, REPLACED, True), (2, REPLACED, True), (2, REPLACED, False))
    assert [bound_by_column(1, *case) for case in cases] == [4, 2, 4]
