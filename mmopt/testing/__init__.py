"""Checks for whoever writes a program, or adds a solver, a kernel or a reduction; problems and known optima.

What only mmopt's own tests need stands in tests/, measurements in examples/.
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
