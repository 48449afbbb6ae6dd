"""A solver of another method goes on where the one that was chosen got no further, near the gap asked for.

An interior point method may end with an exact objective at a point that is off by about the square root of
that error; then a certificate that takes slopes at the point is short. On small programs a first order method
ends at a point that is nearer.
"""

from __future__ import annotations

import time
from dataclasses import replace

from mmopt.compiler import Instance, cones
from mmopt.driver.judge.assemble_solution import Ending, Row
from mmopt.driver.judge.score_point import Candidate
from mmopt.driver.run_solver import Best, run_solver
from mmopt.driver.solve_plan import Task
from mmopt.errors import SolverError, TooLargeError
from mmopt.solvers import Claim, Options, SolverRow, total
from mmopt.solvers.table_of_solvers import SOLVERS, missing_cones
from mmopt.stop_reasons import Stop

__all__ = ["another", "nearer"]

NEAR = 100.0  # times the gap asked for: farther off a solver of lower precision helps no more
SECONDS = 1.0  # that it may take; longer where the first did, and no longer than that


def nearer(
    task: Task, row: SolverRow | Claim, best: Best, point: Candidate, ending: Ending, started: float
) -> tuple[Candidate, Ending]:
    """Point and ending of ``row``'s run, or of both runs where the other solver reaches the gap.

    Nothing is tried for a solver that the caller named, nor where its limit of iterations is.
    """
    options = ending.options
    other = None if isinstance(row, Claim) else another(task.instance, row)
    if other is None or task.solver is not None or not isinstance(options, Options):
        return point, ending
    if ending.stop != Stop.MISSED or options.max_iterations or best.gap > NEAR * options.tolerance:
        return point, ending
    used = time.monotonic() - started
    seconds = min(max(used, SECONDS), options.time_limit - used)
    if seconds <= 0:
        return point, ending
    asked = {**task.asked, "tolerance": options.tolerance, "time_limit": seconds}
    try:
        reached, last = run_solver(replace(task, asked=asked), other, best, started)
    except (SolverError, TooLargeError):
        return point, ending
    if last.stop not in (Stop.REACHED, Stop.INTERRUPTED):
        return point, ending
    return reached, replace(
        last,
        options=options,
        iterations=total([ending.iterations, last.iterations]),
        compile=ending.compile,
        solve=last.compile + last.solve - ending.compile,
        history=[*ending.history, *_after(ending, last)],
    )


def _after(first: Ending, second: Ending) -> list[Row]:
    """The rows of the second, counted on from those of the first."""
    runs = max((int(row["run"]) for row in first.history), default=0)
    on = {"run": runs, "iteration": first.iterations or 0}
    return [
        {**row, **{name: int(row[name]) + more for name, more in on.items() if name in row}}
        for row in second.history
    ]


def another(instance: Instance, row: SolverRow) -> SolverRow | None:
    """The first installed one of another method that has the cones."""
    needed = cones(instance.checked, instance.sizes())
    able = (each for each in SOLVERS if each.is_installed and not missing_cones(each, needed))
    return next((each for each in able if each.method != row.method), None)
