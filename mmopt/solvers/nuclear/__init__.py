"""A kernel for the L2 programs: concave maximization of a nuclear norm over weights of cells and queries."""

from mmopt.solvers.nuclear.kernel import needs, points
from mmopt.solvers.nuclear.shipped_programs import FORMS, QUERIES

__all__ = ["FORMS", "QUERIES", "needs", "points"]
