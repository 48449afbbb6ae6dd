"""The running examples of PODS 2010, and what the paper computes of a strategy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from instances import Array

from mmopt.workloads import factors_and_products

__all__ = ["EPSILON", "EXAMPLES", "H4", "Y4", "exact_profile", "l1", "profile"]

EPSILON = 0.7
"""Where a formula has one: both sides hold for any."""

I4, H4, Y4 = (
    make(4).matrix()
    for make in (
        factors_and_products.identity,
        factors_and_products.hierarchy,
        factors_and_products.haar,
    )
)
EXAMPLES = {"I₄": I4, "H₄": H4, "Y₄": Y4}


def l1(A: Array) -> float:
    """Proposition 1: the largest L1 norm of a column."""
    return float(np.abs(A).sum(axis=0).max())


def profile(A: Array) -> Array:
    """Definition 4.6."""
    return np.asarray(np.linalg.inv(A.T @ A), dtype=np.float64)


def exact_profile(A: Array) -> list[list[Fraction]]:
    """The error profile of a matrix of whole numbers, by Gauss-Jordan elimination in fractions."""
    n = A.shape[1]
    left = [[Fraction(int(v)) for v in row] for row in A.T @ A]
    rows = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(left)]
    for i in range(n):
        rows[i] = [v / rows[i][i] for v in rows[i]]  # the leading minors of a positive definite matrix
        for j in set(range(n)) - {i}:
            rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[n:] for row in rows]
