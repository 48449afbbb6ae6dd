"""Pseudo-inverse, rank and singular vectors of matrices.

Pseudo-inverse and rank need no singular value decomposition where there is a cheaper proof of full rank:
orthogonal rows (eigen-queries, wavelets), then a well-conditioned triangle.

Singular vectors, the small ones too, come from the eigenvectors of a Gram matrix; its spectrum from its root.
Squaring costs half of the digits, so that of K V with V the eigenvectors of KᵀK only the columns that are not
short relative to the longest are near singular vectors times singular values. From the short ones their parts
along the others are removed, and they are decomposed once more, among themselves, and so on: where sizes
spread over many decades, small singular values are right relative to themselves, not only to the largest.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg
from array_api_compat import array_namespace as namespace

from mmopt.numerics.arrays import EPS, Array, panels, qr, svd

LibraryArray = Any  # of any library that follows the array API standard

# Columns that are shorter than the longest by this factor have lost too many digits to the squares.
SHORT = 1e-4
ROUNDS = 4  # until nothing above rounding is left
LARGE = 1024
"""From so many columns on the Gram matrix is formed: a third of the time and of the memory."""

# If an eigenvalue is below this part of the largest, the Gram matrix, whose rounding errors are at some
# 1e-16 of the largest, is not good enough.
FAINT = 1e-9


def graded(y: LibraryArray, vectors: LibraryArray) -> tuple[LibraryArray, int]:
    """Directions, and lengths (p,), of the columns of Y = K V, from the shortest on; both are overwritten.

    y : (q, p), K V in any order of memory; afterwards its columns are nearly orthonormal. A column that is
        only rounding has the direction 0.
    vectors : V (p, p), eigenvectors of KᵀK in ascending order. The first ones are rotated among themselves.

    Returns the lengths, and the number of the vectors that were rotated.
    """
    xp = namespace(y)
    sizes = lengths(y)
    count = turned = sizes.shape[0]
    noise = 2.0 * float(xp.finfo(y.dtype).eps) * count**0.5 * float(xp.max(sizes))
    for number in range(ROUNDS):
        last = count
        clear = xp.nonzero(sizes[:last] >= max(SHORT * float(xp.max(sizes[:last])), noise))[0]
        count = int(clear[0]) if clear.shape[0] else last
        turned = count if number == 0 else turned
        y[:, count:last] /= xp.clip(sizes[count:last], noise, None)
        if not bool(xp.any(sizes[:count] > noise)):
            break
        y[:, :count] -= y[:, count:] @ (y[:, count:].T @ y[:, :count])
        turn = eigen(y[:, :count].T @ y[:, :count])[1]
        y[:, :count] = y[:, :count] @ turn
        vectors[:, :count] = vectors[:, :count] @ turn
        sizes[:count] = lengths(y[:, :count])
    y[:, :count] = 0.0
    return sizes, turned


def eigen(gram: LibraryArray) -> tuple[LibraryArray, LibraryArray]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix, which is overwritten: memory.

    Raises
    ------
    numpy.linalg.LinAlgError : the algorithm does not converge.
    """
    if not isinstance(gram, np.ndarray):
        result = namespace(gram).linalg.eigh(gram)
        return result[0], result[1]
    values, vectors, failed = scipy.linalg.lapack.dsyevd(gram.T, lower=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("eigenvalues did not converge")
    return values, _transposed(vectors.T)  # LAPACK's order of memory is slow for access by rows


def _transposed(square: LibraryArray) -> LibraryArray:
    """The transposed matrix, in the same place."""
    for here in panels(square.shape[0], 64):
        rest = slice(here.start, None)
        rows = square[here, rest].copy()
        square[here, rest] = square[rest, here].T
        square[rest, here] = rows.T
    return square


def lengths(y: LibraryArray) -> LibraryArray:
    """Lengths of the columns, without a second matrix."""
    xp = namespace(y)
    return xp.sqrt(sum(xp.sum(y[here, :] ** 2, axis=0) for here in panels(y.shape[0])))


def spectrum(root: LibraryArray) -> tuple[LibraryArray, LibraryArray]:
    """Eigenvalues (k,), descending, and orthonormal eigenvectors (k, n) as rows, k = min(p, n), of R (p, n).

    By the singular values of R; with more than ``LARGE`` columns and a moderate condition by the eigenvectors
    V of RᵀR. The eigenvalues are then the squared lengths of R V, in which errors of V count squared.
    """
    p, n = root.shape
    if n >= LARGE and p >= n:
        gram = root.T @ root
        _, columns = scipy.linalg.eigh(gram.T, driver="evd", overwrite_a=True, check_finite=False)
        del gram
        rows = columns[:, ::-1].T
        squares = np.square(root @ rows.T).sum(axis=0)
        if squares.min() >= FAINT * squares.max():
            order = np.argsort(-squares, kind="stable")
            return squares[order], rows[order]
        del columns, rows
    values, rows = svd(root)
    return np.square(values), rows


# Rows of unit length are orthogonal when their Gram matrix is the identity to this, in the Frobenius norm:
# the pseudo-inverse that is used then has no larger relative error.
ORTHOGONAL = 1e-12
# A triangle whose reciprocal condition is estimated above this has full rank: estimates are seldom wrong by
# more than a factor of ten, and the smallest singular value that counts is at some 1e-12 of the largest.
FULL = 1e-7
CLEAR = 1e-4  # and above this loses nothing by being squared
FEW = 2**9  # entries of a matrix whose rank is computed in fractions
EVEN, SMALL = 0.05, 128  # up to so many columns coordinates cost little, and solvers gain already above this


def pinv(matrix: Array) -> Array:
    """The pseudo-inverse; singular values count as zero by the same rule as for strategies and workloads."""
    if matrix.shape[0] > matrix.shape[1]:
        return np.asarray(pinv(matrix.T).T)
    squares = _orthogonal(matrix)
    if squares is not None:
        return np.asarray((matrix / squares[:, None]).T)
    if not np.isfinite(matrix).all():
        return np.full(matrix.T.shape, np.nan)
    basis, triangle = scipy.linalg.qr(matrix.T, mode="economic", check_finite=False)
    if _is_full(triangle):
        # matrix = triangle.T @ basis.T
        return np.asarray(scipy.linalg.solve_triangular(triangle, basis.T, check_finite=False).T)
    return np.asarray(np.linalg.pinv(matrix, rcond=8 * max(matrix.shape) * EPS))


def counted(values: Array, shape: tuple[int, ...]) -> Any:
    """Which singular values of a matrix of a shape count: those above 8 max(p, n) ε times the largest."""
    return values > 8 * max(shape) * EPS * values.max(initial=0.0)


def pseudo_factors(matrix: Array) -> tuple[Array, Array]:
    """D (n, k) with D Dᵀ = (AᵀA)⁺, k the rank, and an orthonormal basis (n, n - k) of A's null space.

    From a QR factorisation of A or Aᵀ where that shows full rank beyond doubt: A = Q T gives D = T⁻¹, and
    Aᵀ = Q T gives D = Q T⁻ᵀ. Else from the singular value decomposition: D = V/s, where singular values
    below 8 max(p, n) ε times the largest count as zero.
    """
    factors = _factors_by_qr(matrix)
    if factors is not None:
        return factors
    values, rows = svd(matrix, full=True)
    k = int(counted(values, matrix.shape).sum())
    return (rows[:k] / values[:k, None]).T, rows[k:].T


def _factors_by_qr(matrix: Array) -> tuple[Array, Array] | None:
    p, n = matrix.shape
    if p == n == 1 and matrix[0, 0]:
        return 1.0 / matrix, np.zeros((1, 0))
    if p >= n:
        inverse = _inverse_of_triangle(qr(matrix))
        return None if inverse is None else (inverse, np.zeros((n, 0)))
    columns, triangle = scipy.linalg.qr(matrix.T)
    inverse = _inverse_of_triangle(triangle[:p])
    # The null space is copied: a view would keep all columns in memory.
    return None if inverse is None else (columns[:, :p] @ inverse.T, columns[:, p:].copy())


def _inverse_of_triangle(triangle: Array) -> Array | None:
    """T⁻¹ of an upper triangle whose condition is below ``1 / FULL``; else None."""
    turned, singular = scipy.linalg.lapack.dtrtri(triangle.T, lower=1)
    with np.errstate(over="ignore"):  # an inverse that overflows is none
        is_clear = np.linalg.norm(triangle) * np.linalg.norm(turned) < 1 / FULL
    if singular or not is_clear:
        return None
    return np.asarray(turned.T, dtype=np.float64)


def rank(matrix: Array) -> int:
    """The rank: singular values above ``max(shape)`` machine precisions of the largest."""
    return min(matrix.shape) if has_full_rank(matrix) else int(np.linalg.matrix_rank(matrix))


def has_full_rank(matrix: Array) -> bool:
    """Whether the rank is clearly ``min(shape)``; False: undecided."""
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    return bool(np.isfinite(wide).all()) and (
        _orthogonal(wide) is not None or _is_full(scipy.linalg.qr(wide.T, mode="r", check_finite=False)[0])
    )


def has_independent_columns(matrix: Array) -> bool:
    """Whether a QR factorisation shows full column rank beyond doubt; False: undecided."""
    p, n = matrix.shape
    return p >= n and _is_full(qr(matrix))


def row_basis(matrix: Array) -> Array:
    """Independent rows N (k, n) with the row space of A (p, n): the identity where A is well-conditioned.

    Else the columns of A Nᵀ are orthogonal up to rounding, and as long as A's largest singular value: in
    these coordinates AᵀA is a multiple of the identity, so that small singular values of A are not squared.
    """
    if len(matrix) >= matrix.shape[1]:
        triangle = scipy.linalg.qr(matrix, mode="r", check_finite=False)[0]
        if _is_full(triangle, CLEAR if matrix.shape[1] > SMALL else EVEN):
            return np.eye(matrix.shape[1])
    _, values, rows = np.linalg.svd(matrix, full_matrices=False)
    kept = counted(values, matrix.shape)
    return np.asarray(rows[kept] * (values[0] / values[kept, None]))


def has_rank(matrix: Array, kept: int) -> bool:
    """Whether the rank is proved to be at most this: by equal columns and zeros, or in fractions if few."""
    distinct = np.unique(matrix[:, matrix.any(axis=0)], axis=1)
    if min(distinct.shape) <= kept:
        return True
    if distinct.size > FEW or not np.isfinite(distinct).all():
        return False
    rows = [[Fraction(x) for x in row] for row in distinct.tolist()]
    for column in range(distinct.shape[1]):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        kept -= 1
        by = [row[column] / pivot[column] for row in rows]
        rows = [[x - f * y for x, y in zip(row, pivot, strict=True)] for row, f in zip(rows, by, strict=True)]
    return kept >= 0


def _orthogonal(matrix: Array) -> Array | None:
    """Squared lengths of the rows if they are orthogonal, else None."""
    gram = matrix @ matrix.T
    squares = np.diag(gram).copy()
    if not (np.isfinite(squares).all() and squares.min(initial=1.0) > 0):
        return None
    if squares.min(initial=1.0) < FULL**2 * squares.max(initial=0.0):
        return None  # whether small rows count as zero relative to the largest is not decided here
    norms = np.sqrt(squares)
    gram /= norms
    gram /= norms[:, None]
    np.fill_diagonal(gram, 0.0)
    return squares if np.linalg.norm(gram) <= ORTHOGONAL else None


def _is_full(triangle: Array, least: float = FULL) -> bool:
    """Whether an upper triangle is clearly not singular (LAPACK's estimate of its condition)."""
    square = triangle[: triangle.shape[1]]
    if square.shape[0] < square.shape[1] or 0 in square.shape:
        return False
    condition, _ = scipy.linalg.lapack.dtrcon(square)
    return bool(condition > least)
