"""Integer arithmetic without overflow: products and norms that a privacy claim may rest on.

numpy's int64 wraps silently. Each function bounds its result in Python integers first, then takes
float64 (BLAS) where every partial sum is an exact integer below 2^53, int64 below 2^62, and Python
integers otherwise.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, assert_never

import numpy as np
from scipy.spatial.distance import cdist

from mmopt.errors import PrivacyError, TooLargeError
from mmopt.numerics.arrays import AnyInts, Ints
from mmopt.numerics.participation import largest_block, largest_sums, most_steps
from mmopt.privacy.epsilon_delta_rho import float_above
from mmopt.strategies import Neighbours

_LIMIT = 2**62  # of the sizes of 64-bit integers
_WIDEST = 2**90  # of the sizes of Python integers
_LIMB = 15  # entries below 2^30 split into two limbs whose products float64 sums exactly
_BLOCK = 1024  # columns that are compared with all others at a time


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


def exactly(linear: Callable[[Any], Any], counts: Ints, bound: int) -> AnyInts:
    """A linear function of counts, exactly: int64, or Python integers where ``bound`` is 2^62 or more.

    bound : on the sizes of results, and of all values on the way there, below 2^90. Integers of 64 bits then
    wrap and give results modulo 2^64; those of floating point are nearer to them than 2^62.
    """
    modular = np.asarray(linear(counts))
    if bound < _LIMIT:
        return modular
    if bound >= _WIDEST:
        raise TooLargeError(f"an answer may be of size {bound}, the limit is 2^90", hint="use fewer bits")
    turns = np.rint((linear(counts.astype(np.float64)) - modular) / 2.0**64).astype(np.int64)
    return np.asarray(modular.astype(object) + turns.astype(object) * 2**64, dtype=object)


def largest_entry(matrix: Ints) -> int:
    """Largest absolute entry, as a Python integer (correct at -2^63 too)."""
    return max(abs(int(matrix.max())), abs(int(matrix.min()))) if matrix.size else 0


def largest_row_sum(matrix: Ints) -> int:
    """Largest sum of absolute values in a row, as a Python integer."""
    if largest_entry(matrix) * matrix.shape[1] < _LIMIT:
        return int(np.abs(matrix).sum(axis=1).max(initial=0))
    return max(sum(abs(int(v)) for v in row) for row in matrix)


def largest_squared_norm(matrix: Ints) -> int:
    """Largest squared L2 norm of a column, exactly."""
    return max(map(int, _squared_norms(matrix))) if matrix.size else 0


def largest_squared_difference(matrix: Ints) -> int:
    """Largest squared L2 norm of a difference of two columns, exactly, over all pairs."""
    columns = np.unique(matrix, axis=1)  # equal columns add no new difference
    if (count := columns.shape[1]) < 2:
        return 0
    if not _is_small(columns) or 4 * largest_squared_norm(columns) >= _LIMIT:
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
    if len(columns := np.unique(matrix, axis=1).T) < 2:
        return 0
    if 2 * largest_row_sum(columns) >= 2**53:
        wide = columns.astype(object)
        return max(
            max(int(v) for v in np.abs(wide[i + 1 :] - wide[i]).sum(axis=1)) for i in range(len(wide) - 1)
        )
    real = columns.astype(np.float64)  # every difference and partial sum is an integer below 2^53
    blocks = (cdist(real[i : i + _BLOCK], real[i:], "cityblock") for i in range(0, len(real), _BLOCK))
    return max(int(distances.max()) for distances in blocks)


def squared_sensitivity(matrix: Ints, norm: int, neighbours: Neighbours) -> int:
    """Square of the largest L1 or L2 norm by which neighbours (``over`` the workload) change ``matrix @ x``.

    Exact; for a participation an upper bound, see ``participation_norm``.
    """
    match neighbours.kind:
        case "add-remove" | "rows":
            return _largest_squared(matrix, norm) * neighbours.at_most**2
        case "replace-one":
            moved = (
                largest_squared_difference(matrix) if norm == 2 else largest_absolute_difference(matrix) ** 2
            )
            return max(_largest_squared(matrix, norm), moved) if neighbours.may_drop else moved
        case "participation":
            return _squared_participation(matrix, norm, neighbours)
        case _:
            assert_never(neighbours.kind)


def _largest_squared(matrix: Ints, norm: int) -> int:
    """Square of the largest norm of a column."""
    return largest_squared_norm(matrix) if norm == 2 else largest_absolute_sum(matrix) ** 2


def _squared_participation(matrix: Ints, norm: int, neighbours: Neighbours) -> int:
    """``numerics.participation.participation_norm`` squared, on integers; where sums may reach 2^62, they are
    of weights divided by 2^shift, rounded up.
    """
    b, k = neighbours.separation, most_steps(matrix.shape[1], neighbours.separation, neighbours.at_most)
    ones = np.ones_like(matrix[:, :1])
    weights = np.abs(_gram(matrix)) if norm == 2 else _gram(np.abs(matrix), ones)[:, 0]
    shift = max(0, (largest_entry(weights) * k**norm).bit_length() - 61)
    divided = -(-weights >> shift)
    total: int = int(largest_block(divided, b, k) if norm == 2 else largest_sums(divided, b, k)) << shift
    return total if norm == 2 else total**2


def _gram(left: Ints, right: Ints | None = None) -> Ints:
    """leftᵀ right, by default leftᵀ left, exactly; TooLargeError when an entry may reach 2^62."""
    if right is None and _is_small(left) and largest_squared_norm(left) < _LIMIT:
        return _small_product(left.T, left)
    return integer_product(left.T, left if right is None else right)


def _is_small(matrix: Ints) -> bool:
    """Whether ``_small_product`` takes the matrix."""
    return largest_entry(matrix) < 1 << 2 * _LIMB and matrix.shape[0] < 2**23


def bound_by_column(squared: int, norm: int, neighbours: Neighbours, is_nonnegative: bool) -> int:
    """The square of the sensitivity, or a bound on it, where no column has more than this ``squared`` norm.

    Exact for rows added or removed. For rows replaced, by the triangle inequality; for columns without
    negative entries |a - b|² <= |a|² + |b|² in L2.

    Raises
    ------
    PrivacyError : a participation, for which columns have to be compared.
    """
    match neighbours.kind:
        case "add-remove" | "rows":
            return squared * neighbours.at_most**2
        case "replace-one":
            return squared * (2 if norm == 2 and is_nonnegative else 4)
        case "participation":
            raise PrivacyError(
                f"the sensitivity to '{neighbours}' is not known of a strategy in factors or by component, "
                "which is for 'add-remove': its columns are not compared",
                hint="choose a strategy that is a matrix, as programs do over at most 8,192 steps; or write "
                f"'neighbours: {{rows: {neighbours.at_most}}}', which covers it",
            )
        case _:
            assert_never(neighbours.kind)


def root_above(squared: int) -> float:
    """A float proved >= sqrt(squared), within one unit in the last place of the smallest such.

    For a perfect square it is the smallest such.
    """
    root = math.isqrt(squared)
    if root * root == squared:
        return float_above(Fraction(root))
    # isqrt of squared * 4^64 is the root times 2^64 rounded down; one more is above it.
    return float_above(Fraction(math.isqrt(squared << 128) + 1, 2**64))


def _squared_norms(matrix: Ints) -> AnyInts:
    """Squared L2 norm of each column, exactly."""
    if largest_entry(matrix) ** 2 * matrix.shape[0] < _LIMIT:
        return np.asarray(np.einsum("ij,ij->j", matrix, matrix), dtype=np.int64)
    some = (matrix[:, i : i + 128].astype(object) for i in range(0, matrix.shape[1], 128))
    return np.concatenate([(wide * wide).sum(axis=0) for wide in some])


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
