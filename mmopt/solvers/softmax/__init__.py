"""softmax_step, natively: a soft maximum of privacy costs and one of variances, by their weights.

The dual is smooth and concave (``weights``); Newton's method follows it from soft maxima that are easy to
the sharp ones asked for (``points``). The paper's own method is Newton's with conjugate gradients on the
covariance (Xiao et al., PVLDB 2021, Algorithms 1-3).
"""

from mmopt.solvers.softmax.forecast import needs
from mmopt.solvers.softmax.points import PROGRAMS, points, search
from mmopt.solvers.softmax.weights import Soft, State, direction, state

__all__ = ["PROGRAMS", "Soft", "State", "direction", "needs", "points", "search", "state"]
