"""A lower bound of the total error of every strategy that is proved, by other means than programs prove it.

Rounded down, from a measure's moments.

With H = RᵀR by component and Q the moments of a measure d, t(Q) = Σ μ tr(R Q Rᵀ)^½ and t² / Σd is a bound.
The trace of the root is monotone in Q (Löwner's theorem), so that what is below Q gives a bound too:

- With Q ≥ (1 - e/η) J Jᵀ of ``row_space_cells_and_targets.py``, t ≥ √(1 - e/η) Σ μ ‖R J‖∗, the nuclear norm
  of a ball. Of a component of dimension 1, t = ‖R‖ √(Q - e).
- Where η is too small, a little of the uniform measure is mixed in: its moments are the identity. The bound
  of the mixture (1 - ε) d + ε · uniform is at least (1 - ε)² times that of d, t being concave.
- The root is rounded: with R + E exact, t moves by at most Σ μ ‖E J‖∗ <= ‖E‖ √(tr Q) (Frobenius; Cauchy
  and Schwarz).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.ball_functions import nuclear
from mmopt.numerics.balls import GROW, exact, gamma, matmul
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.row_space import RowSpace
from mmopt.sectors.row_space_cells_and_targets import root_of_moments

ENOUGH = 1e-9  # a relative loss e/η for which nothing is mixed in
LEAST_MIXED = 1e-12


def total_error_bound(space: RowSpace, mixture: Mixture) -> float:
    """At most t(Q)² / Σd, and so at most the total squared error at sensitivity 1 of every strategy.

    Q are the exact moments of the measure for which the floats of ``mixture`` stand, its rows divided by
    their sums; 0.0 where nothing is proved. A component of dimension d takes some five arrays (d, d).
    """
    total = float(mixture.mass.upper)
    if not 0 < total < math.inf:
        return 0.0
    found = space.moments(mixture)
    # Divided by Σd at once, so that the uniform measure beside it has sum 1.
    moments = tuple((q + q.T) / (2 * total) for q in found)
    offs = [
        (off / total + 4 * EPS * float(np.linalg.norm(q))) * GROW
        for q, off in zip(moments, space.moments_rounding(mixture), strict=True)
    ]
    if not all(np.isfinite(q).all() and math.isfinite(off) for q, off in zip(moments, offs, strict=True)):
        return 0.0
    large = [at for at, d in enumerate(space.space.dims) if d > 1]
    lost = max((root_of_moments(moments[at], offs[at])[1] for at in large), default=0.0)
    share = _mixed_in(lost, [offs[at] for at in large])
    if share:
        moments = tuple((1 - share) * q + share * np.eye(len(q)) for q in moments)
        offs = [off + 4 * EPS * float(np.linalg.norm(q)) for q, off in zip(moments, offs, strict=True)]
    return _squared_down(_root_of_error(space, moments, offs))


def _mixed_in(lost: float, offs: Sequence[float]) -> float:
    """The share of the uniform measure: none where little is lost, else about what loses least, e/ε + ε."""
    best = max(LEAST_MIXED, math.sqrt(max(offs, default=0.0)))
    return 0.0 if lost <= max(ENOUGH, 2 * best) else min(0.5, best)


def _root_of_error(space: RowSpace, moments: Sequence[Array], offs: Sequence[float]) -> float:
    """At most t at moments that are off by so much."""
    often, parts = space.space.multiplicities, space.root.parts
    each = np.zeros(len(moments))
    small = [at for at, d in enumerate(space.space.dims) if d == 1]
    if small:
        lengths = np.array([float(np.linalg.norm(parts[at])) for at in small])
        values = np.array([float(moments[at][0, 0]) - offs[at] for at in small])
        rows = max(len(parts[at]) for at in small)
        each[small] = lengths * np.sqrt(np.maximum(values, 0.0)) * (1 - gamma(rows + 8))
    for at, dim in enumerate(space.space.dims):
        if dim > 1:
            lower, lost = root_of_moments(moments[at], offs[at])
            if lost < 1:
                below = float(nuclear(matmul(exact(parts[at]), exact(lower))).lower)
                each[at] = max(below, 0.0) * math.sqrt(1 - lost) * (1 - 4 * EPS)
    down = 1 - gamma(len(moments) + 4)  # of the sum, and of multiplicities that are no floats
    return float(often @ each) * down - _charge(space, moments, offs)


def _charge(space: RowSpace, moments: Sequence[Array], offs: Sequence[float]) -> float:
    """At least ‖E‖ √(tr Q), E the rounding of the root."""
    often = space.space.multiplicities
    sizes = np.array([float(np.linalg.norm(part)) for part in space.root.parts])
    traces = [float(np.trace(q)) + len(q) * off for q, off in zip(moments, offs, strict=True)]
    size = math.sqrt(float(often @ np.square(sizes))) * math.sqrt(float(often @ np.array(traces)))
    return space.root_rounding * size * GROW


def _squared_down(value: float) -> float:
    return max(value, 0.0) ** 2 * (1 - 4 * EPS) if value > 0 else 0.0
