"""Whether a solver, a kernel or a reduction does what mmopt promises of every one: see :func:`conform`.

Checks that a user may run on a solver of his own; what only our tests need stands in tests/.

- ``every_problem.py``: ``conform``: a solver put to every problem of the registry
- ``__main__.py``: the same as ``python -m mmopt.testing.conformance --solver NAME``
- ``solution_checks.py``: what is wrong with one solution
- ``dual_functions.py``: derivatives of what kernels climb against finite differences
- ``workload_twists.py``: the same workload written in another way
- ``conformance_report.py``: what was found
"""

from mmopt.testing.conformance.conformance_report import Failure, Report, Skip
from mmopt.testing.conformance.dual_functions import Dual, check_dual
from mmopt.testing.conformance.every_problem import CHECKS, check_solver, conform

__all__ = ["CHECKS", "Dual", "Failure", "Report", "Skip", "check_dual", "check_solver", "conform"]
