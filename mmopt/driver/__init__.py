"""From a workload and a program to a judged solution: solvers, searches, judgement. Never data or privacy.

- ``solve.py``: ``mmopt.solve``: a task, handed on by the program's class
- ``accepted_inputs.py``: what callers pass, taken or refused
- ``read_options.py``: which options the way to a solution reads; what nothing reads is refused
- ``derive.py``: a bound without a certificate: a second solve for slopes; a point moved inside lines
- ``solve_plan.py``: the task, its plan (which reductions, over cells or by component), and its progress
- ``solve_convex.py``: a convex program solved as its plan says, lifted and scored
- ``solve_factors.py``: a product solved factor by factor
- ``run_solver.py``: a solver run on an instance, each of its points scored, the best kept
- ``other_method.py``: a solver of another method, where the one that was chosen got no further
- ``objective_remarks.py``: what an objective is charged, and why it is estimated, in words
- ``solve_procedure.py``: closed forms, and procedures whose steps solve other programs
- ``search/``: programs that are not convex
- ``free_vector.py``: what a smooth program chooses, as one vector of numbers
- ``judge/``: what a point is worth
- ``diagnosis/``: why a program has no solution
- ``weight_tuning.py``: ``mmopt.tune``: a sub-workload whose weight grows
- ``templates/``: strategies kept in factors
"""

from mmopt.driver.judge.violations import Violation, violations
from mmopt.driver.solve import solve
from mmopt.driver.solve_plan import Progress
from mmopt.driver.weight_tuning import Tuned, tune
from mmopt.request import default_program

__all__ = [
    "Progress",
    "Tuned",
    "Violation",
    "default_program",
    "solve",
    "tune",
    "violations",
]
