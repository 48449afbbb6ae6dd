"""Solve, certify, compare: everything between a workload and a solution."""

from mmopt.pipeline.compare import compare
from mmopt.pipeline.convex import Progress
from mmopt.pipeline.outcome import Outcome
from mmopt.pipeline.solve import default_program, solve

__all__ = ["Outcome", "Progress", "compare", "default_program", "solve"]
