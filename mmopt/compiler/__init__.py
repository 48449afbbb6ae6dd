"""A program with a workload filled in: bound, reduced, scaled, lowered, matched to others. Never solves.

- ``bind.py``: the givens of a program become numbers: an ``Instance``
- ``count_cones.py``: the cones of each line of a program, and the sizes of its cone problem
- ``actions_on_expressions.py``: actions on a workload, and how each expression changes with them
- ``equivariance.py``: which actions leave a program as it is
- ``reductions/``: exact reductions to smaller problems
- ``scale_numbers.py``: the same problem with numbers near one
- ``lower_to_cvxpy.py``: an instance becomes a cvxpy problem
- ``duality/``: a proved bound on any convex program from its own lines
- ``same_program.py``: whether a program is another one under other names
"""

from mmopt.compiler.bind import Instance, bind
from mmopt.compiler.count_cones import Cone, cones, variables
from mmopt.compiler.lower_to_cvxpy import Lowered, lower
from mmopt.compiler.scale_numbers import Scaling, scale

__all__ = ["Cone", "Instance", "Lowered", "Scaling", "bind", "cones", "lower", "scale", "variables"]
