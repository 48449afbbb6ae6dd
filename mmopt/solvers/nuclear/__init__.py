"""A kernel for the L2 programs: concave maximization of a nuclear norm over weights of cells and queries.

- ``nuclear_problem.py``: the problem behind all these programs
- ``shipped_programs.py``: the programs as that problem, and its weights as their points
- ``strategy_programs.py``: those of them that choose the Gram matrix of a strategy
- ``fitness_levels.py``: fitness_level as that problem
- ``nuclear_kernel.py``: the points of the kernel, and what they will take
- ``ascent.py``: from uniform weights to a certified gap
- ``second_order.py``: the matrix of a second-order step
- ``weighted_spectrum.py``: singular values of the weighted queries, and what follows from them
"""

from mmopt.solvers.nuclear.nuclear_kernel import needs, points
from mmopt.solvers.nuclear.shipped_programs import FORMS, QUERIES

__all__ = ["FORMS", "QUERIES", "needs", "points"]
