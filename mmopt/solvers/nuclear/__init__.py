"""A kernel for the L2 programs: concave maximization of a nuclear norm over weights of cells and queries.

- ``nuclear_problem.py``: the problem behind all L2 programs, and the spectrum of weighted queries
- ``nuclear_kernel.py``: the shipped programs as problems of the nuclear norm, their points, and the cost
- ``ascent.py``: interior-point steps from uniform weights to a certified gap
"""

from mmopt.solvers.nuclear.nuclear_kernel import FORMS, QUERIES, needs, points

__all__ = ["FORMS", "QUERIES", "needs", "points"]
