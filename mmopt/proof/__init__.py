"""Strategies, points and solutions from elsewhere are judged: certified, or verified where they were saved.

- ``certify.py``: ``mmopt.certify``: a strategy or a point from anywhere, repaired, charged and bounded
- ``given_point.py``: a point, or multipliers, from anywhere, read by the names of a program
- ``verify.py``: ``mmopt.verify``: a saved solution rechecked, figure by figure; products factor by factor
- ``recheck.py``: the figures of one solution, recomputed from its variables, multipliers or factors
- ``verified_components.py``: the values of a saved solution on the components of the workload
"""

from mmopt.proof.certify import certify, program_for
from mmopt.proof.verify import verify

__all__ = [
    "certify",
    "program_for",
    "verify",
]
