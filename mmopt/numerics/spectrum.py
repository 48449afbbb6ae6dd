"""Eigenvalues and eigenvectors of a Gram matrix RᵀR, from R."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mmopt.numerics.arrays import Array, svd

__all__ = ["LARGE", "spectrum"]

LARGE = 1024
"""From so many columns on the Gram matrix is formed: a third of the time and of the memory."""

# If an eigenvalue is below this part of the largest, the Gram matrix, whose rounding errors are at some
# 1e-16 of the largest, is not good enough.
SMALL = 1e-9


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
