"""Strategies, points and solutions from elsewhere are judged: certified, or verified where they were saved.

- ``certify.py``: ``mmopt.certify``: a strategy, a point or multipliers from anywhere, repaired, charged and
  bounded; ``mmopt.bound_of``: the bound at exactly these multipliers
- ``dual_function.py``: ``mmopt.dual_function``: the optimum of the Lagrangian at multipliers, as computed
- ``verify.py``: ``mmopt.verify``: a saved solution rechecked, figure by figure; products factor by factor
- ``recheck.py``: the figures of one solution, recomputed from its variables, multipliers or factors
- ``saved_values_by_component.py``: the same for values by component, put onto the components of the workload
"""

from mmopt.proof.certify import bound_of, certify, program_for
from mmopt.proof.dual_function import dual_function
from mmopt.proof.verify import verify

__all__ = [
    "bound_of",
    "certify",
    "dual_function",
    "program_for",
    "verify",
]
