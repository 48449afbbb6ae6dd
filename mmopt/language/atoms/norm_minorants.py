"""Affine functions below the norms, eigenvalues and entropies, with proof (what that is: ``minorants.py``).

- A norm is above <z, x> for every z whose dual norm is at most 1 (Boyd & Vandenberghe, A.1.6); the largest
  eigenvalue above <Z, X> for every psd Z of trace 1, the smallest below it.
- log det is concave, and its derivative at K⁻¹ is K: log det F <= -log det K + <K, F> - n.
- x² - (x - s / 2)² = s x - s² / 4, so Huber's loss with the limit m is above s x - s² / 4 for |s| <= 2 m.
- x log(x / y) is jointly convex and scales with both, so it is above its derivative at any x = t y:
  (log t + 1) x - t y for every t > 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mmopt.language.atoms.minorants import (
    LARGEST_EXPONENT,
    LEAST_POINT,
    NOTHING,
    Minorant,
    Near,
    fitted,
    slope_of,
    spread,
    tangent,
)
from mmopt.numerics import ball_functions, ball_nuclear, ball_spectra, balls, matrix_functions
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import Ball, exact

__all__ = [
    "eigenvalue",
    "entropy",
    "huber",
    "larger",
    "length",
    "logdet",
    "norm_inf",
    "norm_one",
    "rel_entropy",
    "sigma_max",
]

LARGEST_RATIO = 1e150


def _split(p: Ball, near: Near, at: int, known: Ball | None) -> tuple[Ball, Ball | None]:
    """What an argument adds to the constant, where it is one, and its p, where it is chosen."""
    if known is not None:
        return balls.total(balls.mul(p, known)), None
    return NOTHING, fitted(p, near.points[at])


def _both(one: Ball, two: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    (c, p), (d, q) = _split(one, near, 0, a), _split(two, near, 1, b)
    return balls.add(c, d), (p, q)


@np.errstate(all="ignore")
def _told(bar: Ball, near: Near, at: int) -> Array:
    """The slope of an argument that lies as the value does, else nothing."""
    if np.shape(near.points[at]) != bar.mid.shape:
        return np.full(bar.mid.shape, np.nan)
    return slope_of(bar, near, at)


def larger(sign: int) -> Callable[..., Minorant]:
    """The larger of two (1) is above every average of them, the smaller (-1) below."""

    @np.errstate(all="ignore")
    def rule(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
        one, two = (np.asarray(p, dtype=float) for p in near.points)
        share = _told(bar, near, 0)
        share = np.where(np.isfinite(share), share, 1.0 - _told(bar, near, 1))
        by_points = (1.0 + sign * np.sign(np.nan_to_num(one) - np.nan_to_num(two))) / 2
        share = np.clip(np.where(np.isfinite(share), share, by_points), 0.0, 1.0)
        rest = balls.sub(exact(1.0), exact(share))
        return _both(balls.mul(bar, exact(share)), balls.mul(bar, rest), near, a, b)

    return rule


def _within(z: Array, size: Callable[[Ball, int | None], Ball], axis: int | None) -> Ball:
    """z, divided by its dual norm where that is not proved to be at most 1."""
    norms = size(exact(z), axis)
    by = Ball(np.where(norms.upper <= 1.0, 1.0, norms.mid), np.where(norms.upper <= 1.0, 0.0, norms.rad))
    return balls.div(exact(z), spread(by, axis))


@np.errstate(all="ignore")
def _of_dual(
    bar: Ball, near: Near, axis: int | None, fallback: Array, size: Callable[[Ball, int | None], Ball]
) -> Minorant:
    told = near.slopes[0]
    wide = np.broadcast_to(spread(bar, axis).mid, np.shape(near.points[0]))
    z = np.full(wide.shape, np.nan) if told is None else told / np.where(np.abs(wide) > 0, wide, np.nan)
    known = np.isfinite(z).all(axis=axis, keepdims=True)
    z = np.where(known, z, fallback)
    z = np.maximum(z, 0.0) if near.signs[0] > 0 else np.minimum(z, 0.0) if near.signs[0] < 0 else z
    p = balls.mul(spread(bar, axis), _within(z, size, axis))
    return NOTHING, (Ball(np.where(z == 0, 0.0, p.mid), np.where(z == 0, 0.0, p.rad)),)


def _length(a: Ball, axis: int | None) -> Ball:
    return balls.sqrt(balls.total(balls.mul(a, a), axis=axis))


def length(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
    """Euclidean norms, and Frobenius's."""
    point = np.nan_to_num(near.points[0])
    sizes = np.linalg.norm(point) if axis is None else np.linalg.norm(point, axis=axis, keepdims=True)
    return _of_dual(bar, near, axis, point / np.where(sizes > 0, sizes, 1.0), _length)


def norm_inf(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
    point = np.nan_to_num(near.points[0])
    ends = np.abs(point).max(axis=axis, keepdims=True)
    at = (np.abs(point) == ends) * np.sign(point)
    count = np.maximum(np.abs(at).sum(axis=axis, keepdims=True), 1.0)
    return _of_dual(bar, near, axis, at / count, lambda z, axis: balls.total(balls.absolute(z), axis=axis))


def norm_one(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
    point = np.nan_to_num(near.points[0])

    def size(z: Ball, axis: int | None) -> Ball:
        return balls.extreme(np.max)(balls.absolute(z), axis)

    return _of_dual(bar, near, axis, np.sign(point), size)


def sigma_max(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """Above <Z, X> for every Z of singular values that add up to at most 1."""
    u, _, vt = np.linalg.svd(np.nan_to_num(near.points[0]), full_matrices=False)
    return _of_dual(bar, near, None, np.outer(u[:, 0], vt[0]), lambda z, axis: ball_nuclear.nuclear(z))


def eigenvalue(at: int) -> Callable[..., Minorant]:
    """The largest (-1) or smallest (0) eigenvalue: Z = R Rᵀ over its trace."""

    @np.errstate(all="ignore")
    def rule(bar: Ball, near: Near, a: Ball | None) -> Minorant:
        z = slope_of(bar, near)
        factor = np.zeros(z.shape)
        if np.isfinite(z).all():
            values, vectors = matrix_functions.eigh(z)
            factor = vectors * np.sqrt(np.maximum(values, 0.0))
        if not factor.any() or not np.isfinite(factor).all():
            factor = matrix_functions.eigh(np.nan_to_num(near.points[0]))[1][:, [at]]
        product = balls.matmul(exact(factor), exact(factor.T))
        return NOTHING, (balls.mul(bar, balls.div(product, balls.trace(product))),)

    return rule


@np.errstate(all="ignore")
def logdet(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    told = slope_of(bar, near)
    n = len(told)
    point = matrix_functions.psd_floor(np.nan_to_num(near.points[0]))
    for tried in (told, matrix_functions.inv(point), np.eye(n)):
        k = exact((tried + tried.T) / 2)
        volume = ball_spectra.log_determinant(k)
        if np.isfinite(volume.rad):
            break
    value = balls.neg(balls.add(volume, exact(float(n))))
    return balls.mul(bar, value), (balls.mul(bar, k),)


@np.errstate(all="ignore")
def huber(bar: Ball, near: Near, a: Ball | None, limit: Ball | None) -> Minorant:
    assert limit is not None  # the check refuses one that is chosen
    most = 2.0 * max(float(limit.lower), 0.0)
    point = 2.0 * np.nan_to_num(np.asarray(near.points[0], dtype=float))
    slopes = _told(bar, near, 0)
    s = np.clip(np.where(np.isfinite(slopes), slopes, point), -most, most)
    s = np.maximum(s, 0.0) if near.signs[0] > 0 else np.minimum(s, 0.0) if near.signs[0] < 0 else s
    square = balls.mul(exact(0.25), balls.mul(exact(s), exact(s)))
    return balls.neg(balls.total(balls.mul(bar, square))), (balls.mul(bar, exact(s)), None)


@np.errstate(all="ignore")
def entropy(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    point = np.nan_to_num(np.asarray(near.points[0], dtype=float), nan=1.0)
    found = np.exp(np.clip(-slope_of(bar, near) - 1.0, -LARGEST_EXPONENT / 2, LARGEST_EXPONENT / 2))
    at = np.clip(np.where(np.isfinite(found), found, point), LEAST_POINT, LARGEST_RATIO)
    slope = balls.neg(balls.add(ball_functions.log(exact(at)), exact(1.0)))
    return tangent(bar, at, ball_functions.entropy(exact(at)), slope)


@np.errstate(all="ignore")
def rel_entropy(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    one, two = (np.asarray(p, dtype=float) for p in near.points)
    ratio = -_told(bar, near, 1)
    by_first = np.exp(_told(bar, near, 0) - 1.0)
    for other in (by_first, one / two, np.ones(bar.mid.shape)):
        ratio = np.where(np.isfinite(ratio) & (ratio > 0), ratio, other)
    t = exact(np.clip(ratio, LEAST_POINT, LARGEST_RATIO))
    first = balls.add(ball_functions.log(t), exact(1.0))
    return _both(balls.mul(bar, first), balls.neg(balls.mul(bar, t)), near, a, b)
