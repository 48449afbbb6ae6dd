"""``right - x @ y`` with twice the digits of a float, and a bound on its error.

Ozaki, Ogita, Oishi & Rump 2012, Error-free transformations of matrix multiplication: x and y are
cut into slices of so few bits that the products of slices are exact in floats, in whatever order a
library sums them; what is left over is 2^-40 times smaller and may be rounded. The exact products are
then added with Knuth's two-sum, which keeps the rounding errors.
"""

from __future__ import annotations

import math

import numpy as np

from mmopt.language.numeric import Array

__all__ = ["residual"]

U = float(np.finfo(float).eps) / 2


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
    terms = x.shape[1]
    bits = (51 - math.ceil(math.log2(max(terms, 2)))) // 2
    x1, x2, x3 = _slices(x, 1, bits)
    y1, y2, y3 = _slices(columns, 0, bits)
    high = right.reshape(len(x), -1)
    low = lost = np.zeros(high.shape)
    for product in (x1 @ y1, x1 @ y2, x2 @ y1, x2 @ y2):
        total = high - product
        moved = total - high
        low = low + ((high - (total - moved)) + (-product - moved))
        lost = lost + np.abs(low)
        high = total
    rest = (x1 + x2) @ y3 + x3 @ columns
    sizes = np.abs(x1 + x2) @ np.abs(y3) + np.abs(x3) @ np.abs(columns)
    mid = high + (low - rest)
    rad = U * (np.abs(mid) + 4 * (lost + np.abs(rest))) + 2 * (terms + 4) * U * sizes
    return mid.reshape(right.shape), rad.reshape(right.shape)
