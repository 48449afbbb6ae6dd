"""Affine functions below the atoms, with proof: what the Lagrangian of a program is read with.

Let ``bar`` be the derivative of some number by the value of an atom f: of any sign where f is affine, >= 0
where it is convex, <= 0 where it is concave, and psd or its negative where f is curved in the order of psd
matrices (so the check of the program's curvature says). A rule gives a number c and, for each argument that
is chosen, an array p of its shape with

    <bar, f(x)> >= c + <p, x>  for every argument x for which f is defined,

both as balls that contain what belongs to the true ``bar`` in the ball that came in. Where an argument is
itself curved, p has the sign (is psd or its negative) that its curvature asks for.

A convex f is above its tangents, whose points are any floats; a norm is above every linear function whose
coefficients the dual norm bounds by 1, and max above every average. Which of them is *best* is told by
``Near``, of any origin; nothing of it is trusted. Those of matrices are in
``matrix_minorants.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from mmopt.numerics import ball_functions, balls
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import Ball, exact

__all__ = [
    "Minorant",
    "Near",
    "absolute",
    "add",
    "by_slopes",
    "diag",
    "div",
    "exp",
    "extreme",
    "fitted",
    "inner",
    "log",
    "logsumexp",
    "matmul",
    "mul",
    "neg",
    "power",
    "slope_of",
    "spread",
    "sqrt",
    "sub",
    "tangent",
    "total",
    "trace",
    "transpose",
]

# c and, for each argument, p; None for one that is constant and of which c has taken care.
Minorant = tuple[Ball, tuple[Ball | None, ...]]
NOTHING = exact(0.0)
LARGEST_EXPONENT = 700.0  # exp of more overflows
LEAST_POINT = 1e-150  # of a tangent where only positive numbers are allowed; its square is a float


@dataclass(frozen=True)
class Near:
    """Where a minorant should be good: about the arguments at the optimum, and about what p should be there.

    points : one a argument, arrays or numbers. slopes : the same for p, None where nothing is known.
    signs : of the arguments, as their types say: +1 (nonnegative), -1 or 0. These alone have to be right.
    """

    points: Sequence[Any]
    slopes: Sequence[Any]
    signs: Sequence[int]


def fitted(bar: Ball, point: Any) -> Ball:
    """``bar`` for an argument: what is beside a number that was spread over an array is summed up."""
    return bar if np.ndim(point) or not bar.mid.ndim else balls.total(bar)


def spread(bar: Ball, axis: int | None) -> Ball:
    """What was reduced along an axis, beside every entry that went into it."""
    return bar if axis is None else Ball(np.expand_dims(bar.mid, axis), np.expand_dims(bar.rad, axis))


def _over(bar: Ball, shape: tuple[int, ...]) -> Ball:
    return Ball(np.broadcast_to(bar.mid, shape), np.broadcast_to(bar.rad, shape))


def inner(a: Ball, b: Ball) -> Ball:
    """<a, b>."""
    return balls.total(balls.mul(a, b))


def by_slopes(bar: Ball, slopes: Ball) -> Ball:
    """``bar`` times slopes, where those that are 0 leave nothing, not even what is too small for a float."""
    found = balls.mul(bar, slopes)
    nothing = (slopes.mid == 0.0) & (slopes.rad == 0.0)
    return Ball(found.mid, np.where(nothing, 0.0, found.rad))


# -- affine atoms: the adjoint


def add(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    return NOTHING, (fitted(bar, near.points[0]), fitted(bar, near.points[1]))


def sub(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    return NOTHING, (fitted(bar, near.points[0]), fitted(balls.neg(bar), near.points[1]))


def neg(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    return NOTHING, (balls.neg(bar),)


def mul(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    if a is not None:
        return NOTHING, (None, fitted(balls.mul(bar, a), near.points[1]))
    assert b is not None  # the check refuses products of what is chosen
    return NOTHING, (fitted(balls.mul(bar, b), near.points[0]), None)


def matmul(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    if a is not None:
        other = np.ndim(near.points[1])
        if a.mid.ndim == 1:  # a number, or a row: bar times a
            p = balls.mul(bar, a) if other == 1 else _outer(a, bar)
        else:
            p = balls.matmul(balls.transpose(a), bar)
        return NOTHING, (None, p)
    assert b is not None
    one = np.ndim(near.points[0])
    if b.mid.ndim == 1:
        p = balls.mul(bar, b) if one == 1 else _outer(bar, b)
    else:
        p = balls.matmul(bar, balls.transpose(b))
    return NOTHING, (p, None)


def _outer(a: Ball, b: Ball) -> Ball:
    return balls.mul(a[:, None], b[None, :])


def transpose(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    return NOTHING, (balls.transpose(bar),)


def total(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
    return NOTHING, (_over(spread(bar, axis), np.shape(near.points[0])),)


def trace(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    return NOTHING, (balls.mul(bar, exact(np.eye(len(near.points[0])))),)


def diag(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    return NOTHING, (balls.diag(bar),)


# -- entry by entry: tangents


def slope_of(bar: Ball, near: Near, at: int = 0) -> Array:
    """About the derivative of f by an argument that belongs to the slope told; no number where none is."""
    told = near.slopes[at]
    if told is None:
        return np.full(np.shape(near.points[at]), np.nan)
    with np.errstate(all="ignore"):
        return np.asarray(told / np.where(np.abs(bar.mid) > 0, bar.mid, np.nan), dtype=float)


def _points(found: Any, near: Near, least: float = -np.inf, most: float = np.inf, at: int = 0) -> Array:
    """Points for tangents: those found where they are finite, else the argument's; within bounds."""
    points = np.asarray(near.points[at], dtype=float)
    points = np.where(np.isfinite(points), points, 1.0)
    return np.clip(np.where(np.isfinite(found), found, points), least, most)


def tangent(bar: Ball, at: Array, value: Ball, slope: Ball) -> Minorant:
    """f(x) is beyond value + slope (x - at), entry by entry."""
    return inner(bar, balls.sub(value, balls.mul(slope, exact(at)))), (balls.mul(bar, slope),)


def absolute(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """|x| >= s x for every s in [-1, 1]."""
    slopes = slope_of(bar, near)
    s = np.clip(np.where(np.isfinite(slopes), slopes, np.sign(np.nan_to_num(near.points[0]))), -1.0, 1.0)
    s = np.maximum(s, 0.0) if near.signs[0] > 0 else np.minimum(s, 0.0) if near.signs[0] < 0 else s
    return NOTHING, (balls.mul(bar, exact(s)),)


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
def log(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    at = _points(1.0 / slope_of(bar, near), near, LEAST_POINT)
    return tangent(bar, at, ball_functions.log(exact(at)), balls.div(exact(1.0), exact(at)))


@np.errstate(all="ignore")
def power(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    """Tangents at points of the sign that the base has; at any where the exponent is even."""
    assert b is not None  # an exponent is constant
    p = float(b.mid)
    if p == 1.0 and b.is_exact:
        return NOTHING, (bar, None)
    slopes = slope_of(bar, near) / p
    is_even = b.is_exact and p % 2 == 0 and p > 0
    found = np.sign(slopes) * np.abs(slopes) ** (1.0 / (p - 1.0)) if is_even else slopes ** (1.0 / (p - 1.0))
    least = -np.inf if is_even and near.signs[0] <= 0 else 0.0 if p > 1 else LEAST_POINT
    at = _points(found, near, least, 0.0 if near.signs[0] < 0 else np.inf)
    value = balls.power(exact(at), b)
    slope = balls.mul(b, balls.div(value, exact(np.where(at == 0.0, 1.0, at))))  # at 0 the value is 0
    constant, (pulled,) = tangent(bar, at, value, slope)
    return constant, (pulled, None)


@np.errstate(all="ignore")
def div(bar: Ball, near: Near, a: Ball | None, b: Ball | None) -> Minorant:
    """By a constant; or a constant >= 0 by x > 0, which is above w (2 / u - x / u²) for every u > 0."""
    if b is not None:
        return NOTHING, (fitted(balls.div(bar, b), near.points[0]), None)
    assert a is not None
    weights = fitted(balls.mul(bar, a), near.points[1])
    told = near.slopes[1]
    found = np.sqrt(weights.mid / -told) if told is not None else np.full(weights.mid.shape, np.nan)
    at = exact(_points(np.where(found > 0, found, np.nan), near, LEAST_POINT, at=1))
    pulled = balls.div(balls.div(weights, at), at)
    return balls.total(balls.mul(exact(2.0), balls.div(weights, at))), (None, balls.neg(pulled))


# -- reductions and norms


def _shares(
    bar: Ball, near: Near, fallback: Callable[[Array], Array], axis: int | None
) -> tuple[Array, Ball]:
    """Numbers >= 0 near the slopes told, and these over their sums along the axis."""
    told, point = near.slopes[0], np.asarray(near.points[0], dtype=float)
    by = np.where(spread(bar, axis).mid < 0, -1.0, 1.0)
    shares = np.zeros(point.shape) if told is None else np.maximum(by * np.nan_to_num(told), 0.0)
    sums = shares.sum(axis=axis, keepdims=True)
    with np.errstate(all="ignore"):
        shares = np.where((sums > 0) & np.isfinite(sums), shares, fallback(np.nan_to_num(point)))
    sums = balls.total(exact(shares), axis=axis)
    found = balls.div(exact(shares), spread(sums, axis))
    return shares, Ball(found.mid, np.where(shares == 0.0, 0.0, found.rad))


def extreme(sign: int) -> Callable[..., Minorant]:
    """max (1) and min (-1) are beyond every average."""

    def rule(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
        def extremes(point: Array) -> Array:
            ends = (sign * point).max(axis=axis, keepdims=True)
            return np.asarray(sign * point == ends, dtype=float)

        _, shares = _shares(bar, near, extremes, axis)
        return NOTHING, (by_slopes(spread(bar, axis), shares),)

    return rule


def logsumexp(bar: Ball, near: Near, a: Ball | None, axis: int | None = None) -> Minorant:
    """Above <w, x> - sum(w log w) for all shares w (Boyd & Vandenberghe, example 3.25)."""
    sizes, shares = _shares(bar, near, lambda point: scipy.special.softmax(point, axis=axis), axis)
    used = sizes > 0
    logs = ball_functions.log(Ball(np.where(used, shares.mid, 1.0), np.where(used, shares.rad, 0.0)))
    entropy = balls.total(balls.mul(balls.neg(shares), logs), axis=axis)
    return inner(bar, entropy), (by_slopes(spread(bar, axis), shares),)
