"""First order while it is cheap, then second order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from mmopt.solvers.weighting.fixed_point import fixed_point
from mmopt.solvers.weighting.interior import interior
from mmopt.solvers.weighting.operators import Dense
from mmopt.solvers.weighting.problem import State, Weighting, better

__all__ = ["improve"]

FEW, MANY = 10, 60
# Without a matrix a second-order step is hundreds of products, so the first order gets longer.
MATRIX_FREE = 300
PATIENCE = 12  # second-order steps that may pass without the gap halving


def improve(problem: Weighting) -> Iterator[State]:
    """Pairs of shrinking gap, one after each iteration, from uniform prices until nothing helps any more."""
    k, n = problem.operator.shape
    # A second-order step costs about k/4 first-order ones.
    steps = min(max(k // 8, FEW), MANY) if isinstance(problem.operator, Dense) else MATRIX_FREE
    uniform = problem.xp.full_like(problem.operator.load(problem.c), 1.0 / n)
    best: State | None = None
    for best in itertools.islice(fixed_point(problem, uniform), steps):
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
