"""``right - x @ y`` with twice the digits of a float, and a bound on its error.

Ozaki, Ogita, Oishi & Rump 2012, Error-free transformations of matrix multiplication: x and y are
cut into slices of so few bits that the products of slices are exact in floats, in whatever order a
library sums them; what is left over is 2^-40 times smaller and may be rounded. The exact products are
then added with Knuth's two-sum, which keeps the rounding errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mmopt.numerics.arrays import Array, panels
from mmopt.numerics.balls import U, lengths

__all__ = ["Residual", "plain_residual", "residual", "short_residual"]

Residual = Callable[[Array, Array, Array], tuple[Array, Array]]
"""``right - x @ y`` from right, x and y: values, and bounds of their errors."""

HEIGHT = 512  # rows of x that are sliced at a time, for memory


def _bits(terms: int) -> int:
    """Bits of a slice such that a sum of so many products of slices is exact."""
    return (51 - math.ceil(math.log2(max(terms, 2)))) // 2


def _slices(a: Array, axis: int, bits: int) -> tuple[Array, Array, Array]:
    """``a`` as an exact sum of two slices of ``bits`` bits (of the axis's largest) and a rest."""
    _, exponent = np.frexp(np.abs(a).max(axis=axis, keepdims=True))
    first = _rounded(a, exponent - bits)
    second = _rounded(a - first, exponent - 2 * bits)
    return first, second, a - first - second


def _rounded(a: Array, exponent: Array) -> Array:
    """``a`` rounded to whole multiples of 2^exponent; the difference to ``a`` is a float."""
    shift = np.ldexp(1.5, exponent + 52)
    return np.asarray((a + shift) - shift)


def residual(right: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """``right - x @ y`` for a matrix x and a matrix or vector y: values and bounds of their errors."""
    columns = y.reshape(len(y), -1)
    slices = _slices(columns, 0, _bits(x.shape[1]))
    high = right.reshape(len(x), -1)
    found = [_residual(high[here], x[here], columns, slices) for here in panels(max(len(x), 1), HEIGHT)]
    mid, rad = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return mid.reshape(right.shape), rad.reshape(right.shape)


def _residual(high: Array, x: Array, y: Array, slices: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    terms = x.shape[1]
    x1, x2, x3 = _slices(x, 1, _bits(terms))
    y1, y2, y3 = slices
    low = lost = np.zeros(high.shape)
    for product in (x1 @ y1, x1 @ y2, x2 @ y1, x2 @ y2):
        total = high - product
        moved = total - high
        low = low + ((high - (total - moved)) + (-product - moved))
        lost = lost + np.abs(low)
        high = total
    rest = (x1 + x2) @ y3 + x3 @ y
    sizes = np.abs(x1 + x2) @ np.abs(y3) + np.abs(x3) @ np.abs(y)
    mid = high + (low - rest)
    return mid, U * (np.abs(mid) + 4 * (lost + np.abs(rest))) + 2 * (terms + 4) * U * sizes


def short_residual(right: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """``right - x @ y`` for matrices, from three products in place of eight.

    One product of slices is exact, the rest is 2^-20 times smaller (for a thousand terms) and is rounded.
    """
    terms = x.shape[1]
    bits = _bits(terms)
    y1 = _rounded(y, np.frexp(np.abs(y).max(axis=0, keepdims=True))[1] - bits)
    y2 = y - y1
    mid, rad = np.empty(right.shape), np.empty(right.shape)
    for here in panels(max(len(x), 1), HEIGHT):
        x1 = _rounded(x[here], np.frexp(np.abs(x[here]).max(axis=1, keepdims=True))[1] - bits)
        x2 = x[here] - x1
        high = right[here] - x1 @ y1
        mid[here] = high - (x1 @ y2 + x2 @ y)
        # By Cauchy and Schwarz, in place of products of absolute values.
        sizes = np.multiply.outer(lengths(x1, 1), lengths(y2, 0))
        sizes += np.multiply.outer(lengths(x2, 1), lengths(y, 0))
        rad[here] = 2 * U * (np.abs(high) + np.abs(mid[here])) + 2 * (terms + 4) * U * sizes
    return mid, rad


def plain_residual(right: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """``right - x @ y`` for matrices, from the one product, rounded as it comes."""
    mid = right - x @ y
    # By Cauchy and Schwarz, in place of the product of absolute values.
    sizes = np.multiply.outer(lengths(x, 1), lengths(y, 0))
    return mid, 2 * U * np.abs(mid) + 2 * (x.shape[1] + 4) * U * sizes
