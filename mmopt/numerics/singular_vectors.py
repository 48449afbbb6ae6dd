"""Singular vectors from the eigenvectors of a Gram matrix, the small ones too; its spectrum from its root.

Squaring costs half of the digits, so that of K V with V the eigenvectors of KᵀK only the columns that are not
short next to the longest are near singular vectors times singular values. The short ones are freed of what
they have of the others and decomposed once more, among themselves, and so on: where sizes spread over many
decades small singular values come out right next to themselves, not only next to the largest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from array_api_compat import array_namespace as namespace

from mmopt.numerics.arrays import panels, svd

__all__ = ["LARGE", "eigen", "graded", "lengths", "panels", "spectrum"]

Array = Any  # of any library that follows the array API standard

# Columns that are shorter than the longest by this factor have lost too many digits to the squares.
CLEAR = 1e-4
ROUNDS = 4  # until nothing above rounding is left
LARGE = 1024
"""From so many columns on the Gram matrix is formed: a third of the time and of the memory."""

# If an eigenvalue is below this part of the largest, the Gram matrix, whose rounding errors are at some
# 1e-16 of the largest, is not good enough.
SMALL = 1e-9


def graded(y: Array, vectors: Array) -> tuple[Array, int]:
    """Directions, and lengths (p,), of the columns of Y = K V, from the shortest on; both are written over.

    y : (q, p), K V in any order of memory; afterwards its columns are nearly orthonormal. What is no more
        than rounding has the direction 0.
    vectors : V (p, p), eigenvectors of KᵀK in ascending order. The first ones are turned among themselves.

    Returns the lengths, and the number of the vectors that were turned.
    """
    xp = namespace(y)
    sizes = lengths(y)
    count = turned = sizes.shape[0]
    noise = 2.0 * float(xp.finfo(y.dtype).eps) * count**0.5 * float(xp.max(sizes))
    for number in range(ROUNDS):
        last = count
        clear = xp.nonzero(sizes[:last] >= max(CLEAR * float(xp.max(sizes[:last])), noise))[0]
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


def eigen(gram: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix, which is written over: memory.

    Raises
    ------
    numpy.linalg.LinAlgError : the algorithm does not converge.
    """
    if not isinstance(gram, np.ndarray):
        found = namespace(gram).linalg.eigh(gram)
        return found[0], found[1]
    values, vectors, failed = scipy.linalg.lapack.dsyevd(gram.T, lower=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("eigenvalues did not converge")
    return values, _transposed(vectors.T)  # LAPACK's order of memory is slow where rows are taken


def _transposed(square: Array) -> Array:
    """The transposed matrix, in the same place."""
    for here in panels(square.shape[0], 64):
        rest = slice(here.start, None)
        rows = square[here, rest].copy()
        square[here, rest] = square[rest, here].T
        square[rest, here] = rows.T
    return square


def lengths(y: Array) -> Array:
    """Lengths of the columns, without a second matrix."""
    xp = namespace(y)
    return xp.sqrt(sum(xp.sum(y[here, :] ** 2, axis=0) for here in panels(y.shape[0])))


def spectrum(root: Array) -> tuple[Array, Array]:
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
        found = np.square(root @ rows.T).sum(axis=0)
        if found.min() >= SMALL * found.max():
            order = np.argsort(-found, kind="stable")
            return found[order], rows[order]
        del columns, rows
    values, rows = svd(root)
    return np.square(values), rows
