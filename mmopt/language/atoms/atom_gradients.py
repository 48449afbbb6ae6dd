"""Derivatives of the atoms, backwards: from a number's derivative by the value to that by each argument.

A rule takes the arguments, the value and the derivative ``bar`` of some number by the value (of its
shape), and gives that number's derivative by each argument (of its shape): Giles 2008, An extended
collection of matrix derivative results, has the matrix ones with their proofs. Where an atom has no
derivative (abs at 0, max between equals) it is a subgradient. Rules of one line stand in the table's rows.

abs, max and min can be rounded off: with ``rounding`` mu > 0 they are sqrt(x² + mu²) and mu times the
logarithm of the sum of exp(±x / mu), which differ from them by at most mu (mu log of the number of
entries) and have derivatives everywhere (Nesterov 2005, Smooth minimization of non-smooth functions).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp as log_sum_exp, softmax

from mmopt.numerics import Array, eigh

# The derivative of a square root at 0 is infinite; a large number takes its place.
LEAST_ROOT = 1e-100


def fitted(bar: Any, a: Any) -> Any:
    """``bar`` in the shape of ``a``: a number that was spread over an array collects all of it."""
    return bar if np.ndim(a) or not np.ndim(bar) else np.sum(bar)


def spread(reduced: Any, axis: int | None) -> Any:
    """A value reduced along an axis, in a shape that spreads over the entries that it was computed from."""
    return reduced if axis is None else np.expand_dims(reduced, axis)


def power(a: Any, b: float, value: Any, bar: Any) -> tuple[Any, float]:
    """The exponent is a plain number."""
    return (bar * b * np.power(a, b - 1.0) if b else np.zeros_like(bar)), 0.0


def matmul(a: Array, b: Array, value: Any, bar: Any) -> tuple[Array, Array]:
    if a.ndim == 1 and b.ndim == 1:
        return bar * b, bar * a
    if a.ndim == 1:
        return b @ bar, np.outer(a, bar)
    return np.outer(bar, b) if b.ndim == 1 else bar @ b.T, a.T @ bar


def root(a: Array, value: Array, bar: Array) -> tuple[Array]:
    """The value R is differentiated by R dR + dR R = dX, in the eigenvectors of X, the argument.

    Where both eigenvalues are 0, so is the derivative.
    """
    values, vectors = eigh(a)
    roots = np.sqrt(np.clip(values, 0.0, None))
    sums = np.add.outer(roots, roots)
    inside = vectors.T @ ((bar + bar.T) / 2) @ vectors
    positive = sums > len(a) * np.finfo(float).eps * sums.max(initial=0.0)
    return (vectors @ np.where(positive, inside / np.where(positive, sums, 1.0), 0.0) @ vectors.T,)


def nuclear(a: Array, value: Any, bar: Any) -> tuple[Array]:
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    positive = s > len(s) * np.finfo(float).eps * s.max(initial=0.0)
    return (bar * (u[:, positive] @ vt[positive]),)


def polar(a: Array, value: Array, bar: Array) -> tuple[Array]:
    """The value P of M = U diag(s) Vᵀ has dP = U ((Z - Zᵀ) / (sᵢ + sⱼ)) Vᵀ with Z = Uᵀ dM V."""
    u, s, vt = np.linalg.svd(a)
    inside = u.T @ bar @ vt.T
    return (u @ ((inside - inside.T) / np.add.outer(s, s)) @ vt,)


def rounded_extreme(sign: int) -> Callable[..., Any]:
    """The function for the largest (1) or smallest (-1) entry, rounded off."""

    def value(a: Array, rounding: float, axis: int | None = None) -> Any:
        return sign * rounding * log_sum_exp(sign * np.asarray(a) / rounding, axis=axis)

    return value


def extreme(sign: int) -> Callable[..., tuple[Array]]:
    """The gradient of max (1) or min (-1): all to the extreme entry, shared between equal ones."""

    def rule(a: Array, value: Any, bar: Any, axis: int | None = None, rounding: float = 0.0) -> tuple[Array]:
        if rounding:
            weights = softmax(sign * np.asarray(a) / rounding, axis=axis)
        else:
            at = (np.asarray(a) == spread(value, axis)).astype(float)
            weights = at / at.sum(axis=axis, keepdims=axis is not None)
        return (spread(bar, axis) * weights,)

    return rule


def larger(sign: int) -> Callable[..., tuple[Any, Any]]:
    """The gradient of the larger (1) or smaller (-1) of two, entry by entry, shared between equal ones."""

    def rule(a: Any, b: Any, value: Any, bar: Any) -> tuple[Any, Any]:
        share = (1.0 + sign * np.sign(np.subtract(a, b))) / 2
        return fitted(bar * share, a), fitted(bar * (1.0 - share), b)

    return rule


def length(a: Array, value: Any, bar: Any, axis: int | None = None) -> tuple[Array]:
    """The gradient of the root of a sum of squares; 0 where that is 0."""
    return (spread(bar / np.where(np.asarray(value) > 0, value, 1.0), axis) * a,)


def norm_inf(a: Array, value: Any, bar: Any, axis: int | None = None) -> tuple[Array]:
    (weights,) = extreme(1)(np.abs(a), value, bar, axis=axis)
    return (weights * np.sign(a),)


def extreme_eigenvalue(at: int) -> Callable[..., tuple[Array]]:
    """The gradient of the largest (-1) or smallest (0) eigenvalue, from one of its eigenvectors."""

    def rule(a: Array, value: Any, bar: Any) -> tuple[Array]:
        vector = eigh(a)[1][:, at]
        return (bar * np.outer(vector, vector),)

    return rule


def sigma_max(a: Array, value: Any, bar: Any) -> tuple[Array]:
    u, _, vt = np.linalg.svd(a, full_matrices=False)
    return (bar * np.outer(u[:, 0], vt[0]),)


def huber(a: Any, limit: Any, value: Any, bar: Any) -> tuple[Any, Any]:
    near = np.clip(a, -limit, limit)  # where the loss is a square
    return 2.0 * bar * near, fitted(bar * 2.0 * (np.abs(a) - np.abs(near)), limit)
