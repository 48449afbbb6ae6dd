"""The square root from below by resolvents: √x ≥ Σⱼ cⱼ x / (x + sⱼ) + c x for all x in [0, λ], with proof.

With x = e^{2y} the integral of (2/π) x e^τ / (x + e^{2τ}) over τ is √x, and h times the sum of its values at
τ = j h is √x (h/π) Σ sech(j h - y). By Poisson's formula that is √x (1 + 2 Σ_{k ≥ 1} cos(2πky/h) sech(π²k/h))
and at most √x (1 + ε) with ε = 2 Σ sech(π²k/h), whatever x is: 3e-7 at h = 0.6 (Trefethen and Weideman, SIAM
Review 56, 2014, on the trapezoidal rule). All terms are positive, so leaving some out keeps the inequality;
those with large s are nearly linear in x: x / (x + s) ≥ x / (λ + s) on [0, λ].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import Array

__all__ = ["RationalRoot", "rational_root"]

SLACK = 1e-12  # of all weights: far more than the rounding of these few operations
ABOVE = 1.5  # natural logarithm of √(s / largest) up to which nodes are kept
TAIL = 60  # further nodes, which make up the linear term


@dataclass(frozen=True, eq=False)
class RationalRoot:
    """√x ≥ Σ weights · x / (x + shifts) + slope · x for x in [0, largest]."""

    weights: Array
    shifts: Array
    slope: float
    largest: float

    def at(self, x: Array) -> Array:
        """The right side, for x (…)."""
        terms = self.weights * (x[..., None] / (x[..., None] + self.shifts))
        return np.asarray(terms.sum(axis=-1) + self.slope * x)


def rational_root(least: float, largest: float, step: float = 0.6, below: float = 6.0) -> RationalRoot:
    """Nodes for a spectrum in [0, largest], positive, of which next to all that matters is above ``least``.

    step : h above. below : natural logarithm of √(least / s) down to which nodes are kept: at x = ``least``
    some e^-below of √x is missing, at larger x less by √(least / x). From ten to thirty nodes.
    """
    epsilon = 2 * sum(1 / math.cosh(math.pi**2 * k / step) for k in range(1, 20))
    first = math.floor((math.log(least) / 2 - below) / step)
    last = math.ceil((math.log(largest) / 2 + ABOVE) / step)
    places = step * np.arange(first, last + 1 + TAIL)
    weights = (2 * step / math.pi) * np.exp(places) / (1 + epsilon) * (1 - SLACK)
    shifts = np.exp(2 * places)
    kept = len(places) - TAIL
    slope = float((weights[kept:] / (largest + shifts[kept:])).sum()) * (1 - SLACK)
    return RationalRoot(weights[:kept], shifts[:kept], slope, largest)
