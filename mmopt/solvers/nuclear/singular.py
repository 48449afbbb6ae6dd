"""Singular values that are right next to themselves, not only next to the largest."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from mmopt.numerics.singular_vectors import graded, panels

__all__ = ["decomposed"]

Array = Any  # of any library that follows the array API standard

MOST = 256  # columns up to which Jacobi's method costs little
BOTH = 2  # what LAPACK calls 'F': small values are right whatever the scales of rows and of columns


def decomposed(k: Array, vectors: Array) -> tuple[Array, Array, Array]:
    """U, s (ascending or nearly so) and V of a matrix whose rows and columns have very different weights.

    ``vectors``: eigenvectors of the smaller Gram matrix, ascending. They and K may be written over.

    By Jacobi's method (Drmač & Veselić 2008, New fast and accurate Jacobi SVD algorithm), which keeps the
    digits of small singular values that come from small weights; of larger matrices, and arrays of other
    libraries, from the vectors given (``graded``).
    """
    if k.shape[0] < k.shape[1]:
        left, values, right = decomposed(k.T, vectors)
        return right, values, left
    if isinstance(k, np.ndarray) and k.shape[1] <= MOST:
        values, left, right, scale, _, failed = scipy.linalg.lapack.dgejsv(k, joba=BOTH)
        if not failed:
            order = slice(None, None, -1)
            return left[:, order].copy(), values[order] * (scale[0] / scale[1]), right[:, order].copy()
    for here in panels(k.shape[0]):
        k[here, :] = k[here, :] @ vectors
    values, _ = graded(k, vectors)
    return k, values, vectors
