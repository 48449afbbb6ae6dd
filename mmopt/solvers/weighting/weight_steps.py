"""Steps of first and second order for weights.

First order while it is cheap, then second order.

First order: mu <- mu · (Mᵀ u)^(1+a) with u the best response to mu, extrapolated by Anderson's method.
Each plain step raises the bound: with x the prices after it, Jensen's inequality bounds the concave sum
from below by Σⱼ xⱼ^(a/(1+a)) muⱼ^(1/(1+a)) (Mᵀu)ⱼ, at a fixed sum largest at xⱼ ∝ muⱼ (Mᵀu)ⱼ^(1+a).
An extrapolated step that does not raise it is taken back.

Second order: a primal-dual interior-point method from nearly optimal prices.
Unknowns are u, the slack s = 1 - Mᵀu and mu. Newton's step on a c u^(-a-1) = M mu, s∘mu = σ τ reduces to k
equations with the matrix diag(h) + M diag(mu/s) Mᵀ. In place of the second derivative a (a+1) c u^(-a-2)
stands h = (a² c u^(-a-1) + b)/u, that of the problem in log u: the same at the optimum, better away from it.
Both parts of the right side are solved at once, so that σ can be chosen by looking.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from mmopt.solvers.weighting.weighting_problem import Array, Weighting, WeightsAndPrices, better

EXTRAPOLATION_DEPTH = 8
MOST_CHANGE = 4.0  # change of a logarithm in one extrapolated step
LOWEST_PRICE = -80.0  # a price is never less than this (its logarithm, next to the largest)
EXTRAPOLATION_RIDGE = 1e-12


def fixed_point(problem: Weighting, start: Array) -> Iterator[WeightsAndPrices]:
    """The best pair after each step, from prices mu > 0 (n,); without end."""
    xp, a, operator = problem.xp, problem.power, problem.operator
    x = xp.log(start)
    kept: tuple[Array, Array, float] | None = None  # logarithms, plain step and bound at the best prices
    best: WeightsAndPrices | None = None
    past: list[tuple[Array, Array]] = []
    while True:
        x = xp.where(x - xp.max(x) < LOWEST_PRICE, xp.full_like(x, LOWEST_PRICE), x - xp.max(x))
        mu = xp.exp(x)
        b = operator.price(mu)
        u = problem.best_response(b)
        load = operator.load(u)
        pair = problem.state(u, load, mu, b)
        best = pair if best is None else better(pair, best)
        yield best
        # A cell that adds to no query has load 0: its price goes to the lowest.
        step = (1 + a) * xp.log(xp.where(load > 0, load, xp.full_like(load, 1e-300)) / xp.max(load))
        if kept is not None and pair.bound < kept[2]:
            past = []
            x = kept[0] + kept[1]
            kept = None
            continue
        kept = (x, step, pair.bound)
        past = [*past, (x, step)][-EXTRAPOLATION_DEPTH:]
        x = x + _extrapolated(past, xp.sqrt(mu), xp)


def _extrapolated(past: list[tuple[Array, Array]], weight: Array, xp: Any) -> Array:
    """Anderson's step: the combination of past steps that is least, where prices matter."""
    _, step = past[-1]
    if len(past) == 1:
        return step
    moves = xp.stack([p[0] - q[0] for p, q in zip(past[1:], past, strict=False)], axis=1)
    turns = xp.stack([p[1] - q[1] for p, q in zip(past[1:], past, strict=False)], axis=1)
    seen = turns * weight[:, None]
    gram = seen.T @ seen
    floor = EXTRAPOLATION_RIDGE * float(xp.linalg.trace(gram)) + 1e-300
    gram = gram + floor * xp.eye(gram.shape[0], dtype=gram.dtype)
    share = xp.linalg.solve(gram, (seen.T @ (weight * step))[:, None])[:, 0]
    out = step - (moves + turns) @ share
    size = float(xp.max(xp.abs(out)))
    if not size < 1e300:
        return step
    return xp.where(out > MOST_CHANGE, MOST_CHANGE, xp.where(out < -MOST_CHANGE, -MOST_CHANGE, out))


CENTRES = (1e-8, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 0.6)
TO_BOUNDARY = 0.99
LEAST_PRICE = 0.1  # a price starts at no less than this part of its place on the central path
LOPSIDED = 1e-4  # the smallest product s·mu next to the mean; below it a step is judged worse


def curvature(problem: Weighting, u: Array, b: Array) -> Array:
    """h (k,), the diagonal of the Hessian; exactly a (a+1) c u^(-a-2) where a c u^(-a-1) = b."""
    a = problem.power
    return (a * a * problem.c * u ** (-1.0 - a) + b) / u


def interior(problem: Weighting, start: WeightsAndPrices) -> Iterator[WeightsAndPrices]:
    """The best pair after each step, the start's first; ends when a step no longer moves."""
    xp, a, operator = problem.xp, problem.power, problem.operator
    cells = operator.shape[1]
    inside = 1.0 - 0.5 * min(0.5, max(start.gap, 1e-12))
    u = start.u * inside
    s = 1.0 - operator.load(u)
    mu = start.mu / inside ** (1 + a)
    mu = xp.maximum(mu, LEAST_PRICE * float(xp.sum(s * mu)) / cells / s)
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


FEW, MANY = 10, 60
STEPS_WITHOUT_HALVING = 12  # second-order steps that may pass without the gap halving


def improve(problem: Weighting, start: WeightsAndPrices | None = None) -> Iterator[WeightsAndPrices]:
    """Pairs of shrinking gap, one after each iteration, from uniform prices until nothing helps any more.

    From a ``start`` it goes on by the second order.
    """
    best = start
    for pair in _first(problem) if start is None else ():
        best = pair if best is None else better(pair, best)
        yield best
    assert best is not None
    waited, mark = 0, best.gap
    for pair in interior(problem, best):
        best = better(pair, best)
        yield best
        waited += 1
        if best.gap <= mark / 2:
            waited, mark = 0, best.gap
        if waited >= STEPS_WITHOUT_HALVING or best.gap <= 0:
            return


def _first(problem: Weighting) -> Iterator[WeightsAndPrices]:
    """Steps of the first order, which come before the second."""
    k, n = problem.operator.shape
    # A dense second-order step costs about k/4 first-order ones.
    uniform = problem.xp.full_like(problem.operator.load(problem.c), 1.0 / n)
    return itertools.islice(fixed_point(problem, uniform), min(max(k // 8, FEW), MANY))
