"""Solve a convex program by component, for workloads of any domain size.

The kernel works on the components with their multiplicities, and so does all that judges its points: the
program file is evaluated on values by component, and the Solution holds nothing over the cells.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mmopt.compiler import Instance
from mmopt.driver.best import Best
from mmopt.driver.choice import choose_solver
from mmopt.driver.judge.assemble import assemble
from mmopt.driver.running import Report, options_of, run_solver, with_total
from mmopt.errors import UnsuitableError
from mmopt.results import Solution
from mmopt.solvers import Claim

__all__ = ["solve_split"]


def solve_split(
    instance: Instance, line: str, solver: str | None, overrides: Mapping[str, Any], report: Report | None
) -> Solution:
    """Solve an instance by component (``large.bound``); ``line`` says how it splits.

    Raises
    ------
    OptionError : an option that a convex program does not have.
    SolverError : the solver named is no kernel, or no feasible point was found.
    TooLargeError : the components do not fit in memory.
    """
    started = time.monotonic()
    row = choose_solver(instance, solver)
    if not isinstance(row, Claim):
        raise UnsuitableError(
            f"{row.name} does not work by component ({line})",
            hint="leave the solver out, or solve over all cells with reduce=False (--no-reduce)",
        )
    run = run_solver(instance, row, options_of(row, overrides), report, started, Best(instance))
    if not run.best.is_feasible:
        raise run.failure()
    solution = assemble(instance, run.point.env, **run.conclusion())
    return with_total(replace(solution, reductions=(line,)), time.monotonic() - started)
