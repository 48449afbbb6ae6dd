"""Solve a convex program: choose a solver, run it, certify each of its points, keep the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance, cones, lower, scale, variables
from mmopt.errors import SolverError, UnsuitableError
from mmopt.pipeline.assemble import assemble
from mmopt.pipeline.certify import Array, Candidate, bound_of, candidate, charged, starts_from
from mmopt.pipeline.diagnosis.diagnose import explain_failure
from mmopt.pipeline.early import stopped_early, unscaled
from mmopt.results import Solution, Status, gap_between
from mmopt.solvers import (
    SOLVERS,
    Clock,
    Options,
    Point,
    SolverRow,
    choose,
    missing_cones,
    refuse_too_large,
    run,
    solver_named,
)

__all__ = [
    "Best",
    "Progress",
    "Report",
    "pick_solver",
    "solve_convex",
    "stop_of",
    "with_total",
]


@dataclass(frozen=True)
class Progress:
    """What a solve has so far; passed to the caller's ``progress`` after each point."""

    program: str
    solver: str
    seconds: float
    iterations: int
    objective: float
    bound: float | None
    sense: str = "minimize"

    @property
    def gap(self) -> float | None:
        return gap_between(self.objective, self.bound, self.sense)


Report = Callable[[Progress], None]


def pick_solver(instance: Instance, name: str | None) -> SolverRow:
    """The solver named, if it has the cones; else the first suitable one of the table.

    Raises
    ------
    OptionError, SolverError : unknown, not installed, or it lacks a cone (named).
    TooLargeError : the forecast does not fit into memory.
    """
    needed = cones(instance.checked, instance.sizes())
    unknowns = variables(instance.checked, instance.sizes())
    if name is not None:
        row = solver_named(name)
        missing = missing_cones(row, needed)
        if missing:
            able = [r.name for r in SOLVERS if not missing_cones(r, needed)]
            raise UnsuitableError(
                f"'{instance.program.name}' does not work with {row.name}: "
                f"it must have the {' and the '.join(missing)} cone",
                hint=f"these have it: {', '.join(able)}",
            )
    else:
        rows = [r for r in SOLVERS if r.is_installed and not missing_cones(r, needed)]
        if not rows:
            raise SolverError(f"no installed solver has all the cones that '{instance.program.name}' needs")
        row = choose(rows, needed, unknowns)
    refuse_too_large(instance.program.name, row, needed, unknowns)
    return row


def _is_better(found: Candidate, known: Candidate, sense: str) -> bool:
    """Feasible before infeasible, then by the objective."""
    if found.is_feasible != known.is_feasible:
        return found.is_feasible
    if sense == "minimize":
        return found.objective < known.objective
    return found.objective > known.objective


@dataclass
class Best:
    """The best repaired point and the best bound so far; they may come from different points."""

    instance: Instance
    plain: Candidate | None = None
    point: Candidate | None = None  # the same, its last violations charged at the multipliers
    bound: float | None = None
    multipliers: Mapping[str, Array] | None = None
    values: Mapping[str, Array] | None = None  # of the point, before its repair

    def offer(self, values: Mapping[str, Array], multipliers: Mapping[str, Array]) -> Candidate | None:
        """Repair and score a point (in the program's own scale); None when no repair exists."""
        sense = self.instance.program.sense
        try:
            found = candidate(self.instance, values)
        except np.linalg.LinAlgError:  # a point so far off that no repair exists; the next is better
            return None
        if self.plain is None or _is_better(found, self.plain, sense):
            self.plain, self.values = found, values
        multipliers = {**multipliers, **starts_from(self.instance, found.env)}
        bound = bound_of(self.instance, multipliers)
        if bound is not None and (
            self.bound is None or (bound > self.bound if sense == "minimize" else bound < self.bound)
        ):
            self.bound, self.multipliers = bound, multipliers
        if self.multipliers is None:
            self.multipliers = multipliers
        self.point = charged(self.instance, self.plain, self.multipliers)
        return found

    @property
    def gap(self) -> float:
        if self.point is None or not self.point.is_feasible:
            return float("inf")
        gap = gap_between(self.point.objective, self.bound, self.instance.program.sense)
        return float("inf") if gap is None else gap


def solve_convex(
    instance: Instance,
    solver: str | None,
    overrides: Mapping[str, Any],
    report: Report | None,
) -> Solution:
    """Solve one convex program, with the tolerance of the solver's row unless ``overrides`` has one."""
    started = time.monotonic()
    program = instance.program
    row = pick_solver(instance, solver)
    chosen = Options(**{"tolerance": row.tolerance, **overrides})
    scaled, scaling = scale(instance)
    lowered = lower(scaled)
    compiled = time.monotonic()
    best = Best(instance)
    last: Point | None = None
    with Clock(chosen.time_limit) as clock, closing(run(row, lowered, chosen, clock)) as points:
        for last in points:
            values = {n: v * scaling.variables[n] for n, v in last.variables.items()}
            known = scaling.multipliers
            if len(values) == len(program.choose):
                best.offer(values, {n: v * known[n] for n, v in last.multipliers.items() if n in known})
            if report is not None and best.point is not None:
                shown = (best.point.objective, best.bound, program.sense)
                report(Progress(program.name, row.name, clock.elapsed, last.iterations, *shown))
            if best.gap <= chosen.tolerance or clock.is_over:
                break
        interrupted = clock.interrupted
    solved = time.monotonic()
    assert last is not None
    point = best.point
    if point is None or not point.is_feasible:
        raise explain_failure(instance, scaled, scaling, row.name, last, point, interrupted=interrupted)
    stop = stop_of(best.gap, chosen, interrupted, last, program.certificate is not None)
    status = Status(stop, True, point.before, best.bound is not None, last.raw)
    compiled += clock.handed_over
    seconds = {"compile": compiled - started, "solve": solved - compiled}
    early = stopped_early(instance, row, chosen, status, best.gap, best.values or {})
    warnings = (*unscaled(instance, scaling), *early)
    solution = assemble(
        instance,
        point.env,
        objective=point.objective,
        bound=best.bound,
        status=status,
        solver=(row.name, row.version),
        options=asdict(chosen),
        iterations=last.iterations,
        seconds={**seconds, "total": 0.0},
        multipliers=best.multipliers or {},
        scaling=scaling.scales,
        warnings=warnings,
    )
    return with_total(solution, time.monotonic() - started)


def with_total(solution: Solution, total: float) -> Solution:
    """The same solution with its total time."""
    return replace(solution, seconds={**solution.seconds, "total": total})


def stop_of(gap: float, options: Options, interrupted: bool, last: Point, has_certificate: bool) -> str:
    """Why a solve ended, in the vocabulary of :class:`~mmopt.results.Status`."""
    if gap <= options.tolerance:
        return "gap reached"
    if interrupted:
        return "interrupted"
    # A point that is not the solver's last was the last all the same: the time was over after it.
    if last.stop == "stopped" or not last.final:
        return "time limit"
    if last.stop == "iteration limit":
        return "iteration limit"
    return "gap not reached" if has_certificate else "solver finished"
