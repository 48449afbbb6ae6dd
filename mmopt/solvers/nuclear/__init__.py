"""A kernel for the L2 programs: concave maximization of a nuclear norm over weights of cells and queries.

- ``nuclear_problem.py``: the problem behind all L2 programs, and the spectrum of weighted queries
- ``shipped_programs.py``: the shipped programs as problems of the nuclear norm
- ``nuclear_kernel.py``: the points of the kernel, and what they will take
- ``ascent.py``: interior-point steps from uniform weights to a certified gap
"""

from mmopt.solvers.nuclear.nuclear_kernel import needs, points
from mmopt.solvers.nuclear.shipped_programs import FORMS, QUERIES

__all__ = ["FORMS", "QUERIES", "needs", "points"]
