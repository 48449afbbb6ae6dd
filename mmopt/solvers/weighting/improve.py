"""First order while it is cheap, then second order; for product costs the factors first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from mmopt.solvers.weighting.fixed_point import fixed_point
from mmopt.solvers.weighting.interior import interior
from mmopt.solvers.weighting.kronecker import Kronecker
from mmopt.solvers.weighting.operators import Dense
from mmopt.solvers.weighting.problem import State, Weighting, better, product_state
from mmopt.solvers.weighting.recognise import costs_of

__all__ = ["improve"]

FEW, MANY = 10, 60
# Through factors a first-order step costs next to nothing, so there are more of them.
MATRIX_FREE = 300
PATIENCE = 12  # second-order steps that may pass without the gap halving


def improve(problem: Weighting, start: State | None = None) -> Iterator[State]:
    """Pairs of shrinking gap, one after each iteration, from uniform prices until nothing helps any more.

    From a ``start`` it goes on by the second order.
    """
    best = start
    for found in _first(problem) if start is None else ():
        best = found if best is None else better(found, best)
        yield best
    assert best is not None
    waited, mark = 0, best.gap
    for found in interior(problem, best):
        best = better(found, best)
        yield best
        waited += 1
        if best.gap <= mark / 2:
            waited, mark = 0, best.gap
        if waited >= PATIENCE or best.gap <= 0:
            return


def _first(problem: Weighting) -> Iterator[State]:
    """What comes before the second order."""
    parts = _parts(problem)
    if parts:
        return _together(problem, parts)
    k, n = problem.operator.shape
    # A dense second-order step costs about k/4 first-order ones.
    steps = min(max(k // 8, FEW), MANY) if isinstance(problem.operator, Dense) else MATRIX_FREE
    uniform = problem.xp.full_like(problem.operator.load(problem.c), 1.0 / n)
    return itertools.islice(fixed_point(problem, uniform), steps)


def _parts(problem: Weighting) -> list[Weighting]:
    """The problems of the factors if the costs are a product as well, else none."""
    operator = problem.operator
    if not isinstance(operator, Kronecker) or operator.rows is not None:
        return []
    costs = costs_of(problem.c, [factor.shape[0] for factor in operator.factors])
    if costs is None:
        return []
    return [Weighting(Dense(f), c, problem.power) for f, c in zip(operator.factors, costs, strict=True)]


def _together(problem: Weighting, parts: list[Weighting]) -> Iterator[State]:
    """Products of the parts' states, the worst of which goes on; judged in the whole problem."""
    runs = [improve(part) for part in parts]
    states = [next(run) for run in runs]
    while True:
        joined = product_state(states, problem.power)
        load, b = problem.operator.load(joined.u), problem.operator.price(joined.mu)
        yield problem.state(joined.u, load, joined.mu, b)
        worst = max(range(len(states)), key=lambda i: states[i].gap)
        found = next(runs[worst], None)
        if found is None:
            return
        states[worst] = found
