"""From a workload and a program to a judged solution: solvers, searches, judgement. No data, no privacy.

- ``solve_and_tune.py``: ``mmopt.solve`` and ``mmopt.tune``: the plan made and carried out, once or for
  growing weights; closed forms, and procedures whose steps solve other programs
- ``accepted_options_and_inputs.py``: arguments of the public functions: workload, program, givens, options,
  checked before work
- ``task_and_plan.py``: the task of a solve, its plan (which reductions, over cells or by component), and its
  progress
- ``solve_convex.py``: a convex program solved as planned: whole, reduced, or factor by factor
- ``run_solver.py``: a run of a solver: its points scored, the best kept, its end explained, with warnings and
  remarks: how certain its objective is
- ``problem_for_bound_or_inner_point.py``: a second problem, for a bound or for a point inside the constraints
- ``why_no_solution.py``: why a program has no solution
- ``smooth_search.py``: smooth programs by gradients from several starts
- ``rank_search.py``: programs with a rank constraint by the trace heuristic
- ``judge/``: the worth of a point
- ``templates/``: strategies kept in factors
"""

from mmopt.driver.judge.violations_and_nearby_points import Violation, violations
from mmopt.driver.solve_and_tune import Tuned, solve, tune
from mmopt.driver.task_and_plan import Progress
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
