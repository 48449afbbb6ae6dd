"""1 / z as a short sum of exponentials (Braess & Hackbusch 2005, Approximation of 1/x by exponential sums).

With z = x + y the sum separates x from y, which turns the Hessian of a nuclear norm into a few products of
matrices.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import nnls

__all__ = ["exponentials", "many_exponentials"]

GRID = 120
MANY = 400


def exponentials(low: float, high: float, fine: bool = False) -> list[tuple[float, float]]:
    """Pairs (a, w), w > 0, with Σ w exp(-a z) near 1 / z for low <= z <= high.

    Good to a quarter, which is what a Newton step needs, or where ``fine`` to a few in a thousand: the number
    of terms grows with log(high / low).
    """
    if not 0 < low <= high < math.inf:
        raise np.linalg.LinAlgError("curvature without finite sums")
    ratio = max(high / low, 1.0 + 1e-9)
    decades = math.log10(ratio)
    terms = 2 + 3.0 * decades if fine else min(1.7 * decades, 2 + 1.2 * decades)
    terms = max(4, round(terms))
    z = np.geomspace(1.0, ratio, GRID)
    rates = np.geomspace(0.25 / ratio, 3.0, terms)
    table = np.exp(-np.outer(z, rates)) * z[:, None]
    weights, _ = nnls(table, np.ones(GRID), maxiter=100 * terms)
    return [(float(a) / low, float(w) / low) for a, w in zip(rates, weights, strict=True) if w > 0]


def many_exponentials(low: float, high: float) -> list[tuple[float, float]]:
    """The same to about twelve digits: the trapezoidal rule on ∫ exp(u - z exp(u)) du."""
    u = np.linspace(-math.log(high) - 30.0, -math.log(low) + 5.0, MANY)
    return [(float(rate), float(rate * (u[1] - u[0]))) for rate in np.exp(u)]
