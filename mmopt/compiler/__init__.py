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

from mmopt.compiler.bind import Instance, Renaming, bind, is_shipped, match
from mmopt.compiler.lines_and_cones import Cone, coefficients, cones, line, variables
from mmopt.compiler.lower_to_cvxpy import Lowered, lower
from mmopt.compiler.scale_numbers import Scaling, scale, units_of

__all__ = [
    "Cone",
    "Instance",
    "Lowered",
    "Renaming",
    "Scaling",
    "bind",
    "coefficients",
    "cones",
    "is_shipped",
    "line",
    "lower",
    "match",
    "scale",
    "units_of",
    "variables",
]
