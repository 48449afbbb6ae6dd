"""Checks for authors of a program, a solver, a kernel or a reduction; problems and known optima.

Code that only mmopt's tests need is in tests/, measurements are in examples/.

- ``conformance/``: whether a solver keeps the promises of every solver
- ``certificate_trials.py``: trials of certificates: random multipliers against random feasible points
- ``problem_registry.py``: the registry of problems: query matrices by name, and their known optima; marginals
"""

from mmopt.testing.certificate_trials import Finding, WeakDualityReport, check_program
from mmopt.testing.conformance import Dual, Failure, Report, Skip, conform
from mmopt.testing.problem_registry import PROBLEMS, Problem, problem

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
