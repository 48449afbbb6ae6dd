"""Solve, certify, compare: everything between a workload and a solution."""

from mmopt.pipeline.compare import Combination, combinations, compare, outcomes, with_formulations
from mmopt.pipeline.convex import Progress
from mmopt.pipeline.outcome import Outcome
from mmopt.pipeline.solve import default_program, solve
from mmopt.pipeline.violations import Violation, violations

__all__ = [
    "Combination",
    "Outcome",
    "Progress",
    "Violation",
    "combinations",
    "compare",
    "default_program",
    "outcomes",
    "solve",
    "violations",
    "with_formulations",
]
