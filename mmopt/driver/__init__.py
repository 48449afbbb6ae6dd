"""From a workload and a program to a judged solution: solvers, searches, judgement. Never data or privacy."""

from mmopt.driver.accepted_inputs import default_program
from mmopt.driver.judge.violations import Violation, violations
from mmopt.driver.plan import Progress
from mmopt.driver.solve import solve
from mmopt.driver.tuning import Tuned, tune

__all__ = [
    "Progress",
    "Tuned",
    "Violation",
    "default_program",
    "solve",
    "tune",
    "violations",
]
