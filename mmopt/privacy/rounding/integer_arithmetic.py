"""Integer arithmetic without overflow: products and norms that a privacy claim may rest on.

numpy's int64 wraps silently. Each function bounds its result in Python integers first, then takes
float64 (BLAS) where every partial sum is an exact integer below 2^53, int64 below 2^62, and Python
integers otherwise.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from mmopt.errors import TooLargeError
from mmopt.numerics.arrays import Ints
from mmopt.privacy.guarantee import float_above
from mmopt.privacy.privacy_parameters import Neighbours

__all__ = [
    "integer_product",
    "largest_absolute_difference",
    "largest_absolute_sum",
    "largest_entry",
    "largest_row_sum",
    "largest_squared_difference",
    "largest_squared_norm",
    "replaced",
    "root_above",
    "squared_sensitivity",
]


_LIMIT = 2**62
_LIMB = 15  # entries below 2^30 split into two limbs whose products float64 sums exactly
_BLOCK = 1024


def integer_product(left: Ints, right: Ints) -> Ints:
    """left @ right exactly; TooLargeError when an entry may reach 2^62.

    The bound is (largest absolute row sum of left) x (largest entry of right) when that fits, else
    the product in Python integers decides.
    """
    if left.size == 0 or right.size == 0:
        return np.zeros((left.shape[0], *right.shape[1:]), dtype=np.int64)
    bound = largest_row_sum(left) * largest_entry(right)
    if bound < 2**53:
        return np.asarray((left.astype(float) @ right.astype(float)).astype(np.int64))
    if bound < _LIMIT:
        return np.asarray(left @ right, dtype=np.int64)
    wide = left.astype(object) @ right.astype(object)
    largest = max(abs(int(v)) for v in wide.ravel())
    if largest >= _LIMIT:
        raise TooLargeError(
            f"an integer product has an entry of size {largest}, the limit is 2^62 = {_LIMIT}",
            hint="scale the queries down, or use fewer bits",
        )
    return np.asarray(wide, dtype=np.int64)


def largest_entry(matrix: Ints) -> int:
    """Largest absolute entry, as a Python integer (correct at -2^63 too)."""
    return max(abs(int(matrix.max())), abs(int(matrix.min()))) if matrix.size else 0


def largest_row_sum(matrix: Ints) -> int:
    """Largest sum of absolute values in a row, as a Python integer."""
    if matrix.size == 0:
        return 0
    if largest_entry(matrix) * matrix.shape[1] < _LIMIT:
        return int(np.abs(matrix).sum(axis=1).max())
    return max(sum(abs(int(v)) for v in row) for row in matrix)


def largest_squared_norm(matrix: Ints) -> int:
    """Largest squared L2 norm of a column, exactly."""
    if matrix.size == 0:
        return 0
    return max(int(v) for v in _squared_norms(matrix))


def largest_squared_difference(matrix: Ints) -> int:
    """Largest squared L2 norm of a difference of two columns, exactly, over all pairs."""
    columns = np.unique(matrix, axis=1)  # equal columns add no new difference
    count = columns.shape[1]
    if count < 2:
        return 0
    small = largest_entry(columns) < 2 ** (2 * _LIMB) and columns.shape[0] < 2**23
    if not small or 4 * largest_squared_norm(columns) >= _LIMIT:
        wide = columns.astype(object)
        return max(
            max(int(v) for v in ((wide[:, i + 1 :] - wide[:, i : i + 1]) ** 2).sum(axis=0))
            for i in range(count - 1)
        )
    norms = np.asarray(_squared_norms(columns), dtype=np.int64)
    best = 0
    for start in range(0, count, _BLOCK):
        block = slice(start, start + _BLOCK)
        rest = slice(start, count)
        inner = _small_product(columns[:, block].T, columns[:, rest])
        best = max(best, int((norms[block, None] + norms[None, rest] - 2 * inner).max()))
    return best


def largest_absolute_sum(matrix: Ints) -> int:
    """Largest L1 norm of a column, exactly."""
    return largest_row_sum(matrix.T)


def largest_absolute_difference(matrix: Ints) -> int:
    """Largest L1 norm of a difference of two columns, exactly, over all pairs."""
    columns = np.unique(matrix, axis=1).T
    if len(columns) < 2:
        return 0
    if 2 * largest_row_sum(columns) >= 2**53:
        wide = columns.astype(object)
        return max(
            max(int(v) for v in np.abs(wide[i + 1 :] - wide[i]).sum(axis=1)) for i in range(len(wide) - 1)
        )
    real = columns.astype(np.float64)  # every difference and partial sum is an integer below 2^53
    blocks = (cdist(real[i : i + _BLOCK], real[i:], "cityblock") for i in range(0, len(real), _BLOCK))
    return max(int(distances.max()) for distances in blocks)


def squared_sensitivity(matrix: Ints, norm: int, neighbours: Neighbours, may_drop: bool) -> int:
    """Exact square of the largest L1 or L2 norm by which one row of data changes ``matrix @ x``.

    A row adds the column of its cell, or zero where rules drop it. Added or removed, it changes the answers
    by that; replaced, by the difference of two of these, zero among them where a row ``may_drop``.
    """
    added = largest_squared_norm(matrix) if norm == 2 else largest_absolute_sum(matrix) ** 2
    if neighbours == "add-remove":
        return added
    moved = largest_squared_difference(matrix) if norm == 2 else largest_absolute_difference(matrix) ** 2
    return max(added, moved) if may_drop else moved


def replaced(squared: int, norm: int, is_nonnegative: bool) -> int:
    """Bound on the squared norm of a difference of two columns, of ``squared`` norm at most, or one and zero.

    The triangle inequality; for columns without negative entries |a - b|² <= |a|² + |b|² in L2.
    """
    return squared * (2 if norm == 2 and is_nonnegative else 4)


def root_above(squared: int) -> float:
    """A float proved >= sqrt(squared), within one unit in the last place of the smallest such.

    For a perfect square it is the smallest such.
    """
    root = math.isqrt(squared)
    if root * root == squared:
        return float_above(Fraction(root))
    # isqrt of squared * 4^64 is the root times 2^64 rounded down; one more is above it.
    return float_above(Fraction(math.isqrt(squared << 128) + 1, 2**64))


def _squared_norms(matrix: Ints) -> Ints | npt.NDArray[np.object_]:
    if largest_entry(matrix) ** 2 * matrix.shape[0] < _LIMIT:
        return np.asarray(np.einsum("ij,ij->j", matrix, matrix), dtype=np.int64)
    wide = matrix.astype(object)
    return np.asarray((wide * wide).sum(axis=0), dtype=object)


def _small_product(left: Ints, right: Ints) -> Ints:
    """left @ right for entries below 2^30 through exact float64 products of 15-bit limbs (BLAS speed).

    A limb is at most 2^15 in size, so each float sum is at most rows x 2^30 <= 2^53 for fewer than
    2^23 rows and every partial sum is exact. The caller has bounded the true result by 2^62, and
    sums modulo 2^64 of exact int64 terms then give it.
    """
    mask = (1 << _LIMB) - 1
    left_high, left_low = (left >> _LIMB).astype(float), (left & mask).astype(float)
    right_high, right_low = (right >> _LIMB).astype(float), (right & mask).astype(float)
    high = (left_high @ right_high).astype(np.int64)
    middle = (left_high @ right_low).astype(np.int64) + (left_low @ right_high).astype(np.int64)
    low = (left_low @ right_low).astype(np.int64)
    return np.asarray((high << (2 * _LIMB)) + (middle << _LIMB) + low, dtype=np.int64)
