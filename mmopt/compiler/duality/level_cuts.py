"""Where variables without any range lie, from how the Lagrangian grows around a point.

Every reading at a point moved elsewhere is a cut: C + <R, z> <= f <= level for all feasible points up to
the level, z the variables in question and C with all others at their least. With coordinates w, z = z₀ + V w
for an invertible V, let ρ = |w|∞ at such a point, reached by entry k with sign s. If g = Vᵀ R of the cut in
that direction has s gₖ > Σ |gⱼ| over the others, then ρ (s gₖ - Σ |gⱼ|) <= level - C - <R, z₀>. So ρ is at
most the largest of these quotients, if there is such a cut for every k and s. V are the eigenvectors of how R
changes, so that a strictly convex f has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mmopt.compiler.duality.intervals import WIDER, Range
from mmopt.compiler.duality.lagrangian import AffineBound, Multipliers, read
from mmopt.compiler.duality.nodes import Nodes, nodes_of
from mmopt.numerics import balls
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import Ball, exact

__all__ = ["ranges_by_cuts"]

MOST_UNKNOWNS = 128  # each takes four readings
STEP = 1e-3  # of the size of the point, or 1: by which R is differentiated
REACH = 2.0  # cuts are so many times farther off than a quadratic function would reach the level
ORTHONORMAL = 1e-6

# Of an affine bound, what all but some variables add to it at least; -inf where that is not bounded.
Least = Callable[[AffineBound, Sequence[str]], float]


def ranges_by_cuts(
    nodes: Nodes, multipliers: Multipliers, names: Sequence[str], level: float, least: Least
) -> Mapping[str, Range] | None:
    """The ranges of these variables, or None. TimeLimitError as ``require_time``."""
    start = np.concatenate([np.ravel(nodes.point[name]) for name in names]).astype(float)
    if start.size > MOST_UNKNOWNS:
        return None

    def cut(z: Array) -> tuple[float, Ball]:
        """level - C - <R, z₀> at most, and R."""
        moved = nodes_of(nodes.instance, {**nodes.point, **_parts(nodes, names, z)}, nodes.bounds)
        found = read(moved, multipliers, {})
        each = [found.residuals.get(name, exact(np.zeros(nodes.chosen_shape(name)))) for name in names]
        slope = balls.joined([Ball(r.mid.ravel(), r.rad.ravel()) for r in each])
        here = balls.total(balls.mul(slope, exact(start)))
        lowest = least(found, names) + float(here.lower)
        return (level - lowest) + WIDER * (abs(level) + abs(lowest)), slope

    step = STEP * max(1.0, float(np.abs(start).max()))
    ends = [[cut(start + s * step * e)[1].mid for s in (1.0, -1.0)] for e in np.eye(start.size)]
    bends = np.array([(one - other) / (2.0 * step) for one, other in ends])
    if not np.isfinite(bends).all():
        return None
    values, v = np.linalg.eigh((bends + bends.T) / 2)
    gram = balls.sub(balls.matmul(exact(v.T), exact(v)), exact(np.eye(start.size)))
    slack = cut(start)[0]
    if not (values > 0).all() or balls.norm(gram) > ORTHONORMAL or not np.isfinite(slack):
        return None
    radius = 0.0
    for k, value in enumerate(values):
        for sign in (1.0, -1.0):
            room, slope = cut(start + sign * REACH * np.sqrt(2.0 * max(slack, 0.0) / value) * v[:, k])
            g = balls.matmul(exact(v.T), slope)
            others = float(np.delete(np.abs(g.mid) + g.rad, k).sum())
            ahead = (sign * float(g.mid[k]) - float(g.rad[k])) - others * (1.0 + WIDER)
            if not (ahead > 0 and np.isfinite(room)):
                return None
            radius = max(radius, max(room, 0.0) / ahead * (1.0 + WIDER))
    away = np.abs(v).sum(axis=1) * radius * (1.0 + WIDER)
    low, high = (_parts(nodes, names, start + s * (away + WIDER * np.abs(start))) for s in (-1.0, 1.0))
    return {name: Range(low[name], high[name]) for name in names}


def _parts(nodes: Nodes, names: Sequence[str], z: Array) -> dict[str, Array]:
    """A vector as the values of these variables."""
    found, at = {}, 0
    for name in names:
        shape = nodes.chosen_shape(name)
        size = int(np.prod(shape))
        found[name] = z[at : at + size].reshape(shape)
        at += size
    return found
