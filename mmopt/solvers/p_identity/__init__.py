"""p_identity, natively: the identity and a few rows below it, each column divided by its sum.

The error and its gradient take O(k n²) for k rows over n cells (``objective``). It is not convex: a search
by quasi-Newton steps (``search``) goes down from many starts (``starts``), first over merged cells, leaves
what looks worse early, and ends with the best over all cells.
"""

from mmopt.solvers.p_identity.multistart import PROGRAMS, StartRows, needs, points, search, starts
from mmopt.solvers.p_identity.objective import Objective

__all__ = ["PROGRAMS", "Objective", "StartRows", "needs", "points", "search", "starts"]
