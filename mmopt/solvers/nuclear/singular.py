"""Singular values that are right next to themselves, not only next to the largest."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from array_api_compat import array_namespace as namespace

__all__ = ["decomposed"]

Array = Any  # of any library that follows the array API standard

MOST = 256  # columns up to which Jacobi's method costs little
BOTH = 2  # what LAPACK calls 'F': small values are right whatever the scales of rows and of columns


def decomposed(k: Array) -> tuple[Array, Array, Array]:
    """U, s and Vᵀ of a matrix whose rows and columns have weights of very different sizes.

    By Jacobi's method (Drmač & Veselić 2008, New fast and accurate Jacobi SVD algorithm), which keeps the
    digits of small singular values that come from small weights. Larger matrices, and arrays of other
    libraries, have those of an ordinary decomposition; what is tall is first brought into a triangle, which
    takes less memory.
    """
    if k.shape[0] < k.shape[1]:
        left, values, right = decomposed(k.T)
        return right.T, values, left.T
    if isinstance(k, np.ndarray) and k.shape[1] <= MOST:
        found, left, right, scale, _, failed = scipy.linalg.lapack.dgejsv(k, joba=BOTH)
        if not failed:
            return left, found * (scale[0] / scale[1]), right.T
    xp = namespace(k)
    if k.shape[0] == k.shape[1]:
        return tuple(xp.linalg.svd(k, full_matrices=False))
    turn, k = xp.linalg.qr(k)
    left, values, right = xp.linalg.svd(k, full_matrices=False)
    return turn @ left, values, right
