"""Whether a solver, a kernel or a reduction keeps the promises that mmopt makes of every one:
:func:`conform`.

Users may run these checks on their solvers; code that only our tests need is in tests/.

- ``every_problem.py``: every problem of the registry put to a solver, with workloads transformed
- ``__main__.py``: the same as ``python -m mmopt.testing.conformance --solver NAME``
- ``solution_checks.py``: the checks of one solution and of the functions that kernels climb, and the report
  of all
"""

from mmopt.testing.conformance.every_problem import CHECKS, check_solver, conform
from mmopt.testing.conformance.solution_checks import Dual, Failure, Report, Skip, check_dual

__all__ = ["CHECKS", "Dual", "Failure", "Report", "Skip", "check_dual", "check_solver", "conform"]
