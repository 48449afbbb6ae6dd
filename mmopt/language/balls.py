"""Numbers with a proved error bound: a midpoint and a radius for every entry.

An objective is rounded up and a bound rounded down by the radius of their own evaluation, so that
bound <= objective holds in floating point. Givens and the (repaired) solution count as exact; every
operation after them adds its rounding error by the standard model |fl(a op b) - (a op b)| <= u |a op b|
and gamma_k = k u / (1 - k u) for sums of k terms (Higham, Accuracy and Stability, chapter 3), and
passes on the radius of what came in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.language import numeric
from mmopt.language.numeric import Array
from mmopt.language.residual import residual

__all__ = ["Ball", "exact", "rounded", "unknown"]

U = float(np.finfo(float).eps) / 2
GROW = 1.0 + 1e-9  # radii are themselves rounded; this covers it
TINY = 1e-300  # covers products too small for a float
POWER = 16 * U  # no libm in use is off by more in pow


def gamma(k: int) -> float:
    """The error of a sum of k terms, relative to the sum of their absolute values."""
    return k * U / (1.0 - k * U)


@dataclass(frozen=True)
class Ball:
    """Every array within ``rad`` of ``mid``, entry by entry."""

    mid: Array
    rad: Array

    @property
    def upper(self) -> Array:
        with np.errstate(invalid="ignore"):  # -inf + inf, which the condition leaves out
            return np.where(np.isinf(self.rad), np.inf, np.nextafter(self.mid + self.rad, np.inf))

    @property
    def lower(self) -> Array:
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(self.rad), -np.inf, np.nextafter(self.mid - self.rad, -np.inf))


def exact(value: Array | float) -> Ball:
    """A value that is known exactly."""
    mid = np.asarray(value, dtype=float)
    return Ball(mid, np.zeros(mid.shape))


def rounded(mid: Array | float, rad: Array | float) -> Ball:
    """A result of one operation: its own rounding error is added to the radius."""
    mid = np.asarray(mid, dtype=float)
    rad = np.asarray(rad, dtype=float) * GROW + U * np.abs(mid) + TINY
    # An infinite radius times zero, or a value that overflowed: nothing is known.
    return Ball(mid, np.where(np.isfinite(mid) & np.isfinite(rad), rad, np.inf))


def unknown(mid: Array | float) -> Ball:
    """A value of which nothing is proved."""
    mid = np.asarray(mid, dtype=float)
    return Ball(mid, np.full(mid.shape, np.inf))


def add(a: Ball, b: Ball) -> Ball:
    return rounded(a.mid + b.mid, a.rad + b.rad)


def sub(a: Ball, b: Ball) -> Ball:
    return rounded(a.mid - b.mid, a.rad + b.rad)


def neg(a: Ball) -> Ball:
    return Ball(-a.mid, a.rad)


def mul(a: Ball, b: Ball) -> Ball:
    return rounded(a.mid * b.mid, np.abs(a.mid) * b.rad + a.rad * np.abs(b.mid) + a.rad * b.rad)


def div(a: Ball, b: Ball) -> Ball:
    low = np.abs(b.mid) - b.rad
    safe = np.where(low > 0, low, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mid = a.mid / b.mid
        rad = (a.rad + np.abs(mid) * b.rad) / safe
    return rounded(mid, np.where(low > 0, rad, np.inf))


def power(a: Ball, b: Ball) -> Ball:
    """Whole powers by products, other ones of what is nonnegative by their ends."""
    exponent = float(b.mid)
    if exponent == 0.5:
        return sqrt(a)
    if exponent < 0:
        return div(exact(np.ones(a.mid.shape)), power(a, exact(-exponent)))
    if exponent == int(exponent) and exponent <= 64:
        out = exact(np.ones(a.mid.shape))
        for _ in range(int(exponent)):
            out = a if out.mid.size and not out.rad.any() and (out.mid == 1.0).all() else mul(out, a)
        return out
    low, high = np.clip(a.mid - a.rad, 0.0, None), a.mid + a.rad
    mid = np.clip(a.mid, 0.0, None) ** exponent
    ends = low**exponent, np.clip(high, 0.0, None) ** exponent
    # An exponent that is itself rounded (1/3) moves the power by |log x| times its error.
    logs = np.maximum(np.abs(np.log(np.maximum(low, TINY))), np.abs(np.log(np.maximum(high, TINY))))
    wide = POWER + 2 * logs * float(b.rad)
    spread = np.maximum(np.abs(ends[0] - mid), np.abs(ends[1] - mid)) + wide * (mid + ends[1])
    return rounded(mid, np.where(high >= 0, spread, np.inf))


def sqrt(a: Ball) -> Ball:
    """Of what is nonnegative; an argument that can only be negative has no root."""
    high = a.mid + a.rad
    mid = np.sqrt(np.clip(a.mid, 0.0, None))
    ends = np.sqrt(np.clip(a.mid - a.rad, 0.0, None)), np.sqrt(np.clip(high, 0.0, None))
    spread = np.maximum(ends[1] - mid, mid - ends[0]) + 4 * U * ends[1]
    return rounded(mid, np.where(high >= 0, spread, np.inf))


def absolute(a: Ball) -> Ball:
    return Ball(np.abs(a.mid), a.rad)


def matmul(a: Ball, b: Ball) -> Ball:
    if not a.rad.any() and not b.rad.any():
        rad = gamma(a.mid.shape[-1]) * (np.abs(a.mid) @ np.abs(b.mid))
    else:
        size = np.abs(b.mid) + b.rad
        rad = gamma(a.mid.shape[-1]) * (np.abs(a.mid) @ size) + np.abs(a.mid) @ b.rad + a.rad @ size
    return rounded(a.mid @ b.mid, rad)


def transpose(a: Ball) -> Ball:
    return Ball(a.mid.T, a.rad.T)


def diag(a: Ball) -> Ball:
    return Ball(numeric.diag(a.mid), numeric.diag(a.rad))


def total(a: Ball, axis: int | None = None) -> Ball:
    """Sum of all entries or along an axis."""
    terms = a.mid.size if axis is None else a.mid.shape[axis]
    rad = np.sum(a.rad, axis=axis) + gamma(terms) * np.sum(np.abs(a.mid), axis=axis)
    return rounded(np.sum(a.mid, axis=axis), rad)


def trace(a: Ball) -> Ball:
    return total(diag(a))


def extreme(pick: Callable[..., Array]) -> Callable[[Ball, int | None], Ball]:
    """Largest or smallest entry: moves by at most the largest radius."""

    def rule(a: Ball, axis: int | None = None) -> Ball:
        return Ball(np.asarray(pick(a.mid, axis=axis)), np.asarray(np.max(a.rad, axis=axis)))

    return rule


def block(rows: Sequence[Sequence[tuple[Ball, bool]]]) -> Ball:
    mids = numeric.block([[(e.mid, r) for e, r in row] for row in rows])
    return Ball(mids, numeric.block([[(e.rad, r) for e, r in row] for row in rows]))


def nuclear(a: Ball) -> Ball:
    """Bounded from both sides without trusting the decomposition.

    Below: ‖K‖∗ >= <K, Z> / ‖Z‖ for any Z; Z = U Vᵀ from the computed decomposition. Above: K equals
    U S Vᵀ up to a residual E, so ‖K‖∗ <= Σ|s| ‖uᵢ‖ ‖vᵢ‖ + √r ‖E‖_F.
    """
    if not (np.isfinite(a.mid).all() and np.isfinite(a.rad).all()):
        return unknown(0.0)
    u, s, vt = np.linalg.svd(a.mid, full_matrices=False)
    r = len(s)
    z = matmul(exact(u), exact(vt))
    inner = total(mul(a, z))
    # ‖Z‖² is the largest eigenvalue of ZᵀZ, at most 1 + the largest row sum of |ZᵀZ - I|, on the
    # smaller side, where Z has orthonormal rows (columns).
    small = z if z.mid.shape[0] <= z.mid.shape[1] else transpose(z)
    gram = sub(matmul(small, transpose(small)), exact(np.eye(r)))
    norm = float(np.sqrt(1.0 + float((np.abs(gram.mid) + gram.rad).sum(axis=1).max(initial=0.0)) * GROW))
    low = max(0.0, float(inner.lower) / norm * (1 - 4 * U))
    beyond = sub(a, matmul(matmul(exact(u), exact(np.diag(s))), exact(vt)))
    off = float(np.linalg.norm(np.abs(beyond.mid) + beyond.rad)) * float(np.sqrt(r)) * GROW
    lengths = np.linalg.norm(u, axis=0) * np.linalg.norm(vt, axis=1)
    high = float((s * lengths).sum()) * (1 + 4 * gamma(sum(a.mid.shape) + r)) + off
    return rounded((low + high) / 2, (high - low) / 2 + U * high)


def _symmetric(a: Ball) -> Ball:
    """The same matrices around a symmetric midpoint."""
    return rounded((a.mid + a.mid.T) / 2, a.rad + np.abs(a.mid - a.mid.T) / 2)


def smallest_eigenvalue(a: Ball) -> float:
    """A number proved to be at most every eigenvalue of the symmetric part of every matrix in the ball.

    Rump 2006, Verification of positive definiteness: where Cholesky's algorithm runs to its end on
    the rounded M - s I, the least eigenvalue of M is at least s - c, with c = γ/(1 - γ) trace(M - s I)
    and γ = γ of n + 2 terms. -inf where no s succeeds.
    """
    m = _symmetric(a)
    if not (np.isfinite(m.mid).all() and np.isfinite(m.rad).all()):
        return -float("inf")
    n = len(m.mid)
    shaken = float(np.linalg.norm(m.rad)) * GROW
    guess = float(np.linalg.eigvalsh(m.mid)[0])
    size = gamma(n + 2) * float(np.abs(np.diag(m.mid)).sum())
    for s in (guess - size, guess / 2, 0.0):
        shifted = m.mid - s * np.eye(n)
        slip = gamma(n + 4) * float(np.abs(np.diag(shifted)).sum() + abs(s)) * 2 + TINY
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            continue
        return s - slip - shaken
    return -float("inf")


def root(a: Ball) -> Ball:
    """The symmetric square root of a psd matrix.

    For psd A and B, ‖√A - √B‖ is at most √‖A - B‖, and at most ‖A - B‖_F / (λ(√A) + λ(√B)) with λ
    the least eigenvalues (the difference D solves √A D + D √B = A - B). B is the square of the
    computed root, lifted so that it is proved to be psd.
    """
    mid = numeric.root(a.mid)
    mid = (mid + mid.T) / 2
    least = smallest_eigenvalue(exact(mid))
    if not np.isfinite(least):
        lift = 2 * gamma(len(mid) + 4) * float(np.abs(mid).sum()) + TINY
        mid = mid + lift * np.eye(len(mid))
        least = max(0.0, smallest_eigenvalue(exact(mid)))
    elif least < 0:
        mid, least = mid - least * np.eye(len(mid)), 0.0
    off = sub(a, matmul(exact(mid), exact(mid)))
    change = float(np.linalg.norm(np.abs(off.mid) + off.rad)) * GROW
    bounds = [float(np.sqrt(change))]
    both = least + float(np.sqrt(max(0.0, smallest_eigenvalue(a))))
    if both > 0:
        bounds.append(change / both)
    return rounded(mid, np.full(mid.shape, min(bounds)))


def smallest_singular(a: Ball) -> float:
    """A number proved to be at most every singular value of every matrix in the ball; 0 where none is.

    With any Y and R = I - A Y of norm r < 1, inv(A) = Y inv(I - R), so its norm is at most ‖Y‖ / (1 - r).
    """
    guess = numeric.inv(a.mid)
    if not (np.isfinite(guess).all() and np.isfinite(a.rad).all()):
        return 0.0
    rest = _missing(exact(np.eye(len(guess))), a, guess)
    off = float(np.linalg.norm(np.abs(rest.mid) + rest.rad)) * GROW
    return (1.0 - off) / (float(np.linalg.norm(guess)) * GROW) if off < 1 else 0.0


def sandwich(left: Ball, matrix: Ball, right: Ball) -> Ball:
    """``left @ inv(matrix) @ right`` for a symmetric positive definite matrix, or one that is not symmetric.

    With Y ~ inv(X) R and Z ~ inv(X)ᵀ Lᵀ of any origin, L inv(X) R = L Y + Zᵀ(R - X Y) + (L - Zᵀ X) inv(X)
    (R - X Y): the last term is a product of two residuals over the smallest eigenvalue (singular value). An
    infinite radius says that no positive definite (invertible) matrix could be proved.
    """
    x = _symmetric(matrix) if matrix.rad.any() or (matrix.mid != matrix.mid.T).any() else matrix
    smallest = smallest_eigenvalue(x)
    if smallest <= 0 and _is_lopsided(matrix):
        x, smallest = matrix, smallest_singular(matrix)
    y, z = numeric.solve(x.mid, right.mid), numeric.solve(x.mid.T, left.mid.T)
    if smallest <= 0 or not (np.isfinite(y).all() and np.isfinite(z).all()):
        return unknown(left.mid @ np.nan_to_num(y))
    missing_right = _missing(right, x, y)
    missing_left = transpose(_missing(transpose(left), transpose(x), z))
    out = add(matmul(left, exact(y)), matmul(exact(z.T), missing_right))
    norm_right = np.linalg.norm(np.abs(missing_right.mid) + missing_right.rad, axis=0)
    norm_left = np.linalg.norm(np.abs(missing_left.mid) + missing_left.rad, axis=-1)
    return rounded(out.mid, out.rad + np.multiply.outer(norm_left, norm_right) / smallest)


def _is_lopsided(a: Ball) -> bool:
    """Whether no matrix of the ball is symmetric, not even up to rounding."""
    slack = a.rad + a.rad.T + 1e-12 * float(np.abs(a.mid).max(initial=0.0))
    return bool((np.abs(a.mid - a.mid.T) > slack).any())


def _missing(right: Ball, x: Ball, y: Array) -> Ball:
    """``right - x @ y``, the products summed with twice the digits."""
    mid, rad = residual(right.mid, x.mid, y)
    return rounded(mid, rad + right.rad + x.rad @ np.abs(y))
