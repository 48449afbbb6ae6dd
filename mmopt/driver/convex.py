"""Solve a convex program: choose a solver, run it, certify each of its points, keep the best."""

from __future__ import annotations

import time
from dataclasses import replace

from mmopt.compiler.reductions import by_components
from mmopt.driver.judge.assemble import Ending, assemble
from mmopt.driver.judge.lifting import Lifted
from mmopt.driver.judge.score import Candidate
from mmopt.driver.running import Best, run_solver
from mmopt.driver.task import Task
from mmopt.results import Solution
from mmopt.solvers import Claim, choose_solver

__all__ = ["find_convex", "solve_convex"]


def find_convex(task: Task, *, split: bool = False) -> tuple[Candidate, Ending]:
    """Run a solver on one convex program until its best point has the gap.

    ``split`` lets a kernel work on the components of a workload with symmetries. Errors as ``run_solver``.
    """
    started, instance = time.monotonic(), task.instance
    row = choose_solver(instance, task.solver)
    worked, lines = instance, tuple[str, ...]()
    if split and isinstance(row, Claim) and not instance.own:
        found = by_components(instance.checked, instance.workload, {})
        if found is not None:
            worked, lines = found[0], (found[1],)
    best = Best(instance) if worked is instance else Lifted(instance, worked=worked)
    point, ending = run_solver(replace(task, instance=worked), row, best, started)
    return point, replace(ending, reductions=lines)


def solve_convex(task: Task, *, split: bool = False) -> Solution:
    """Solve one convex program as it is; the arguments are those of ``find_convex``."""
    point, ending = find_convex(task, split=split)
    return assemble(task.instance, point.env, ending)
