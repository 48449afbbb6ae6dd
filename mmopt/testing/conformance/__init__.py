"""Whether a solver, a kernel or a reduction does what mmopt promises of every one: see :func:`conform`.

Checks that a user may run on a solver of his own; what only our tests need stands in tests/.
"""

from mmopt.testing.conformance.duals import Dual, check_dual
from mmopt.testing.conformance.every_problem import CHECKS, check_solver, conform
from mmopt.testing.conformance.report import Failure, Report, Skip

__all__ = ["CHECKS", "Dual", "Failure", "Report", "Skip", "check_dual", "check_solver", "conform"]
