"""Solve a convex program: choose a solver, run it, certify each of its points, keep the best."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mmopt.compiler import Instance
from mmopt.compiler.reductions import by_components
from mmopt.driver.best import Best
from mmopt.driver.choice import choose_solver
from mmopt.driver.judge.assemble import assemble
from mmopt.driver.judge.lifting import Lifted
from mmopt.driver.running import Progress, Report, Run, options_of, run_solver, with_total
from mmopt.results import Solution
from mmopt.solvers import Claim

__all__ = [
    "Progress",
    "Report",
    "find_convex",
    "solve_convex",
    "with_total",
]


def find_convex(
    instance: Instance,
    solver: str | None,
    overrides: Mapping[str, Any],
    report: Report | None,
    *,
    split: bool = False,
) -> tuple[Run, tuple[str, ...]]:
    """Run a solver on one convex program until its best point has the gap, and say how it was split.

    The tolerance is that of the solver's row unless ``overrides`` has one. ``split`` lets a kernel work on
    the components of a workload with symmetries.

    Raises
    ------
    SolverError : no feasible point was found.
    """
    started = time.monotonic()
    row = choose_solver(instance, solver)
    chosen = options_of(row, overrides)
    worked, reductions = instance, tuple[str, ...]()
    if split and isinstance(row, Claim) and not instance.own:
        found = by_components(instance.checked, instance.workload, {})
        if found is not None:
            worked, reductions = found[0], (found[1],)
    best = Best(instance) if worked is instance else Lifted(instance, worked=worked)
    run = run_solver(worked, row, chosen, report, started, best)
    if not best.is_feasible:
        raise run.failure()
    return run, reductions


def solve_convex(
    instance: Instance,
    solver: str | None,
    overrides: Mapping[str, Any],
    report: Report | None,
    *,
    split: bool = False,
) -> Solution:
    """Solve one convex program as it is; the arguments are those of ``find_convex``."""
    started = time.monotonic()
    run, reductions = find_convex(instance, solver, overrides, report, split=split)
    solution = assemble(instance, run.point.env, **run.conclusion())
    return with_total(replace(solution, reductions=reductions), time.monotonic() - started)
