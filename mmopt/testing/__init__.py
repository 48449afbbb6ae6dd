"""Checks for whoever writes a program, or adds a solver, a kernel or a reduction; problems and known optima.

What only mmopt's own tests need stands in tests/, measurements in examples/.

- ``conformance/``: whether a solver does what is promised of every one
- ``weak_duality.py``: whether a program's certificate is a lower bound
- ``problems.py``: the registry: problems by name
- ``matrices.py``: its query matrices
- ``known_optima.py``: published optima, and bounds in closed form
- ``census.py``: workloads of census size
- ``random_instances.py``: random workloads, givens, points and multipliers
- ``scripts.py``: what scripts in examples/ take of the command line
"""

from mmopt.testing.conformance import Dual, Failure, Report, Skip, conform
from mmopt.testing.problems import PROBLEMS, Problem, problem
from mmopt.testing.weak_duality import Finding, WeakDualityReport, check_program

__all__ = [
    "PROBLEMS",
    "Dual",
    "Failure",
    "Finding",
    "Problem",
    "Report",
    "Skip",
    "WeakDualityReport",
    "check_program",
    "conform",
    "problem",
]
