"""Largest and smallest eigenvalues, singular values and log-determinants, with proof (see ``balls``).

Eigenvalues. Let V be computed eigenvectors and L a diagonal matrix of floats. By Weyl the eigenvalues of A
and of V L Vᵀ differ by at most ‖A - V L Vᵀ‖, and by Ostrowski (Horn & Johnson, Matrix Analysis, 4.5.9) those
of V L Vᵀ are those of L times factors within ‖VᵀV - I‖ of 1.

Log-determinants. Let R be about the inverse of A's Cholesky factor: det A = det(R A Rᵀ) / det(R)²,
and R A Rᵀ = I + E with a small E. For ‖E‖ <= d < 1 every eigenvalue x of E has x - x² / (2 (1 - d)) <=
log(1 + x) <= x (the Taylor series), so that log det(I + E) is at most tr E and at least that less
‖E‖_F² / (2 (1 - d)).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mmopt.numerics import balls, matrix_functions
from mmopt.numerics.arrays import Array
from mmopt.numerics.ball_functions import log, symmetric
from mmopt.numerics.balls import GROW, Ball, exact, matmul, norm, rounded, sub, transpose, unknown

__all__ = ["largest_eigenvalue", "largest_singular_value", "log_determinant", "smallest_eigenvalue"]


def _eigenvalue(a: Ball, at: int) -> Ball:
    """The eigenvalue of the symmetric matrices in the ball that stands at a place of their order."""
    m = symmetric(a)
    if not (np.isfinite(m.mid).all() and np.isfinite(m.rad).all()):
        return unknown(0.0)
    values, vectors = matrix_functions.eigh(m.mid)
    v = exact(vectors)
    scaled = matmul(balls.mul(v, exact(values[None, :])), transpose(v))
    turned = norm(sub(matmul(transpose(v), v), exact(np.eye(len(values)))))
    return rounded(values[at], norm(sub(m, scaled)) + turned * abs(values[at]) * GROW)


def largest_eigenvalue(a: Ball) -> Ball:
    return _eigenvalue(a, -1)


def smallest_eigenvalue(a: Ball) -> Ball:
    return _eigenvalue(a, 0)


def largest_singular_value(a: Ball) -> Ball:
    """The root of the largest eigenvalue of the smaller Gram matrix, which is never negative."""
    wide = a if a.mid.shape[0] <= a.mid.shape[1] else transpose(a)
    return balls.sqrt(largest_eigenvalue(matmul(wide, transpose(wide))))


def log_determinant(a: Ball) -> Ball:
    """Of symmetric matrices that are proved to be positive definite; of others nothing is known."""
    m = symmetric(a)
    inverted = _inverse_factor(m.mid)
    if inverted is None:
        return unknown(0.0)
    r, eye = exact(inverted), exact(np.eye(len(m.mid)))
    off = sub(matmul(matmul(r, m), transpose(r)), eye)
    size = norm(off)
    if not size < 1:
        return unknown(0.0)
    above = balls.trace(off)
    slack = size * size / (2 * (1 - size)) * GROW
    diagonal = balls.total(log(exact(np.diagonal(inverted))))
    return sub(rounded(above.mid - slack / 2, above.rad + slack / 2), balls.add(diagonal, diagonal))


def _inverse_factor(m: Array) -> Array | None:
    """A triangular matrix of positive diagonal that is about the inverse of a Cholesky factor, or None."""
    if not np.isfinite(m).all():
        return None
    try:
        factor = np.linalg.cholesky(m)
    except np.linalg.LinAlgError:
        return None
    found = np.tril(scipy.linalg.solve_triangular(factor, np.eye(len(m)), lower=True, check_finite=False))
    return found if np.isfinite(found).all() and (np.diagonal(found) > 0).all() else None
