"""A kernel for the L2 programs: concave maximization of a nuclear norm over weights of cells and queries.

- ``problem.py``: the problem behind all these programs
- ``shipped_programs.py``: the programs as that problem, and its weights as their points
- ``levels.py``: fitness_level as that problem
- ``kernel.py``: the points of the kernel, and what they will take
- ``ascent.py``: from uniform weights to a certified gap
- ``curvature.py``: the matrix of a second-order step
- ``spectrum.py``: singular values of the weighted queries, and what follows from them
"""

from mmopt.solvers.nuclear.kernel import needs, points
from mmopt.solvers.nuclear.shipped_programs import FORMS, QUERIES

__all__ = ["FORMS", "QUERIES", "needs", "points"]
