"""Solve a convex program by component, for workloads of any domain size.

The kernel works on the components with their multiplicities, and so does all that judges its points: the
program file is evaluated on values by component, and the Solution holds nothing over the cells.
"""

from __future__ import annotations

import time
from dataclasses import replace

from mmopt.driver.judge.assemble import assemble
from mmopt.driver.running import Best, run_solver
from mmopt.driver.task import Task
from mmopt.errors import UnsuitableError
from mmopt.results import Solution
from mmopt.solvers import Claim, choose_solver

__all__ = ["solve_split"]


def solve_split(task: Task) -> Solution:
    """Solve an instance by component (``large.bound``); its ``line`` says how it splits.

    Raises
    ------
    OptionError : an option that a convex program does not have.
    SolverError : the solver named is no kernel, or no feasible point was found.
    TooLargeError : the components do not fit in memory.
    """
    started = time.monotonic()
    row = choose_solver(task.instance, task.solver)
    if not isinstance(row, Claim):
        raise UnsuitableError(
            f"{row.name} does not work by component ({task.line})",
            hint="leave the solver out, or solve over all cells with reduce=False (--no-reduce)",
        )
    point, ending = run_solver(task, row, Best(task.instance), started)
    return assemble(task.instance, point.env, replace(ending, reductions=(task.line,)))
