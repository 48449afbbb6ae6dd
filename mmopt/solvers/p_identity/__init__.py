"""p_identity, natively: the identity and a few rows below it, each column divided by its sum.

- ``p_identity_error.py``: the error and its gradient, in O(k n²) for k rows over n cells
- ``multistart.py``: the search, which is not convex: quasi-Newton steps from many starts, first over merged
  cells; what looks worse is left early
"""

from mmopt.solvers.p_identity.multistart import PROGRAMS, StartRows, needs, points, search, starts
from mmopt.solvers.p_identity.p_identity_error import Objective

__all__ = ["PROGRAMS", "Objective", "StartRows", "needs", "points", "search", "starts"]
