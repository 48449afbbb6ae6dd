"""A lower bound on total error over all strategies for a workload of any domain size.

It is ``l2_strategy``'s certificate, evaluated by component at multipliers that a few iterations of the
nuclear-norm kernel find. They start from uniform ones, which give the singular value bound of PODS 2010.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mmopt.compiler import Instance, bind
from mmopt.compiler.reductions import by_components
from mmopt.driver.judge.placed import placed_multipliers
from mmopt.driver.judge.score import bound_of
from mmopt.language import shipped
from mmopt.solvers import Clock, Options, nuclear
from mmopt.solvers.nuclear.run import ITERATIONS, needs
from mmopt.workloads import Workload

__all__ = ["bound_by_component", "certified_by_component"]

MOST, PATIENCE = 25, 60.0  # iterations, and seconds by forecast
CLOSE = 1e-6


def bound_by_component(workload: Workload) -> tuple[float, Any]:
    """A proved lower bound on the total error of every strategy, and its multipliers by orbit of cells.

    Where the weights of a matrix's rows break the symmetry that its targets have, it is the singular value
    bound, with uniform multipliers (n,).
    """
    instance, by_component = _instance(workload)
    if not by_component:
        uniform = np.ones(workload.n)
        bound = bound_of(instance, {"sensitivity": uniform})
        assert bound is not None
        return bound, uniform
    each = needs(instance.env)[1] / ITERATIONS[False]
    options = Options(tolerance=CLOSE, max_iterations=max(1, min(MOST, int(PATIENCE / each))))
    points = nuclear.points("l2_strategy", instance.env, options, Clock(math.inf))
    # The kernel's own gap is what it was asked for: its first point is as good as its count says.
    multipliers = next(point.multipliers for point in points if point.multipliers)
    points.close()
    bound = bound_of(instance, multipliers)
    assert bound is not None
    return bound, multipliers["sensitivity"]


def certified_by_component(workload: Workload, multipliers: Any) -> float | None:
    """``l2_strategy``'s certificate at the multipliers that ``bound_by_component`` gave."""
    instance, by_component = _instance(workload)
    offered = {"sensitivity": multipliers}
    return bound_of(instance, placed_multipliers(instance, offered) if by_component else offered)


def _instance(workload: Workload) -> tuple[Instance, bool]:
    """``l2_strategy`` by component, and whether it could be.

    The symmetries of products and their targets are also those of their Gram matrix, so that only a workload
    from a matrix, whose rows are at hand, is ever taken as it is.
    """
    program = shipped("l2_strategy")
    found = by_components(program, workload, {})
    return (bind(program, workload), False) if found is None else (found[0], True)
