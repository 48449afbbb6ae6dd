"""Arithmetic of intervals, entry by entry: wider than need be, and finite where it can be.

Every result is widened by far more than its rounding, which then needs no further attention; products too
small for a float are widened by ``balls.TINY``, and a product that is too large for one is never an end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmopt.numerics import balls
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import TINY, Ball, exact

NEAR_INVERSE = 0.5  # row sums of I - B M below which B is taken for a left inverse
SMALL = 1e-280  # of a product that may have lost its digits
LARGEST = float(np.finfo(float).max)
WIDER = 1e-9  # relative, by which an interval is widened: its rounding, many times over


@dataclass(frozen=True)
class Range:
    """The least and the largest value of each entry; infinite where nothing is known."""

    low: Array
    high: Array

    def intersection(self, low: Array | float, high: Array | float) -> Range:
        """The values that are in both ranges."""
        return Range(np.maximum(self.low, low), np.minimum(self.high, high))

    @property
    def largest(self) -> Array:
        return np.maximum(np.abs(self.low), np.abs(self.high))


def widened(low: Array, high: Array, below: Array | float = 0.0, above: Array | float = 0.0) -> Range:
    """``below``, ``above``: the sizes of the terms that were added up to the lower and to the upper ends."""
    with np.errstate(invalid="ignore"):
        # A lower end that overflows is above the true one: the largest number is not. So is an upper one.
        low, high = np.minimum(low, LARGEST), np.maximum(high, -LARGEST)
        ends = low - WIDER * (np.abs(low) + below), high + WIDER * (np.abs(high) + above)
        low, high = (np.where(np.isnan(end), s * np.inf, end) for end, s in zip(ends, (-1, 1), strict=True))
        return Range(np.minimum(low, LARGEST), np.maximum(high, -LARGEST))


def times(a: Range, b: Range) -> Range:
    """Products, where 0 times infinity is 0."""
    with np.errstate(all="ignore"):
        pairs = [(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        ends = [np.nan_to_num(x * y, nan=0.0, posinf=np.inf, neginf=-np.inf) for x, y in pairs]
        slips = [
            np.where((np.abs(end) < SMALL) & (x != 0.0) & (y != 0.0), TINY, 0.0)
            for end, (x, y) in zip(ends, pairs, strict=True)
        ]
        low, high = (
            reduced([end + side * slip for end, slip in zip(ends, slips, strict=True)])
            for reduced, side in ((np.minimum.reduce, -1.0), (np.maximum.reduce, 1.0))
        )
        return widened(low, high)


def root_of_product(a: Array, c: Array) -> Array:
    """An upper bound on the square root of a c, for a, c >= 0 (others count as 0).

    Roots come first: a product of small numbers would vanish, of large ones overflow.
    """
    with np.errstate(all="ignore"):
        one, other = np.sqrt(np.maximum(a, 0.0)), np.sqrt(np.maximum(c, 0.0))
        most = np.nan_to_num(one * other, nan=np.inf, posinf=np.inf)
        slip = np.where((most < SMALL) & (one != 0.0) & (other != 0.0), TINY, 0.0)
        return np.asarray(most * (1.0 + WIDER) + slip)


def quotient(a: Range, c: Range) -> Range:
    """Quotients by ranges without zero; others are infinite."""
    nonzero = (c.low > 0) | (c.high < 0)
    with np.errstate(all="ignore"):
        inverse = widened(np.where(nonzero, 1.0 / c.high, 0.0), np.where(nonzero, 1.0 / c.low, 0.0))
    quotients = times(a, inverse)
    return Range(np.where(nonzero, quotients.low, -np.inf), np.where(nonzero, quotients.high, np.inf))


def _size(end: Array) -> Array:
    """The sizes of one end, 0 where it is infinite: each end by itself, as the other may be infinite."""
    return np.where(np.isfinite(end), np.abs(end), 0.0)


def plus(a: Range, b: Range) -> Range:
    with np.errstate(invalid="ignore"):
        sizes = _size(a.low) + _size(b.low), _size(a.high) + _size(b.high)
        return widened(a.low + b.low, a.high + b.high, *sizes)


def minus(a: Range) -> Range:
    return Range(-a.high, -a.low)


def total(a: Range, axis: int | None, keepdims: bool = False) -> Range:
    """Sums; an end whose terms overflow on the way is infinite, as later terms may bring it back."""
    ends = (a.low, a.high, _size(a.low), _size(a.high))
    with np.errstate(over="ignore", invalid="ignore"):
        low, high, below, above = (np.asarray(np.sum(end, axis=axis, keepdims=keepdims)) for end in ends)
    return widened(
        np.where(np.isinf(below), -np.inf, low), np.where(np.isinf(above), np.inf, high), below, above
    )


def others(total: Range, terms: Range, axis: int | None) -> Range:
    """Each of the terms of a sum, from the sum and the other terms."""

    def rest(end: Array, sign: float) -> Array:
        """The sum of the others: infinite where one of them is."""
        infinite = np.isinf(end)
        finite = np.where(infinite, 0.0, end)
        others = np.sum(finite, axis=axis, keepdims=True) - finite
        count = np.sum(infinite, axis=axis, keepdims=True) - infinite
        return np.where((count > 0) | ~np.isfinite(others), sign * np.inf, others)

    with np.errstate(over="ignore", invalid="ignore"):
        below, above = (np.sum(_size(end), axis=axis, keepdims=True) for end in (terms.high, terms.low))
        low, high = rest(terms.low, -1.0), rest(terms.high, 1.0)
    if axis is None:
        whole = total
    else:
        whole = Range(np.expand_dims(total.low, axis), np.expand_dims(total.high, axis))
    with np.errstate(invalid="ignore"):
        return widened(whole.low - high, whole.high - low, below, above)


def solved(matrix: Ball, value: Range) -> Range:
    """The range of x, given that of its product with a matrix, by a left inverse B of the matrix.

    x = B v + (I - B M) x, so the largest |x| is at most that of |B| |v| over 1 - ‖I - B M‖, row sums.
    """
    rows, columns = matrix.shape
    nothing = Range(np.asarray(-np.inf), np.asarray(np.inf))
    if rows < columns or not np.isfinite(value.largest).all() or not np.isfinite(matrix.rad).all():
        return nothing
    inverse: Array = np.asarray(np.linalg.pinv(matrix.mid), dtype=np.float64)
    rest = balls.sub(exact(np.eye(columns)), balls.matmul(exact(inverse), matrix))
    off = float((np.abs(rest.mid) + rest.rad).sum(axis=1).max(initial=0.0))
    if not off < NEAR_INVERSE:
        return nothing
    most = np.abs(inverse) @ value.largest * (1.0 + WIDER)
    most = most + off / (1.0 - off) * most.max(axis=0, initial=0.0) * (1.0 + WIDER)
    most = most + TINY
    return Range(-most, most)
