"""Run a solver by its row in the table."""

from __future__ import annotations

from collections.abc import Generator

from mmopt.compiler import Lowered
from mmopt.solvers import run_clarabel, run_cvxpy, run_scs
from mmopt.solvers.options import Clock, Options, Point
from mmopt.solvers.table import SolverRow

__all__ = ["run"]


def run(row: SolverRow, lowered: Lowered, options: Options, clock: Clock) -> Generator[Point, None, None]:
    """Points of a lowered problem from one solver, until its last."""
    if row.name == "clarabel":
        return run_clarabel.points(lowered, options, clock)
    if row.name == "scs":
        return run_scs.points(lowered, options, clock)
    return run_cvxpy.points(row.cvxpy, lowered, options, clock)
