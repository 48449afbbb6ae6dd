"""Eigenvalues and eigenvectors of a Gram matrix RᵀR, from R."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mmopt.queries.arrays import Array, svd

__all__ = ["LARGE", "spectrum"]

LARGE = 1024
"""From so many columns on the Gram matrix is formed: a third of the time and of the memory."""

# Below this part of the largest, eigenvalues are not left to the Gram matrix, whose rounding errors are at
# some 1e-16 of the largest.
SMALL = 1e-8


def spectrum(root: Array) -> tuple[Array, Array]:
    """Eigenvalues (k,), descending, and orthonormal eigenvectors (k, n) as rows, k = min(p, n), of R (p, n).

    Up to ``LARGE`` columns, or where R has fewer rows, by the singular values of R. Beyond, by the
    eigenvectors V of RᵀR: the eigenvalues are then the squared lengths of R V, in which errors of V count
    squared, and the space of the small ones is solved again by the singular values of R on it.
    """
    p, n = root.shape
    if n < LARGE or p < n:
        values, rows = svd(root)
        return np.square(values), rows
    gram = root.T @ root
    _, columns = scipy.linalg.eigh(gram.T, driver="evd", overwrite_a=True, check_finite=False)
    del gram
    rows = np.ascontiguousarray(columns[:, ::-1].T)
    del columns
    found = np.square(root @ rows.T).sum(axis=0)
    small = found < SMALL * found[0]
    if small.any():
        first = int(np.argmax(small))
        lengths, turn = svd(root @ rows[first:].T)
        rows[first:] = turn @ rows[first:]
        found[first:] = np.square(lengths)
    order = np.argsort(-found, kind="stable")
    return found[order], rows[order]
