"""First order: mu <- mu · (Mᵀ u)^(1+a) with u the best response to mu, extrapolated by Anderson's method.

Each plain step raises the bound: with x the prices after it, Jensen's inequality bounds the concave sum
from below by Σⱼ xⱼ^(a/(1+a)) muⱼ^(1/(1+a)) (Mᵀu)ⱼ, at a fixed sum largest at xⱼ ∝ muⱼ (Mᵀu)ⱼ^(1+a).
An extrapolated step that does not raise it is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mmopt.solvers.weighting.problem import Array, State, Weighting, better

__all__ = ["fixed_point"]

DEPTH = 8
LARGEST = 4.0  # change of a logarithm in one extrapolated step
LOWEST = -80.0  # a price is never less than this (its logarithm, next to the largest)
RIDGE = 1e-12


def fixed_point(problem: Weighting, start: Array) -> Iterator[State]:
    """The best pair after each step, from prices mu > 0 (n,); without end."""
    xp, a, operator = problem.xp, problem.power, problem.operator
    x = xp.log(start)
    kept: tuple[Array, Array, float] | None = None  # logarithms, plain step and bound at the best prices
    best: State | None = None
    past: list[tuple[Array, Array]] = []
    while True:
        x = xp.where(x - xp.max(x) < LOWEST, xp.full_like(x, LOWEST), x - xp.max(x))
        mu = xp.exp(x)
        b = operator.price(mu)
        u = problem.best_response(b)
        load = operator.load(u)
        found = problem.state(u, load, mu, b)
        best = found if best is None else better(found, best)
        yield best
        # A cell that adds to no query has load 0: its price goes to the lowest.
        step = (1 + a) * xp.log(xp.where(load > 0, load, xp.full_like(load, 1e-300)) / xp.max(load))
        if kept is not None and found.bound < kept[2]:
            past = []
            x = kept[0] + kept[1]
            kept = None
            continue
        kept = (x, step, found.bound)
        past = [*past, (x, step)][-DEPTH:]
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
    floor = RIDGE * float(xp.linalg.trace(gram)) + 1e-300
    gram = gram + floor * xp.eye(gram.shape[0], dtype=gram.dtype)
    share = xp.linalg.solve(gram, (seen.T @ (weight * step))[:, None])[:, 0]
    out = step - (moves + turns) @ share
    size = float(xp.max(xp.abs(out)))
    if not size < 1e300:
        return step
    return xp.where(out > LARGEST, LARGEST, xp.where(out < -LARGEST, -LARGEST, out))
