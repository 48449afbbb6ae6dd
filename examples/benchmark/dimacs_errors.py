"""DIMACS errors of a solver's own point, on the conic data as they were handed over.

minimize c.T x subject to A x + s = b, s in K has the dual: maximize -b.T y subject to A.T y + c = 0, y in K*.
In the DIMACS challenge's pair y is the primal point and (x, s) the dual one; here err1, err2 are those of (x,
s) and err3, err4 those of y, as the problem reads:

    err1 = |A x + s - b| / (1 + max |b|)              err2 = max(0, -least(s)) / (1 + max |b|)
    err3 = |A.T y + c| / (1 + max |c|)                err4 = max(0, -least(y)) / (1 + max |c|)
    err5 = (c.T x + b.T y) / (1 + |c.T x| + |b.T y|)  err6 = s.T y / (1 + |c.T x| + |b.T y|)

err5 and err6 have signs. |.| adds the lengths of a cone's rows, the linear ones together. ``least`` is the
smallest eigenvalue over all cones, of (t, u) it is t - |u|. For exponential and power cones, which DIMACS did
not have, it is minus the smallest r for which the point + r p lies in the cone, for p = (0, 1, 2) (dual: (-1,
1, 1)) and (1, 1, 0): with p the identity that is the smallest eigenvalue. A solver without an s has b - A x,
and with it err1 = 0.

Source: Mittelmann, An independent benchmarking of SDP and SOCP solvers, Mathematical Programming 2003.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from called_solvers import matrix_places

__all__ = ["dimacs_errors", "least"]

HALVINGS = 60
Array = Any


def dimacs_errors(problem: Any, x: Array, y: Array, s: Array | None = None) -> tuple[float, ...]:
    """err1 to err6 of a ``ConicProblem`` without a quadratic objective; x (n,), y and s (m,)."""
    a, b, c = problem.A, problem.b, problem.c
    slack = b - a @ x if s is None else s
    large_b, large_c = (1 + float(np.abs(v).max(initial=0.0)) for v in (b, c))
    primal, dual = float(c @ x), float(b @ y)
    size = 1 + abs(primal) + abs(dual)
    return (
        _length(problem, a @ x + slack - b) / large_b,
        max(0.0, -least(problem.cones, slack, False)) / large_b,
        float(np.linalg.norm(a.T @ y + c)) / large_c,
        max(0.0, -least(problem.cones, y, True)) / large_c,
        (primal + dual) / size,
        float(slack @ y) / size,
    )


def _length(problem: Any, v: Array) -> float:
    """The lengths of the parts, added; those of linear rows are one part."""
    linear = problem.cones.zero + problem.cones.nonnegative
    parts = [v[:linear]] + [v[b.first : b.end] for b in problem.cones.blocks if b.first >= linear]
    return float(sum(np.linalg.norm(part) for part in parts))


def least(cones: Any, v: Array, is_dual: bool) -> float:
    """The smallest eigenvalue over all cones; of equations minus the largest |s|, nothing where y is free."""
    found = math.inf
    for block in cones.blocks:
        part = v[block.first : block.end]
        if block.kind == "zero":
            value = math.inf if is_dual else -float(np.abs(part).max())
        elif block.kind == "nonnegative":
            value = float(part.min())
        elif block.kind == "second-order":
            value = float(part[0] - np.linalg.norm(part[1:]))
        elif block.kind == "psd":
            value = float(np.linalg.eigvalsh(matrix_of(part, block.size))[0])
        else:
            value = -_distance(part, block, is_dual)
        found = min(found, value)
    return found


def matrix_of(part: Array, side: int) -> Array:
    """The symmetric matrix of a lower triangle with entries beside the diagonal times √2."""
    matrix = np.zeros((side, side))
    for value, (i, j) in zip(part, matrix_places(side), strict=True):
        matrix[i, j] = matrix[j, i] = value if i == j else value / math.sqrt(2.0)
    return matrix


def _distance(part: Array, block: Any, is_dual: bool) -> float:
    """The smallest r with ``part + r p`` in the cone, by halving; negative inside."""
    inside: Callable[[Array], bool]
    if block.kind == "exponential":
        inside, p = (
            (_in_exponential_dual, (-1.0, 1.0, 1.0)) if is_dual else (_in_exponential, (0.0, 1.0, 2.0))
        )
    else:
        inside, p = (lambda v: _in_power(v, block.alpha, is_dual)), (1.0, 1.0, 0.0)
    size = 1.0 + float(np.abs(part).max())
    low, high = -size, size
    while not inside(part + high * np.array(p)):
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if inside(part + middle * np.array(p)) else (middle, high)
    return high


def _in_exponential(v: Array) -> bool:
    """(u, v, w) with w >= v exp(u / v), v > 0, or v = 0, u <= 0, w >= 0."""
    u, y, w = (float(e) for e in v)
    if y <= 0:
        return y == 0 and u <= 0 and w >= 0
    return w > 0 and math.log(w / y) >= u / y


def _in_exponential_dual(v: Array) -> bool:
    """(u, v, w) with -u exp(v / u - 1) <= w, u < 0, or u = 0, v >= 0, w >= 0."""
    u, y, w = (float(e) for e in v)
    if u >= 0:
        return u == 0 and y >= 0 and w >= 0
    return w > 0 and math.log(-u) + y / u - 1 <= math.log(w)


def _in_power(v: Array, alpha: float, is_dual: bool) -> bool:
    """(u, v, w) with u**alpha v**(1 - alpha) >= |w|; dual: with u / alpha and v / (1 - alpha)."""
    u, y, w = (float(e) for e in v)
    if is_dual:
        u, y = u / alpha, y / (1 - alpha)
    return u >= 0 and y >= 0 and u**alpha * y ** (1 - alpha) >= abs(w)
