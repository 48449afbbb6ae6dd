"""Solve, certify, compare, verify: everything between a workload and a solution."""

from mmopt.pipeline.audit.given import certify, program_for
from mmopt.pipeline.audit.verify import verify
from mmopt.pipeline.comparison.compare import Combination, combinations, compare, outcomes, with_formulations
from mmopt.pipeline.comparison.factors import Factors, baseline_factors, standards
from mmopt.pipeline.comparison.isolate import Isolated
from mmopt.pipeline.comparison.outcome import Outcome
from mmopt.pipeline.convex import Progress
from mmopt.pipeline.solve import default_program, solve
from mmopt.pipeline.tuning import Tuned, tune
from mmopt.pipeline.violations import Violation, violations

__all__ = [
    "Combination",
    "Factors",
    "Isolated",
    "Outcome",
    "Progress",
    "Tuned",
    "Violation",
    "baseline_factors",
    "certify",
    "combinations",
    "compare",
    "default_program",
    "outcomes",
    "program_for",
    "solve",
    "standards",
    "tune",
    "verify",
    "violations",
    "with_formulations",
]
