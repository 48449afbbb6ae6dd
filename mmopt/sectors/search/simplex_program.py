"""The best point of a concave quadratic function on a simplex."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mmopt.numerics.arrays import EPS, Array

__all__ = ["best_on_simplex"]

MOST_STEPS = 60
CLOSE = 1e-10
CENTRING = 0.15
GROWTH = 10.0  # of a ridge that was too small
BACK = 0.98  # part of the way to the boundary


def best_on_simplex(slopes: Array, curvature: Array, mass: float) -> Array:
    """x (J,) >= 0 with Σx = ``mass`` that maximises slopes·x + ½ xᵀ curvature x, to some ten digits.

    curvature : (J, J), negative semidefinite up to rounding. A primal-dual interior-point method (Nocedal and
    Wright, Numerical Optimization, 2006, section 16.6); x is positive.
    """
    count = len(slopes)
    x = np.full(count, mass / count)
    scale = float(np.abs(slopes + curvature @ x).max()) or 1.0
    dual = np.full(count, scale)
    shift = 0.0
    ridge = 1e-13 * float(np.abs(np.diag(curvature)).max(initial=0.0))
    for _ in range(MOST_STEPS):
        gradient = slopes + curvature @ x
        off = gradient + dual - shift
        gap = float(x @ dual) / count
        if gap * count <= CLOSE * scale * mass and float(np.abs(off).max()) <= CLOSE * scale:
            break
        factor, ridge = _factor(np.diag(dual / x) - curvature, ridge)
        right = off + CENTRING * gap / x - dual
        one, own = scipy.linalg.cho_solve(factor, np.column_stack([np.ones(count), right])).T
        change = float((own.sum() + x.sum() - mass) / one.sum())
        step = own - change * one
        step_dual = CENTRING * gap / x - dual - dual / x * step
        most = min(_way(x, step), _way(dual, step_dual))
        x, dual, shift = x + most * step, dual + most * step_dual, shift + most * change
    return np.asarray(x * (mass / x.sum()))


def _factor(system: Array, ridge: float) -> tuple[tuple[Array, bool], float]:
    """A Cholesky factor with as much of a ridge as rounding of the curvature asks for, and the ridge."""
    while True:
        try:
            return scipy.linalg.cho_factor(system + ridge * np.eye(len(system)), check_finite=False), ridge
        except scipy.linalg.LinAlgError:
            ridge = max(GROWTH * ridge, EPS * float(np.abs(np.diag(system)).max()))
            if not np.isfinite(ridge):
                raise


def _way(point: Array, step: Array) -> float:
    """The part of a step that a positive point can take and stay so, at most 1."""
    falls = step < 0
    return min(1.0, BACK * float((point[falls] / -step[falls]).min(initial=np.inf)))
