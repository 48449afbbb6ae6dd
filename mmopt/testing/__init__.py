"""Checks for whoever writes a program, or adds a solver, a kernel or a reduction; problems and known optima.

What only mmopt's own tests need stands in tests/, measurements in examples/.

- ``conformance/``: whether a solver does what is promised of every one
- ``certificate_trials.py``: trials of certificates: random multipliers against random feasible points; the
  examples of the atoms
- ``problem_registry.py``: the registry of problems: query matrices by name, and their known optima
- ``census_workloads.py``: workloads of census size
- ``script_commands.py``: what scripts in examples/ take of the command line
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
