"""A kernel for the L2 programs: concave maximization of a nuclear norm over weights of cells and queries.

- ``problem_and_iterates.py``: the problem behind all L2 programs, and its values at weights
- ``programs_and_points.py``: the shipped programs as problems of the nuclear norm, their points, and the cost
- ``interior_point.py``: the start from fewer cells, and interior-point steps to a certified gap
"""

from mmopt.solvers.nuclear.programs_and_points import FORMS, QUERIES, TYPICAL_ITERATIONS, needs, points

__all__ = ["FORMS", "QUERIES", "TYPICAL_ITERATIONS", "needs", "points"]
