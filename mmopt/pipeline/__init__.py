"""Solve, certify, compare, verify: everything between a workload and a solution."""

from mmopt.pipeline.compare import Outcome, compare
from mmopt.pipeline.convex import Progress
from mmopt.pipeline.given import certify, program_for
from mmopt.pipeline.solve import default_program, solve
from mmopt.pipeline.verify import verify

__all__ = [
    "Outcome",
    "Progress",
    "certify",
    "compare",
    "default_program",
    "program_for",
    "solve",
    "verify",
]
