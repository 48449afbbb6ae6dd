"""Error bounds of exponentials, logarithms and polar factors (see ``balls``)."""

from __future__ import annotations

import numpy as np

from mmopt.numerics import balls, numpy_forms
from mmopt.numerics.ball_spectra import smallest_eigenvalue
from mmopt.numerics.balls import GROW, POWER, Ball, exact, rounded, unknown
from mmopt.numerics.numpy_forms import Array

__all__ = ["exp", "log", "logsumexp", "polar"]


def _ends(a: Ball) -> tuple[Array, Array]:
    """The smallest and the largest number of the ball, rounded outward."""
    moved = a.rad > 0
    low = np.where(moved, np.nextafter(a.mid - a.rad, -np.inf), a.mid)
    return low, np.where(moved, np.nextafter(a.mid + a.rad, np.inf), a.mid)


def exp(a: Ball) -> Ball:
    """By its ends: it increases."""
    low, high = map(np.exp, _ends(a))
    mid = np.exp(a.mid)
    return rounded(mid, np.maximum(high - mid, mid - low) + POWER * (mid + high))


def log(a: Ball) -> Ball:
    """By its ends, of what is proved to be positive."""
    known = _ends(a)[0] > 0
    low, high = (np.log(np.where(known, end, 1.0)) for end in _ends(a))
    mid = np.log(np.where(known, a.mid, 1.0))
    spread = np.maximum(high - mid, mid - low) + POWER * (np.abs(mid) + np.abs(low) + np.abs(high))
    return rounded(mid, np.where(known, spread, np.inf))


def logsumexp(a: Ball, axis: int | None = None) -> Ball:
    """With the largest midpoint taken out, so that nothing overflows."""
    top = np.max(a.mid, axis=axis, keepdims=True)
    if not np.isfinite(top).all():
        return unknown(numpy_forms.logsumexp(a.mid, axis=axis))
    sums = balls.total(exp(balls.sub(a, exact(top))), axis=axis)
    return balls.add(log(sums), exact(top.reshape(sums.mid.shape)))


def polar(a: Ball) -> Ball:
    """The orthogonal factor of a square matrix that is proved to be invertible.

    Let P be computed, H a symmetric positive definite matrix, and Q the exact orthogonal factor of P. Then
    ‖P - Q‖ <= ‖PᵀP - I‖ (singular values: |s - 1| <= |s² - 1|), and Q H has the orthogonal factor Q. For
    A = Q' H' the difference D = I - Q'ᵀQ solves H' D + D H = Q'ᵀE - EᵀQ with E = A - Q H, so that
    ‖Q' - Q‖_F <= 2 ‖E‖_F / (λ(H') + λ(H)), λ the smallest eigenvalues.
    """
    if not (np.isfinite(a.mid).all() and np.isfinite(a.rad).all()):
        return unknown(np.zeros(a.mid.shape))
    p = exact(numpy_forms.polar(a.mid))
    middle = p.mid.T @ a.mid
    h = exact((middle + middle.T) / 2)
    least = smallest_eigenvalue(h)
    if least <= 0:
        return unknown(p.mid)
    gram = balls.sub(balls.matmul(balls.transpose(p), p), exact(np.eye(len(p.mid))))
    skew = _norm(gram)  # of P from orthogonal
    away = _norm(balls.sub(a, balls.matmul(p, h))) + skew * _norm(h)  # of A from Q H
    other = max(0.0, least - away)  # λ(H') is the smallest singular value of A
    moved = skew + 2.0 * away / (least + other)
    return rounded(p.mid, np.full(p.mid.shape, moved * GROW))


def _norm(a: Ball) -> float:
    """At least the Frobenius norm of every matrix in the ball."""
    return float(np.linalg.norm(np.abs(a.mid) + a.rad)) * GROW
