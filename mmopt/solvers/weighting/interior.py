"""Second order: a primal-dual interior-point method from nearly optimal prices.

Unknowns are u, the slack s = 1 - Mᵀu and mu. Newton's step on a c u^(-a-1) = M mu, s∘mu = σ τ reduces to k
equations with the matrix diag(h) + M diag(mu/s) Mᵀ. In place of the second derivative a (a+1) c u^(-a-2)
stands h = (a² c u^(-a-1) + b)/u, that of the problem in log u: the same at the optimum, better away from it.
Both parts of the right side are solved at once, so that σ can be chosen by looking.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from mmopt.solvers.weighting.problem import Array, State, Weighting, better

__all__ = ["curvature", "interior"]

CENTRES = (1e-8, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 0.6)
TO_BOUNDARY = 0.99
LEAST = 0.1  # a price starts at no less than this part of its place on the central path
LOPSIDED = 1e-4  # the smallest product s·mu next to the mean; below it a step is judged worse


def curvature(problem: Weighting, u: Array, b: Array) -> Array:
    """h (k,), the diagonal of the Hessian; exactly a (a+1) c u^(-a-2) where a c u^(-a-1) = b."""
    a = problem.power
    return (a * a * problem.c * u ** (-1.0 - a) + b) / u


def interior(problem: Weighting, start: State) -> Iterator[State]:
    """The best pair after each step, the start's first; ends when a step no longer moves."""
    xp, a, operator = problem.xp, problem.power, problem.operator
    cells = operator.shape[1]
    inside = 1.0 - 0.5 * min(0.5, max(start.gap, 1e-12))
    u = start.u * inside
    s = 1.0 - operator.load(u)
    mu = start.mu / inside ** (1 + a)
    mu = xp.maximum(mu, LEAST * float(xp.sum(s * mu)) / cells / s)
    best = start
    while True:
        b = operator.price(mu)
        load = operator.load(u)
        best = better(problem.state(u, load, mu, b), best)
        yield best
        ratio = mu / s
        missing = 1.0 - load - s
        tau = float(xp.sum(s * mu)) / cells
        short = a * problem.c * u ** (-1.0 - a) - b
        right = xp.stack(
            [short + operator.price(mu + ratio * missing), -tau * operator.price(1.0 / s)], axis=1
        )
        both = operator.newton(curvature(problem, u, b), ratio, right)
        if not bool(xp.all(xp.isfinite(both))):
            return
        slacks = (missing - operator.load(both[:, 0]), -operator.load(both[:, 1]))
        moves = [_Move(xp, (u, s, mu), both, slacks, tau, sigma) for sigma in CENTRES]
        move = min(moves, key=lambda m: m.merit)
        if max(move.primal, move.dual) < 1e-10:
            return
        u = u + move.primal * move.du
        s = s + move.primal * move.ds
        mu = mu + move.dual * move.dmu


class _Move:
    """One choice of σ: its directions, how far they may go, and how good the end is."""

    def __init__(
        self,
        xp: Any,
        at: tuple[Array, Array, Array],
        both: Array,
        slacks: tuple[Array, Array],
        tau: float,
        sigma: float,
    ) -> None:
        u, s, mu = at
        self.du = both[:, 0] + sigma * both[:, 1]
        self.ds = slacks[0] + sigma * slacks[1]
        self.dmu = sigma * tau / s - mu - mu / s * self.ds
        self.primal = min(1.0, _farthest(xp, u, self.du), _farthest(xp, s, self.ds))
        self.dual = min(1.0, _farthest(xp, mu, self.dmu))
        products = (s + self.primal * self.ds) * (mu + self.dual * self.dmu)
        mean = float(xp.mean(products))
        # The mean product is the gap left, worse by one for each factor e below LOPSIDED.
        smallest = max(float(xp.min(products)) / mean, 1e-300)
        self.merit = mean * (1.0 + max(0.0, math.log(LOPSIDED / smallest)))


def _farthest(xp: Any, value: Array, move: Array) -> float:
    """Part of the way to the boundary, over a move that keeps value + t · move positive."""
    speed = float(xp.max(-move / value))
    return TO_BOUNDARY / speed if speed > 0 else 1.0
