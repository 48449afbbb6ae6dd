"""The halves of the low-rank mechanism, natively.

Both have the objective ‖R‖²_F + β ‖V - R A‖²_F, one also ν ‖A - S‖²_F. For a fixed A it is least squares with
a closed form; for a fixed R every column of A is sought in a unit ball (``columns``), by accelerated
projected gradients.
"""

from mmopt.solvers.low_rank.columns import State, approach, project
from mmopt.solvers.low_rank.forecast import needs
from mmopt.solvers.low_rank.points import PROGRAMS, points, reconstruction

__all__ = ["PROGRAMS", "State", "approach", "needs", "points", "project", "reconstruction"]
