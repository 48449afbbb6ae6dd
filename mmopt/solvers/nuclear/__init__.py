"""A kernel for the L2 programs: concave maximization of a nuclear norm over weights of cells and queries."""

from mmopt.solvers.nuclear.forms import FORMS, QUERIES
from mmopt.solvers.nuclear.kernel import needs, points

__all__ = ["FORMS", "QUERIES", "needs", "points"]
