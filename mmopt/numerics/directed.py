"""Sums, products and square roots of nonnegative floats rounded upwards: the least float not below.

The rounding error of a sum and of a product is itself a float and is computed exactly (Knuth's two-sum,
Dekker's product; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §4.3): a result that was
rounded down goes one float up, an exact one stays. Near overflow and underflow every result goes up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mmopt.numerics.arrays import Array

__all__ = ["plus_up", "root_up", "times_up"]

_SPLIT = 2.0**27 + 1
_TINY, _HUGE = 2.0**-900, 2.0**900  # between these no step of Dekker's product leaves the range of doubles


def plus_up(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """a + b, elementwise, rounded upwards; a, b >= 0."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        total = a + b
        of_b = total - a
        error = (a - (total - of_b)) + (b - of_b)
        return np.asarray(np.where(error > 0, np.nextafter(total, np.inf), total))


def times_up(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """a b, elementwise, rounded upwards; a, b >= 0."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        product = a * b
        error = _lost(a, b, product)
        certain = (a < _HUGE) & (b < _HUGE) & (product > _TINY) & (product < _HUGE)
        exact = np.where(certain, error <= 0, (a == 0) | (b == 0))
        return np.asarray(np.where(exact, product, np.nextafter(product, np.inf)))


def root_up(a: npt.ArrayLike) -> Array:
    """√a, elementwise, rounded upwards; a >= 0."""
    a = np.asarray(a, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        root = np.sqrt(a)
        square = root * root
        short = (square - a) + _lost(root, root, square)  # root² - a; the difference is exact (Sterbenz)
        certain = (a > _TINY) & (a < _HUGE)
        exact = np.where(certain, short >= 0, a == 0)
        return np.asarray(np.where(exact, root, np.nextafter(root, np.inf)))


def _lost(a: Array, b: Array, product: Array) -> Array:
    """a b minus its rounded value."""
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return np.asarray(((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)


def _halves(a: Array) -> tuple[Array, Array]:
    scaled = _SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high
