"""Whether a solver, a kernel or a reduction does what mmopt promises of every one: see :func:`conform`."""

from mmopt.testing.conformance.derivatives import Dual, check_dual
from mmopt.testing.conformance.report import Failure, Report, Skip
from mmopt.testing.conformance.run import conform
from mmopt.testing.conformance.work import CHECKS

__all__ = ["CHECKS", "Dual", "Failure", "Report", "Skip", "check_dual", "conform"]
