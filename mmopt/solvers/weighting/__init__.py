"""Weights of design queries, natively: query_weighting, laplace_weighting and what is made of them.

A multiplicative fixed point comes first, an interior-point method ends it; both sides are certified at every
step.

- ``weighting_problem.py``: the problem min Σ cᵢ uᵢ^-a subject to Mᵀ u <= 1 with M >= 0, and its dual
- ``weight_steps.py``: steps of first and second order for weights
- ``shipped_programs.py``: the programs that are this problem, and their points
"""

from mmopt.solvers.weighting.shipped_programs import PROGRAMS, needs, points
from mmopt.solvers.weighting.weight_steps import improve
from mmopt.solvers.weighting.weighting_problem import (
    GivenMatrix,
    Weighting,
    WeightsAndPrices,
    entrywise,
)

__all__ = [
    "PROGRAMS",
    "GivenMatrix",
    "Weighting",
    "WeightsAndPrices",
    "entrywise",
    "improve",
    "needs",
    "points",
]
