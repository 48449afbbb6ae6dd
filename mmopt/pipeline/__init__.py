"""Solve, certify, compare: everything between a workload and a solution."""

from mmopt.pipeline.compare import Outcome, compare
from mmopt.pipeline.convex import Progress
from mmopt.pipeline.solve import default_program, solve
from mmopt.pipeline.violations import Violation, violations

__all__ = ["Outcome", "Progress", "Violation", "compare", "default_program", "solve", "violations"]
