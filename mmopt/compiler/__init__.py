"""A program with a workload filled in: bound, reduced, scaled, lowered, matched to others. Never solves.

- ``bind.py``: the givens of a program become numbers: an ``Instance``; whether a program is another
  one under other names
- ``lines_and_cones.py``: how each line of a program is lowered, to which cones, and their sizes
- ``actions_on_expressions.py``: actions on a workload, and how each expression changes with them
- ``equivariance.py``: which actions leave a program as it is; how the objective over blocks or factors is
  made of those of the parts
- ``reductions/``: exact reductions to smaller problems
- ``scale_numbers.py``: the same problem with numbers near one
- ``lower_to_cvxpy.py``: an instance becomes a cvxpy problem
- ``duality/``: a proved bound on any convex program from its own lines
"""

from mmopt.compiler.bind import FIELDS_OF_CLAIMS, Instance, Renaming, bind, is_proved, is_shipped, match
from mmopt.compiler.duality.lagrangian import (
    AffineBound,
    Multipliers,
    Nodes,
    Slopes,
    affine_bound,
    into_cones,
    nodes_of,
)
from mmopt.compiler.duality.problem_for_multipliers import lower_node_by_node, without_remainder
from mmopt.compiler.duality.ranges import Range, is_in_no_cone, ranges_by_cuts, ranges_of
from mmopt.compiler.equivariance import of_factors
from mmopt.compiler.lines_and_cones import Cone, coefficients, cones, line, variables
from mmopt.compiler.lower_to_cvxpy import Lowered, lower
from mmopt.compiler.reductions import (
    ReductionStep,
    SolvedPart,
    Traits,
    by_components,
    by_sectors,
    by_sets,
    first_step,
    in_factors,
    obstacle,
    of_each_query,
    reducible,
    traits_of,
    workloads_of_factors,
)
from mmopt.compiler.scale_numbers import DUST, FAR, Scaling, scale, units_of

__all__ = [
    "DUST",
    "FAR",
    "FIELDS_OF_CLAIMS",
    "AffineBound",
    "Cone",
    "Instance",
    "Lowered",
    "Multipliers",
    "Nodes",
    "Range",
    "ReductionStep",
    "Renaming",
    "Scaling",
    "Slopes",
    "SolvedPart",
    "Traits",
    "affine_bound",
    "bind",
    "by_components",
    "by_sectors",
    "by_sets",
    "coefficients",
    "cones",
    "first_step",
    "in_factors",
    "into_cones",
    "is_in_no_cone",
    "is_proved",
    "is_shipped",
    "line",
    "lower",
    "lower_node_by_node",
    "match",
    "nodes_of",
    "obstacle",
    "of_each_query",
    "of_factors",
    "ranges_by_cuts",
    "ranges_of",
    "reducible",
    "scale",
    "traits_of",
    "units_of",
    "variables",
    "without_remainder",
    "workloads_of_factors",
]
