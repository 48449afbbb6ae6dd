"""Functions of matrices that numpy lacks, and products without matrices that need not be formed.

Atoms are evaluated by these functions of matrices and vectors. numpy lacks some, such as ``polar``; others,
such as ``eye`` and ``diag``, also refuse a number that is no size, or an array that does not fit in memory.

In a product ``diag(v)`` scales rows or columns, an identity changes nothing, and where only ``diag`` or
``trace`` needs the product, its diagonal is enough.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from mmopt.errors import OptionError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import EPS, Array, Ints, eigen

# An eigenvalue of a psd variable is raised to this part of the largest before anything is evaluated: the
# inverse then exists, and the change is charged to the objective.
EIGENVALUE_FLOOR = 1e-10
# Queries lie in the range of a singular matrix when no more than this part of them is outside: rounding.
RANGE_TOLERANCE = 1e-12
# A multiplier of an interior-point method that is really zero is far below this part of the largest.
CLEAR_MULTIPLIER = 1e-3
# A length below this may have lost squares that are too small for a float.
LEAST_LENGTH = 1e-140


def eigh(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues (ascending) and eigenvectors of the symmetric part."""
    return (matrix[0].copy(), np.ones((1, 1))) if matrix.shape == (1, 1) else eigen((matrix + matrix.T) / 2)


def eigenvectors(gram: Array) -> Array:
    """Eigenvectors of a symmetric matrix, which is overwritten, ascending; needs the least memory."""
    return np.asarray(scipy.linalg.eigh(gram.T, overwrite_a=True, check_finite=False, driver="evr")[1])


def symmetric_part(matrix: Array) -> Array:
    """(M + Mᵀ) / 2; the matrix itself where it is equal."""
    return matrix if np.array_equal(matrix, matrix.T) else (matrix + matrix.T) / 2


def is_definite(matrix: Array, least: float = 0.0) -> bool:
    """Whether Cholesky's algorithm finds no eigenvalue of a symmetric matrix at or below ``least``.

    It may miss one by rounding, within n ε times the trace. Only one triangle is read.
    """
    if not np.isfinite(least):
        return False
    shifted = np.array(matrix, dtype=float, order="C").T
    np.einsum("ii->i", shifted)[:] -= least
    triangle, failed = scipy.linalg.lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
    return not failed and bool(np.isfinite(np.diagonal(triangle)).all())


def lowest_eigenvalue(parts: Iterable[Array]) -> float:
    """The least eigenvalue of the symmetric parts of matrices; 0 where none is negative."""
    doubtful = (part for part in parts if len(part) == 1 or not is_definite(symmetric_part(part)))
    return min((0.0, *(float(eigh(part)[0][0]) for part in doubtful)))


def _whole(value: float, least: int, what: str, dims: int = 0) -> int:
    """A whole number that a program computed, cut off after the point: of entries in each of the dimensions.

    OptionError unless it is finite and at least the least; TooLargeError beyond a quarter of the limit.
    """
    if not least <= value < np.inf:
        raise OptionError(f"the size of this {what} is {value:g}, expected a number of at least {least}")
    require_memory((int(value),) * dims, what, share=4)
    return int(value)


def eye(size: float) -> Array:
    """Identity matrix."""
    return np.eye(_whole(size, 0, "identity matrix", 2))


def ones(size: float) -> Array:
    """Vector of ones."""
    return np.ones(_whole(size, 0, "vector of ones", 1))


def diag(a: Array) -> Array:
    """Vector to diagonal matrix, matrix to its diagonal."""
    if a.ndim == 1:
        require_memory((len(a), len(a)), "diagonal matrix", share=2)
    return np.diag(a) if a.ndim == 1 else np.diag(a).copy()


def solve(matrix: Array, right: Array) -> Array:
    """``inv(matrix) @ right`` for a symmetric psd matrix, else by LU.

    Where ``matrix`` is singular the closed convex extension holds: the pseudo-inverse if the
    columns of ``right`` lie in its range (to ``RANGE_TOLERANCE``, relative), else infinity.
    """
    if not np.isfinite(matrix).all():
        return np.full(np.shape(right), np.inf)
    if not (
        np.array_equal(matrix, matrix.T)
        or np.allclose(matrix, matrix.T, rtol=1e-12, atol=1e-14 * float(np.abs(matrix).max(initial=0.0)))
    ):
        try:
            return np.asarray(np.linalg.solve(matrix, right))
        except np.linalg.LinAlgError:
            return np.full(np.shape(right), np.inf)
    try:
        return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrix, lower=True), right))
    except np.linalg.LinAlgError:
        values, vectors = eigh(matrix)
        tiny = len(values) * EPS * float(np.abs(values).max(initial=0.0))
        positive = values > tiny
        outside = vectors[:, ~positive].T @ right
        negative = bool((values < -tiny).any())
        if negative or np.abs(outside).max(initial=0.0) > RANGE_TOLERANCE * np.abs(right).max(initial=0.0):
            return np.full(np.shape(right), np.inf)
        inside = vectors[:, positive]
        return np.asarray(inside @ ((inside.T @ right).T / values[positive]).T)


def inv(matrix: Array) -> Array:
    """The inverse; infinity everywhere when it does not exist."""
    return solve(matrix, np.eye(len(matrix)))


def root(matrix: Array) -> Array:
    """The symmetric psd square root; a row of zeros keeps its zeros."""
    values, vectors = eigh(matrix)
    square_root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    used = matrix.any(axis=0)
    return np.where(np.outer(used, used), square_root, 0.0)


def factor(matrix: Array) -> Array:
    """F with FᵀF = matrix, of full row rank: eigenvalues that are zero in floats are dropped.

    An upper triangle where there are none, which costs a tenth of the eigenvectors.
    """
    if is_definite(matrix, len(matrix) * EPS * float(np.trace(matrix))):
        return np.asarray(scipy.linalg.cholesky(matrix, check_finite=False))
    values, vectors = eigh(matrix)
    positive = values > len(values) * EPS * max(float(values[-1]), 0.0)
    return np.sqrt(values[positive])[::-1, None] * vectors.T[positive][::-1]


def polar(matrix: Array) -> Array:
    """The orthogonal matrix nearest to a square one: U Vᵀ of its singular value decomposition.

    Not a number everywhere when the matrix has entries that are not finite.
    """
    if not np.isfinite(matrix).all():
        return np.full(matrix.shape, np.nan)
    u, _, vt = np.linalg.svd(matrix)
    return np.asarray(u @ vt)


def psd_floor(matrix: Array, largest: float | None = None) -> Array:
    """The symmetric part, eigenvalues at least ``EIGENVALUE_FLOOR`` times ``largest`` (None: its largest)."""
    symmetric = symmetric_part(matrix)
    # The trace is at least the largest eigenvalue where the rest is not negative: if all are above its floor,
    # there is none to lift.
    if is_definite(
        symmetric, EIGENVALUE_FLOOR * (float(np.trace(symmetric)) if largest is None else largest)
    ):
        return symmetric
    values, vectors = eigh(symmetric)
    floor = EIGENVALUE_FLOOR * max(float(values[-1]) if largest is None else largest, 0.0)
    low = values < floor
    if not low.any():
        return symmetric
    lifted = symmetric + (vectors[:, low] * (floor - values[low])) @ vectors[:, low].T
    return (lifted + lifted.T) / 2


def stack(top: Array, bottom: Array) -> Array:
    """One matrix on the other, without rows of zeros, which measure nothing."""
    require_memory((len(top) + len(bottom), top.shape[1]), "stack of two matrices", share=2)
    parts = [(part, (part != 0.0).any(axis=1)) for part in (top, bottom)]
    return np.vstack([part if kept.all() else part[kept] for part, kept in parts])


def used_rows(matrix: Array, amount: Array) -> Array:
    """The rows whose amount is not zero (in floats, relative to the largest)."""
    used = amount > len(amount) * EPS * amount.max(initial=0.0)
    return matrix if used.all() else np.asarray(matrix[used])


def consecutive(entries: Array, size: float) -> Array:
    """Membership (groups, entries) of groups of ``size`` consecutive entries; the last may be smaller."""
    return _groups(np.arange(len(entries)) // min(_whole(size, 1, "group"), len(entries)))


def leading(entries: Array, count: float) -> Array:
    """Membership of the first ``count`` entries, each alone, and of the others together."""
    return _groups(np.minimum(np.arange(len(entries)), min(_whole(count, 0, "groups of one"), len(entries))))


def toeplitz(column: Array) -> Array:
    """The lower-triangular matrix (n, n) that is the same along each diagonal, of its first column."""
    require_memory((len(column), len(column)), "Toeplitz matrix", share=2)
    return np.asarray(scipy.linalg.toeplitz(np.asarray(column, dtype=float), np.zeros(len(column))))


def windows(entries: Array, size: float) -> Array:
    """Membership (runs, entries) of all runs of ``size`` consecutive entries; one where they are fewer."""
    run = min(_whole(size, 1, "window"), len(entries))
    require_memory((len(entries) - run + 1, len(entries)), "matrix of windows", share=2)
    after = np.arange(len(entries)) - np.arange(len(entries) - run + 1)[:, None]
    return np.asarray((after >= 0) & (after < run), dtype=float)


def _groups(group: Ints) -> Array:
    """Membership by the number of each entry's group."""
    require_memory((int(group.max(initial=0)) + 1, len(group)), "matrix of groups", share=2)
    return np.asarray(group == np.arange(group.max(initial=0) + 1)[:, None], dtype=float)


def support(entries: Array) -> Array:
    """1 where an entry is above ``CLEAR_MULTIPLIER`` times the largest; none when no entry is positive."""
    return np.asarray(entries > CLEAR_MULTIPLIER * max(float(entries.max(initial=0.0)), 0.0), dtype=float)


def block(rows: Sequence[Sequence[tuple[Array, bool]]]) -> Array:
    """A block matrix; each entry comes with whether it is a row vector. Columns and numbers make a column."""
    parts = [
        [np.atleast_2d(e) if is_row or np.ndim(e) != 1 else np.reshape(e, (-1, 1)) for e, is_row in row]
        for row in rows
    ]
    shape = sum(row[0].shape[0] for row in parts), sum(part.shape[1] for part in parts[0])
    require_memory(shape, "block matrix", share=2)
    is_column = len(rows) > 1 and all(np.ndim(e) + is_row < 2 for row in rows for e, is_row in row)
    return np.block(parts)[:, 0] if is_column and len(rows[0]) == 1 else np.block(parts)


def length(a: Array, axis: int | None = None) -> Any:
    """The root of the sum of squares, of all entries or along an axis; only zeros have length 0.

    Numbers with tiny squares are scaled first.
    """
    lengths = np.sqrt(np.sum(np.square(a), axis=axis))
    if np.all(lengths > LEAST_LENGTH):
        return lengths
    largest = np.max(np.abs(a), axis=axis, keepdims=True, initial=0.0)
    size = np.where(largest > 0, largest, 1.0)
    scaled = np.sqrt(np.sum(np.square(a / size), axis=axis)) * np.squeeze(size, axis=axis)
    return np.where(lengths > LEAST_LENGTH, lengths, scaled)[()]


def logdet(matrix: Array) -> float:
    """The logarithm of the determinant of a psd matrix; -inf where it may be positive only by rounding."""
    diagonal = np.diagonal(matrix)
    if not (np.isfinite(matrix).all() and (diagonal > 0).all()):
        return -float("inf")
    roots = np.sqrt(diagonal)
    values = eigh(matrix / roots / roots[:, None])[0]
    is_definite = (values > len(values) * EPS).all()
    return float(np.log(values).sum() + 2 * np.log(roots).sum()) if is_definite else -float("inf")


def huber(a: Any, limit: float) -> Any:
    """Huber's function: the square up to the limit, beyond it the straight line with the same slope."""
    near = np.minimum(np.abs(a), limit)
    return near * (2.0 * np.abs(a) - near)


def shares_of_largest(a: Array, k: float) -> Array:
    """1 for the ``k`` largest entries, else 0; equal ones share what is left of ``k``, a fraction too."""
    number = min(k, np.size(a))
    least = np.sort(a, axis=None)[-max(1, math.ceil(number))]
    above, level = np.greater(a, least), np.equal(a, least)
    return np.asarray(above + level * ((number - above.sum()) / level.sum()), dtype=float)


@dataclass(frozen=True)
class Diagonal:
    """A diagonal matrix by its diagonal: an array, a ball, or a vector that is constant on orbits."""

    entries: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(np.shape(self.entries)) * 2


def is_identity(a: Array) -> bool:
    """Whether a matrix is the identity, to the last digit."""
    is_square = a.ndim == 2 and a.shape[0] == a.shape[1]
    return is_square and bool((np.diagonal(a) == 1.0).all()) and int(np.count_nonzero(a)) == len(a)


def times(left: Array | Diagonal, right: Array | Diagonal) -> Array | Diagonal:
    """The matrix product, without forming diagonal matrices."""
    if isinstance(left, Diagonal):
        if isinstance(right, Diagonal):
            return Diagonal(left.entries * right.entries)
        return np.asarray((left.entries if right.ndim == 1 else left.entries[:, None]) * right)
    if isinstance(right, Diagonal):
        return np.asarray(left * right.entries)
    if left.ndim == right.ndim == 2:
        if is_identity(right):
            return left
        if is_identity(left):
            return right
        require_memory((left.shape[0], right.shape[1]), "product of two matrices", share=2)
    return np.asarray(left @ right)


def whole(a: Array | Diagonal) -> Array:
    """The matrix itself."""
    return diag(a.entries) if isinstance(a, Diagonal) else a


def solved(left: Array | Diagonal | None, matrix: Array, right: Array | Diagonal | None) -> Array:
    """``left @ inv(matrix) @ right``, where None is no factor; infinite where there is no inverse."""
    if right is None:
        return inv(matrix) if left is None else solve(matrix.T, whole(left).T).T
    solution = solve(matrix, whole(right))
    if left is None:
        return solution
    if np.isfinite(solution).all():
        return whole(times(left, solution))
    return np.full(np.shape(whole(times(left, np.zeros_like(solution)))), np.inf)


def diagonal_of_product(left: Array | Diagonal, right: Array | Diagonal) -> Array:
    """The diagonal of the product of two matrices, without the product."""
    if isinstance(left, Diagonal) or isinstance(right, Diagonal):
        one, other = (s.entries if isinstance(s, Diagonal) else np.diagonal(s) for s in (left, right))
        return np.asarray(one * other)
    return np.asarray(np.einsum("ij,ji->i", left, right))


def diagonal_of_solved(left: Array | Diagonal, matrix: Array, right: Array | Diagonal) -> Array:
    """The diagonal of ``left @ inv(matrix) @ right`` of matrices, without the product."""
    solution = solve(matrix, whole(right))
    is_finite = np.isfinite(solution).all()
    return diagonal_of_product(left, solution) if is_finite else np.full(left.shape[0], np.inf)
