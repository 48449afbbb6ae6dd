"""A lower bound on total error over all strategies for a workload of any domain size.

It is ``l2_strategy``'s certificate, evaluated by component at multipliers that a few iterations of the
nuclear-norm kernel find. They start from uniform ones, which give the singular value bound of PODS 2010.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.compiler.reductions import by_components
from mmopt.components import Level
from mmopt.language import Program, check
from mmopt.pipeline.audit.placed import placed_multipliers
from mmopt.pipeline.certify import bound_of
from mmopt.queries import ComponentStrategy, Workload
from mmopt.solvers import Clock, Options, nuclear
from mmopt.solvers.nuclear.forecast import ITERATIONS, needs

__all__ = ["bound_by_component", "certified_by_component"]

MOST, PATIENCE = 25, 60.0  # iterations, and seconds by forecast
CLOSE = 1e-6


def bound_by_component(workload: Workload, strategy: ComponentStrategy) -> tuple[float, Any]:
    """A proved lower bound on the total error of every strategy, and its multipliers by orbit of cells.

    0, with uniform multipliers, where the weighted queries have no symmetry although the targets have.
    """
    instance = _instance(workload)
    if instance is None:
        return 0.0, Level(strategy.cells, np.ones(len(strategy.profile.values)))
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
    """``l2_strategy``'s certificate at multipliers by orbit; 0 where the workload has no such symmetry."""
    instance = _instance(workload)
    if instance is None:
        return 0.0
    return bound_of(instance, placed_multipliers(instance, {"sensitivity": multipliers}))


def _instance(workload: Workload) -> Instance | None:
    found = by_components(check(Program.load("l2_strategy")), workload, {})
    return None if found is None else found[0]
