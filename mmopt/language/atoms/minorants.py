"""Affine functions below the atoms, with proof: the Lagrangian of a program is bounded with them.

Let ``bar`` be the derivative of some number by the value of an atom f: of any sign where f is affine, >= 0
where it is convex, <= 0 where it is concave, and psd or its negative where f is curved in the order of psd
matrices (so the check of the program's curvature says). A rule gives a number c and, for each argument that
is chosen, an array p of its shape with

    <bar, f(x)> >= c + <p, x>  for every argument x for which f is defined,

both as balls that contain what belongs to the true ``bar`` in the ball that came in. Where an argument
is itself curved, p has the sign (is psd or its negative) that its curvature needs. An atom entry by entry may
give c as an array of the shape of ``bar``, whose sum counts; the inequality then holds entry by entry.

A convex f is above its tangents, whose points are any floats; a norm is above every linear function whose
coefficients the dual norm bounds by 1, and max above every average. Which of them is *best* is guessed from
``Near``, which may come from anywhere: nothing in it is trusted but the signs.

Below inverses, roots and the nuclear norm, for K of any origin, and Y positive definite:

- inv(F) - (K + Kᵀ - Kᵀ F K) = (K - F⁻¹)ᵀ F (K - F⁻¹) is psd, so <G, inv(F)> >= 2 <G, K> - <K G Kᵀ, F>
  for psd G.
- root is concave in the order of psd matrices, and its derivative at Y² takes F to the D with Y D + D Y = F
  (Bhatia, Matrix Analysis, V.1 and X.3). So root(F) is below Y / 2 + D, and <G, D> = <M, F> with
  Y M + M Y = G: for symmetric R = G - (Y M + M Y), M is off by at most ‖R‖ / (2 λ(Y)), λ the least
  eigenvalue.

Below the norms, eigenvalues and entropies:

- A norm is above <z, x> for every z whose dual norm is at most 1 (Boyd & Vandenberghe, A.1.6); the largest
  eigenvalue above <Z, X> for every psd Z of trace 1, the smallest below it.
- log det is concave, and its derivative at K⁻¹ is K: log det F <= -log det K + <K, F> - n.
- x² - (x - s / 2)² = s x - s² / 4, so Huber's loss with the limit m is above s x - s² / 4 for |s| <= 2 m.
- tr Xᵀ P⁻¹ X - 2 <K, X> + <K Kᵀ, P> is the square of the length of P^-½ X - P^½ K, so the first is at least
  2 <K, X> - <K Kᵀ, P> for every K. With a number y for P, a sum of squares over y is so too.
- The geometric mean is at most <g, x> for g > 0 with n g of geometric mean 1, as the mean of n gᵢ xᵢ is at
  least their geometric mean.
- The sum of the k largest entries is at least <g, x> for g in [0, 1] of sum k, and of a smaller sum where
  x >= 0. That of the k largest eigenvalues is at least <G, X> for 0 << G << I of trace k (Fan 1949).
- x log(x / y) is jointly convex and scales with both, so it is above its derivative at any x = t y:
  (log t + 1) x - t y for every t > 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.special

from mmopt.numerics import Array, Ball, ball_functions, balls, exact, float_functions

# c and, for each argument, p; None for a constant argument, whose part is in c.
Minorant = tuple[Ball, tuple[Ball | None, ...]]
NOTHING = exact(0.0)
LARGEST_EXPONENT = 700.0  # exp of more overflows
LEAST_POINT = 1e-150  # of a tangent where only positive numbers are allowed; its square is a float
LARGEST_RATIO = 1e150  # of what is guessed


@dataclass(frozen=True)
class Near:
    """The place where a minorant should be tight: arguments near the optimum, and approximate slopes p there.

    points : one per argument, arrays or numbers. slopes : guesses of p, None where there is none.
    signs : of the arguments, by their types: +1 (nonnegative), -1 or 0. Only these have to be right.
    """

    points: Sequence[Any]
    slopes: Sequence[Any]
    signs: Sequence[int]


def fitted(bar: Ball, point: Any) -> Ball:
    """``bar`` for an argument: summed up for a number that was spread over an array, a vector over rows."""
    repeated = range(bar.mid.ndim - np.ndim(point))
    return balls.total(bar, axis=0 if np.ndim(point) else None) if repeated else bar


def spread(bar: Ball, axis: int | None) -> Ball:
    """A value reduced along an axis, repeated for every entry that it was computed from."""
    return bar if axis is None else Ball(np.expand_dims(bar.mid, axis), np.expand_dims(bar.rad, axis))


def _of_sign(slopes: Array, sign: int) -> Array:
    """The slopes, clipped to at least 0 where the argument is nonnegative (``sign`` 1), at most 0 for -1."""
    return np.maximum(slopes, 0.0) if sign > 0 else np.minimum(slopes, 0.0) if sign < 0 else slopes


def inner(a: Ball, b: Ball) -> Ball:
    """<a, b>."""
    return balls.total(balls.mul(a, b))


def by_slopes(bar: Ball, slopes: Ball) -> Ball:
    """``bar`` times slopes; a slope of exactly 0 gives exactly 0, even if nothing is known of ``bar``."""
    product, is_none = balls.mul(bar, slopes), (slopes.mid == 0.0) & (slopes.rad == 0.0)
    return Ball(np.where(is_none, 0.0, product.mid), np.where(is_none, 0.0, product.rad))


def _tame(guess: Any) -> Array:
    """A guess with 0 for what is not a number, and no entry so large that products overflow."""
    return np.asarray(np.clip(np.nan_to_num(guess), -LARGEST_RATIO, LARGEST_RATIO))


# -- affine atoms: the adjoint


def mul(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    if a is not None:
        return NOTHING, (None, fitted(balls.mul(bar, a), near.points[1]))
    assert b is not None  # the check refuses products of what is chosen
    return NOTHING, (fitted(balls.mul(bar, b), near.points[0]), None)


def matmul(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    if a is None:  # X B is (Bᵀ Xᵀ)ᵀ
        assert b is not None
        turned = Near([np.transpose(point) for point in near.points[::-1]], (), ())
        _, (_, p) = matmul(balls.transpose(bar), turned, balls.transpose(b), None)
        return NOTHING, (None if p is None else balls.transpose(p), None)
    if a.mid.ndim == 2:
        return NOTHING, (None, balls.matmul(balls.transpose(a), bar))
    # A number, or a row: bar times a.
    return NOTHING, (
        None,
        balls.mul(bar, a) if np.ndim(near.points[1]) == 1 else balls.mul(a[:, None], bar[None, :]),
    )


def total(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
    wide, shape = spread(bar, axis), np.shape(near.points[0])
    return NOTHING, (Ball(np.broadcast_to(wide.mid, shape), np.broadcast_to(wide.rad, shape)),)


# -- entry by entry: tangents


def slope_of(bar: Ball, near: Near, at: int = 0) -> Array:
    """Roughly the derivative of f by an argument, from the slope in ``near``; nan where there is none."""
    slope = near.slopes[at]
    if slope is None:
        return np.full(np.shape(near.points[at]), np.nan)
    with np.errstate(all="ignore"):
        return np.asarray(slope / np.where(np.abs(bar.mid) > 0, bar.mid, np.nan), dtype=float)


def _points(candidates: Any, near: Near, least: float = -np.inf, most: float = np.inf, at: int = 0) -> Array:
    """Points for tangents: the candidates, or where they are not finite those of ``near``; within bounds.

    A candidate is where the derivative of the atom is the slope guessed.
    """
    points = np.asarray(near.points[at], dtype=float)
    points = np.where(np.isfinite(points), points, 1.0)
    return np.clip(np.where(np.isfinite(candidates), candidates, points), least, most)


def tangent(bar: Ball, at: Array, value: Ball, slope: Ball) -> Minorant:
    """f(x) is beyond value + slope (x - at), entry by entry."""
    return balls.mul(bar, balls.sub(value, balls.mul(slope, exact(at)))), (balls.mul(bar, slope),)


def absolute(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """|x| >= s x for every s in [-1, 1]."""
    slopes = slope_of(bar, near)
    s = np.clip(np.where(np.isfinite(slopes), slopes, np.sign(np.nan_to_num(near.points[0]))), -1.0, 1.0)
    return exact(np.zeros(s.shape)), (balls.mul(bar, exact(_of_sign(s, near.signs[0]))),)


@np.errstate(all="ignore")
def sqrt(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    at = _points(1.0 / (4.0 * slope_of(bar, near) ** 2), near, LEAST_POINT)
    value = balls.sqrt(exact(at))
    return tangent(bar, at, value, balls.div(exact(0.5), value))


@np.errstate(all="ignore")
def exp(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    at = _points(np.log(slope_of(bar, near)), near, -LARGEST_EXPONENT, LARGEST_EXPONENT)
    value = ball_functions.exp(exact(at))
    return tangent(bar, at, value, value)


@np.errstate(all="ignore")
def logistic(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """The tangent where the derivative, 1 / (1 + exp(-x)), is the slope guessed, else at the point."""
    at = _points(scipy.special.logit(slope_of(bar, near)), near, -LARGEST_EXPONENT, LARGEST_EXPONENT)
    slope = balls.div(exact(1.0), balls.add(exact(1.0), ball_functions.exp(exact(-at))))
    return tangent(bar, at, ball_functions.logistic(exact(at)), slope)


@np.errstate(all="ignore")
def log(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    at = _points(1.0 / slope_of(bar, near), near, LEAST_POINT)
    return tangent(bar, at, ball_functions.log(exact(at)), balls.div(exact(1.0), exact(at)))


@np.errstate(all="ignore")
def power(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    """Tangents at points of the sign that the base has; at any where the exponent is even."""
    assert b is not None  # an exponent is constant
    p = np.float64(b.mid)  # one that divides by 0
    if p == 1.0 and b.is_exact:
        return NOTHING, (bar, None)
    slopes = slope_of(bar, near) / p
    is_even = b.is_exact and p % 2 == 0 and p > 0
    roots = np.sign(slopes) * np.abs(slopes) ** (1.0 / (p - 1.0)) if is_even else slopes ** (1.0 / (p - 1.0))
    least = -np.inf if is_even and near.signs[0] <= 0 else 0.0 if p > 1 else LEAST_POINT
    at = _points(roots, near, least, 0.0 if near.signs[0] < 0 else np.inf)
    value = balls.power(exact(at), b)
    slope = balls.mul(b, balls.div(value, exact(np.where(at == 0.0, 1.0, at))))  # at 0 the value is 0
    constant, (pulled,) = tangent(bar, at, value, slope)
    return constant, (pulled, None)


@np.errstate(all="ignore")
def div(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    """A quotient by a constant; or w / x of a constant w >= 0, above w (2 / u - x / u²) for every u > 0."""
    if b is not None:
        return NOTHING, (fitted(balls.div(bar, b), near.points[0]), None)
    assert a is not None
    weights = fitted(balls.mul(bar, a), near.points[1])
    slope = near.slopes[1]
    candidates = np.sqrt(weights.mid / -slope) if slope is not None else np.full(weights.mid.shape, np.nan)
    at = exact(_points(np.where(candidates > 0, candidates, np.nan), near, LEAST_POINT, at=1))
    pulled = balls.div(balls.div(weights, at), at)
    return balls.mul(exact(2.0), balls.div(weights, at)), (None, balls.neg(pulled))


# -- reductions and norms


def _shares(
    bar: Ball, near: Near, fallback: Callable[[Array], Array], axis: int | None
) -> tuple[Array, Ball]:
    """Numbers >= 0 near the slopes guessed, and these over their sums along the axis.

    Where they have no sum above 0 they are those that ``fallback`` makes of the points.
    """
    slope, point = near.slopes[0], np.asarray(near.points[0], dtype=float)
    by = np.where(spread(bar, axis).mid < 0, -1.0, 1.0)
    shares = np.zeros(point.shape) if slope is None else np.maximum(by * np.nan_to_num(slope), 0.0)
    sums = shares.sum(axis=axis, keepdims=True)
    with np.errstate(all="ignore"):
        shares = np.where((sums > 0) & np.isfinite(sums), shares, fallback(np.nan_to_num(point)))
    sums = balls.total(exact(shares), axis=axis)
    ratios = balls.div(exact(shares), spread(sums, axis))
    return shares, Ball(ratios.mid, np.where(shares == 0.0, 0.0, ratios.rad))


def extreme(sign: int) -> Callable[..., Minorant]:
    """The rule of max (1), which is above every average of the entries, or min (-1), below it."""

    def rule(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
        def extremes(point: Array) -> Array:  # 1 at the largest (smallest) entries
            return np.asarray(sign * point == (sign * point).max(axis=axis, keepdims=True), dtype=float)

        _, shares = _shares(bar, near, extremes, axis)
        return NOTHING, (by_slopes(spread(bar, axis), shares),)

    return rule


def logsumexp(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
    """Above <w, x> - sum(w log w) for all shares w (Boyd & Vandenberghe, example 3.25)."""
    numbers, shares = _shares(bar, near, lambda point: scipy.special.softmax(point, axis=axis), axis)
    used = numbers > 0  # 0 log 0 is 0
    logs = ball_functions.log(Ball(np.where(used, shares.mid, 1.0), np.where(used, shares.rad, 0.0)))
    entropy = balls.total(balls.mul(balls.neg(shares), logs), axis=axis)
    return inner(bar, entropy), (by_slopes(spread(bar, axis), shares),)


LEAST_EIGENVALUE = 1e-13  # of the largest: what is below is rounding


# -- matrices


def _psd_root(matrix: Array) -> tuple[Array, Array]:
    """The root of a matrix and its pseudo-inverse, of the eigenvalues that are clearly positive."""
    values, vectors = float_functions.eigh(matrix)
    positive = values > LEAST_EIGENVALUE * max(float(values[-1]), 0.0)
    roots, basis = np.sqrt(values[positive]), vectors[:, positive]
    return (basis * roots) @ basis.T, (basis / roots) @ basis.T


def _symmetric(slope: Any) -> Array | None:
    """The symmetric part of a slope; None where there is none."""
    is_known = slope is not None and np.isfinite(slope).all()
    return np.asarray((_tame(slope) + _tame(slope).T) / 2) if is_known else None


def inv(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """At or below <bar, inv(F)>: 2 <bar, K> - <K bar Kᵀ, F>.

    K is chosen so that K bar Kᵀ is minus the slope guessed; else it is the inverse of the point.
    """
    slope = _symmetric(near.slopes[0])
    k = float_functions.inv(float_functions.psd_floor(_tame(near.points[0])))
    k = np.where(np.isfinite(k), k, 0.0)
    if slope is not None and slope.any() and np.isfinite(bar.mid).all():
        half, back = _psd_root(_tame(bar.mid))
        other, _ = _psd_root(-slope)
        u, _, vt = np.linalg.svd(other @ half)
        k = other @ (u @ vt) @ back
    by = exact(k)
    pulled = balls.matmul(balls.matmul(by, bar), balls.transpose(by))
    return balls.mul(exact(2.0), inner(bar, by)), (balls.neg(pulled),)


def _lyapunov(matrix: Array, right: Array) -> Array:
    """The D with M D + D M = right, for a positive definite M, ``matrix``."""
    values, vectors = float_functions.eigh(matrix)
    values = np.maximum(values, LEAST_EIGENVALUE * max(float(values[-1]), LEAST_POINT))
    inside = vectors.T @ ((right + right.T) / 2) @ vectors
    out = vectors @ (inside / np.add.outer(values, values)) @ vectors.T
    return np.asarray((out + out.T) / 2)


def root(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """At or below <bar, root(F)>: <bar, Y> / 2 + <M, F>, where Y M + M Y = ``bar``, which is negative.

    Y is chosen so that M is near the slope guessed; else it is the root of the point, else the identity.
    """
    slope, point = _symmetric(near.slopes[0]), float_functions.psd_floor(_tame(near.points[0]))
    tried = [float_functions.root(point), np.eye(len(point))]
    if slope is not None and slope.any() and np.isfinite(bar.mid).all():
        tried.insert(0, _lyapunov(-slope, -bar.mid))
    for y in tried:
        y = (y + y.T) / 2
        least = ball_functions.eigenvalue_bound(exact(y))
        if least > 0:
            break
    m, by = exact(_lyapunov(y, bar.mid)), exact(y)
    rest = balls.sub(bar, balls.add(balls.matmul(by, m), balls.matmul(m, by)))
    off = balls.norm(rest) / (2.0 * least) * balls.GROW
    return balls.mul(exact(0.5), inner(bar, by)), (balls.rounded(m.mid, np.full(y.shape, off)),)


def _split(p: Ball, near: Near, at: int, value: Ball | None) -> tuple[Ball, Ball | None]:
    """The share in the constant c of a constant argument (``value``), or the p of one that is chosen."""
    return (NOTHING, fitted(p, near.points[at])) if value is None else (balls.mul(p, value), None)


def _both(one: Ball, two: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    """The minorant <one, a> + <two, b> of two arguments, either of which may be constant."""
    (c, p), (d, q) = _split(one, near, 0, a), _split(two, near, 1, b)
    return balls.add(c, d), (p, q)


@np.errstate(all="ignore")
def _slope_in_shape(bar: Ball, near: Near, at: int) -> Array:
    """``slope_of`` for an argument of the shape of the value, else nan in that shape."""
    fits = np.shape(near.points[at]) == bar.mid.shape
    return slope_of(bar, near, at) if fits else np.full(bar.mid.shape, np.nan)


def larger(sign: int) -> Callable[..., Minorant]:
    """The rule of the larger of two (1), above every average of them, or of the smaller (-1), below it."""

    @np.errstate(all="ignore")
    def rule(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
        one, two = (np.asarray(p, dtype=float) for p in near.points)
        share = _slope_in_shape(bar, near, 0)
        share = np.where(np.isfinite(share), share, 1.0 - _slope_in_shape(bar, near, 1))
        by_points = (1.0 + sign * np.sign(np.nan_to_num(one) - np.nan_to_num(two))) / 2
        share = np.clip(np.where(np.isfinite(share), share, by_points), 0.0, 1.0)
        rest = balls.sub(exact(1.0), exact(share))
        return _both(balls.mul(bar, exact(share)), balls.mul(bar, rest), near, a, b)

    return rule


def _within(z: Array, size: Callable[[Ball, int | None], Ball], axis: int | None) -> Ball:
    """z, divided by its dual norm (``size``) where that is not proved to be at most 1."""
    norms = size(exact(z), axis)
    by = Ball(np.where(norms.upper <= 1.0, 1.0, norms.mid), np.where(norms.upper <= 1.0, 0.0, norms.rad))
    return balls.div(exact(z), spread(by, axis))


@np.errstate(all="ignore")
def _of_dual(
    bar: Ball, near: Near, axis: int | None, fallback: Array, size: Callable[[Ball, int | None], Ball]
) -> Minorant:
    """The rule of a norm: <z, x>, z near the slope guessed, else ``fallback``; ``size``: the dual norm."""
    slope = near.slopes[0]
    wide = np.broadcast_to(spread(bar, axis).mid, np.shape(near.points[0]))
    z = np.full(wide.shape, np.nan) if slope is None else slope / np.where(np.abs(wide) > 0, wide, np.nan)
    z = _of_sign(np.where(np.isfinite(z).all(axis=axis, keepdims=True), z, fallback), near.signs[0])
    p = balls.mul(spread(bar, axis), _within(z, size, axis))
    return NOTHING, (Ball(np.where(z == 0, 0.0, p.mid), np.where(z == 0, 0.0, p.rad)),)


def length(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
    """The rule of Euclidean norms, and of the Frobenius norm."""
    point = np.nan_to_num(near.points[0])
    sizes = np.linalg.norm(point) if axis is None else np.linalg.norm(point, axis=axis, keepdims=True)
    return _of_dual(
        bar,
        near,
        axis,
        point / np.where(sizes > 0, sizes, 1.0),
        lambda z, axis: balls.sqrt(balls.total(balls.mul(z, z), axis=axis)),
    )


def norm_inf(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
    """Above <z, x> for every z whose absolute values add up to at most 1."""
    point = np.nan_to_num(near.points[0])
    at = (np.abs(point) == np.abs(point).max(axis=axis, keepdims=True)) * np.sign(point)
    count = np.maximum(np.abs(at).sum(axis=axis, keepdims=True), 1.0)
    return _of_dual(bar, near, axis, at / count, lambda z, axis: balls.total(balls.absolute(z), axis=axis))


def norm_one(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
    """Above <z, x> for every z of entries in [-1, 1]."""
    point = np.nan_to_num(near.points[0])
    return _of_dual(
        bar, near, axis, np.sign(point), lambda z, axis: balls.extreme(np.max)(balls.absolute(z), axis)
    )


def sigma_max(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """Above <Z, X> for every Z of singular values that add up to at most 1."""
    u, _, vt = np.linalg.svd(_tame(near.points[0]), full_matrices=False)
    plain = replace(near, signs=[0])  # it need not rise with the entries
    return _of_dual(bar, plain, None, np.outer(u[:, 0], vt[0]), lambda z, axis: ball_functions.nuclear(z))


def nuclear(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """Above <Z, X> for every Z of singular values at most 1."""
    u, _, vt = np.linalg.svd(_tame(near.points[0]), full_matrices=False)
    plain = replace(near, signs=[0])
    return _of_dual(bar, plain, None, u @ vt, lambda z, axis: ball_functions.largest_singular_value(z))


@np.errstate(all="ignore")
def logdet(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """At or below bar * logdet(F): bar (<K, F> - log det K - n), for bar <= 0.

    K is the slope guessed, else the inverse of the point, else the identity.
    """
    slope = slope_of(bar, near)
    n = len(slope)
    for tried in (slope, float_functions.inv(float_functions.psd_floor(_tame(near.points[0]))), np.eye(n)):
        k = exact((tried + tried.T) / 2)
        volume = ball_functions.log_determinant(k)
        if np.isfinite(volume.rad):
            break
    return balls.mul(bar, balls.neg(balls.add(volume, exact(float(n))))), (balls.mul(bar, k),)


@np.errstate(all="ignore")
def huber(bar: Ball, near: Near, a: Ball | None, limit: Ball | None) -> Minorant:
    """s x - s² / 4, entry by entry; s is the slope guessed, else the derivative at the point."""
    assert limit is not None  # the check refuses one that is chosen
    most = 2.0 * max(float(limit.lower), 0.0)
    point = 2.0 * np.nan_to_num(np.asarray(near.points[0], dtype=float))
    slopes = _slope_in_shape(bar, near, 0)
    s = _of_sign(np.clip(np.where(np.isfinite(slopes), slopes, point), -most, most), near.signs[0])
    square = balls.mul(exact(0.25), balls.mul(exact(s), exact(s)))
    return balls.neg(balls.mul(bar, square)), (balls.mul(bar, exact(s)), None)


@np.errstate(all="ignore")
def entropy(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """The tangent at the x where the derivative -log x - 1 is the slope guessed, else at the point."""
    point = np.nan_to_num(np.asarray(near.points[0], dtype=float), nan=1.0)
    candidates = np.exp(np.clip(-slope_of(bar, near) - 1.0, -LARGEST_EXPONENT / 2, LARGEST_EXPONENT / 2))
    at = np.clip(np.where(np.isfinite(candidates), candidates, point), LEAST_POINT, LARGEST_RATIO)
    return tangent(
        bar,
        at,
        ball_functions.entropy(exact(at)),
        balls.neg(balls.add(ball_functions.log(exact(at)), exact(1.0))),
    )


@np.errstate(all="ignore")
def rel_entropy(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    """(log t + 1) x - t y: t is minus the slope guessed for y, else as that for x says, or the point."""
    one, two = (np.asarray(p, dtype=float) for p in near.points)
    ratio = -_slope_in_shape(bar, near, 1)
    for other in (np.exp(_slope_in_shape(bar, near, 0) - 1.0), one / two, np.ones(bar.mid.shape)):
        ratio = np.where(np.isfinite(ratio) & (ratio > 0), ratio, other)
    t = exact(np.clip(ratio, LEAST_POINT, LARGEST_RATIO))
    first = balls.add(ball_functions.log(t), exact(1.0))
    return _both(balls.mul(bar, first), balls.neg(balls.mul(bar, t)), near, a, b)


@np.errstate(all="ignore")
def matrix_frac(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    """2 <K, X> - <K Kᵀ, P>, where a number stands for a matrix of one entry, and X then for a row.

    2 K is the slope guessed for X, else P⁻¹ X at the point. Where X is constant, K Kᵀ is minus the slope
    guessed for P, and K turned so that <K, X> is largest.
    """
    points = zip(near.points, (a, b), strict=True)
    x, p = (_tame(point if given is None else given.mid) for point, given in points)
    columns = x.reshape(len(p) if p.ndim else 1, -1)
    k, square = slope_of(bar, near) / 2, _symmetric(-np.atleast_2d(slope_of(bar, near, 1)))
    if square is not None and a is not None:
        half, _ = _psd_root(square)
        u, _, vt = np.linalg.svd(half @ columns, full_matrices=False)
        k = (half @ u @ vt).reshape(x.shape)
    if not np.isfinite(k).all():
        k = float_functions.solve(float_functions.psd_floor(np.atleast_2d(p)), columns).reshape(x.shape)
    k = _of_sign(np.where(np.isfinite(k), k, 0.0), 0 if p.ndim else near.signs[0])
    squares = balls.matmul(exact(k.reshape(columns.shape)), exact(k.reshape(columns.shape).T))
    falling = balls.mul(balls.neg(bar), squares if p.ndim else squares[0, 0])
    constant, parts = _both(by_slopes(bar, exact(2.0 * k)), falling, near, a, b)
    return balls.total(constant), parts


@np.errstate(all="ignore")
def geo_mean(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """<g, x>: g is the slope guessed, else as at the point, over the geometric mean of n g."""
    g = slope_of(bar, near)
    g = g if np.isfinite(g).all() and (g > 0).all() else 1.0 / np.nan_to_num(near.points[0])
    scaled = exact(np.clip(np.nan_to_num(g), LEAST_POINT, LARGEST_RATIO) * g.size)
    over = balls.div(scaled, ball_functions.geo_mean(scaled))
    return NOTHING, (balls.div(balls.mul(bar, over), exact(float(g.size))),)


def _of_sum(z: Ball, whole: Array, k: Ball, is_least: bool) -> Ball:
    """A ball of what is between 0 and ``whole`` (ones, or the identity), as z is, and has sum, or trace, k.

    z is shortened to a sum of at most k, and a share of ``whole`` - z fills that up, unless ``is_least``.
    """
    count, ones = exact(whole.sum()), exact(whole)
    k, most = balls.smaller(k, count), float(inner(z, ones).upper)
    # Shorter by more than the rounding.
    z = by_slopes(exact((1.0 - 1e-12) * min(1.0, max(float(k.lower), 0.0) / most) if most > 0 else 1.0), z)
    share = balls.div(balls.sub(k, inner(z, ones)), balls.sub(count, inner(z, ones)))
    return z if is_least else balls.add(z, balls.mul(share, balls.sub(ones, z)))


@np.errstate(all="ignore")
def sum_largest(bar: Ball, near: Near, a: Ball | None, k: Ball) -> Minorant:
    """<g, x>: g is near the slope guessed, else it marks the largest entries of the point."""
    g, point = slope_of(bar, near), np.nan_to_num(near.points[0])
    g = g if np.isfinite(g).all() else float_functions.shares_of_largest(point, float(k.mid))
    shares = _of_sum(exact(np.clip(g, 0.0, 1.0)), np.ones(g.shape), k, near.signs[0] > 0)
    return NOTHING, (by_slopes(bar, shares), None)


@np.errstate(all="ignore")
def lambda_sum_largest(bar: Ball, near: Near, a: Ball | None, k: Ball) -> Minorant:
    """<G, X>: G is near the slope guessed, else it projects to the first eigenvectors of the point.

    For computed eigenvectors V and weights w in [0, 1], V diag(w) Vᵀ is at most ‖V‖² I, and ‖V‖² at most
    1 + ‖VᵀV - I‖.
    """
    slope, eye = _symmetric(slope_of(bar, near)), np.eye(len(near.points[0]))
    w, vectors = float_functions.eigh(_tame(near.points[0]) if slope is None else slope)
    w = float_functions.shares_of_largest(w, float(k.mid)) if slope is None else np.clip(w, 0.0, 1.0)
    v, turned = exact(vectors), exact(vectors.T)
    off = balls.norm(balls.sub(balls.matmul(turned, v), exact(eye)))
    g = balls.div(balls.matmul(balls.mul(v, exact(w)), turned), exact(np.nextafter(1.0 + off, np.inf)))
    return NOTHING, (balls.mul(bar, _of_sum(g, eye, k, is_least=False)), None)


def eigenvalue(sign: int) -> Callable[..., Minorant]:
    """The rule of the largest (1) eigenvalue, or of the smallest (-1), which is minus the largest of -F."""

    def rule(bar: Ball, near: Near, a: Ball | None) -> Minorant:
        slopes = [None if slope is None else sign * slope for slope in near.slopes]
        turned = Near([sign * point for point in near.points], slopes, near.signs)
        _, (p, _) = lambda_sum_largest(balls.mul(exact(sign), bar), turned, a, exact(1.0))
        return NOTHING, (None if p is None else balls.mul(exact(sign), p),)

    return rule


def kron(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    """For each entry of the chosen factor, the products of the other one's entries with ``bar`` added up."""
    (m, n), (p, q) = map(np.shape, near.points)
    product = balls.mul(bar, ball_functions.kron(a or exact(np.ones((m, n))), b or exact(np.ones((p, q)))))
    parts = Ball(product.mid.reshape(m, p, n, q), product.rad.reshape(m, p, n, q))
    rows = balls.total(parts, axis=0 if a else 1)
    return NOTHING, (None, balls.total(rows, axis=1)) if a else (balls.total(rows, axis=2), None)
