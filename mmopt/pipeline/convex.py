"""Solve a convex program: choose a solver, run it, certify each of its points, keep the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Scaling, lower, scale
from mmopt.language import Program
from mmopt.pipeline.assemble import assemble
from mmopt.pipeline.certify import Array, Candidate, bound_of, candidate, charged, starts_from
from mmopt.pipeline.choice import choose_solver
from mmopt.pipeline.diagnosis.diagnose import explain_failure, missed
from mmopt.pipeline.early import stopped_early, unscaled
from mmopt.results import Solution, Status, gap_between
from mmopt.solvers import Claim, Clock, Options, Point, SolverRow, run

__all__ = [
    "Best",
    "Progress",
    "Report",
    "solve_convex",
    "stop_of",
    "with_total",
]


@dataclass(frozen=True)
class Progress:
    """What a solve has so far; passed to the caller's ``progress`` after each point.

    ``certified`` is False for a kernel's own count, before the program was evaluated.
    """

    program: str
    solver: str
    seconds: float
    iterations: int
    objective: float
    bound: float | None
    sense: str = "minimize"
    certified: bool = True

    @property
    def gap(self) -> float | None:
        return gap_between(self.objective, self.bound, self.sense)


Report = Callable[[Progress], None]


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


@dataclass(frozen=True)
class Handed:
    """An instance as a solver gets it: points in the program's own scale, and what a failure is explained by.

    ``scaled`` and ``scaling`` are None for a kernel, which takes the instance as it is.
    """

    points: Generator[Point, None, None]
    scaled: Instance | None = None
    scaling: Scaling | None = None


def _hand_over(instance: Instance, row: SolverRow | Claim, options: Options, clock: Clock) -> Handed:
    if isinstance(row, Claim):
        return Handed(row.points(instance, options, clock))
    scaled, scaling = scale(instance)
    return Handed(_unscaled(run(row, lower(scaled), options, clock), scaling), scaled, scaling)


def _unscaled(points: Generator[Point, None, None], scaling: Scaling) -> Generator[Point, None, None]:
    known = scaling.multipliers
    with closing(points):
        for point in points:
            yield replace(
                point,
                variables={n: v * scaling.variables[n] for n, v in point.variables.items()},
                multipliers={n: v * known[n] for n, v in point.multipliers.items() if n in known},
            )


def solve_convex(
    instance: Instance,
    solver: str | None,
    overrides: Mapping[str, Any],
    report: Report | None,
) -> Solution:
    """Solve one convex program, with the tolerance of the solver's row unless ``overrides`` has one."""
    started = time.monotonic()
    program = instance.program
    row = choose_solver(instance, solver)
    chosen = Options(**{"tolerance": row.tolerance, **overrides})
    best = Best(instance)
    last: Point | None = None
    before = time.monotonic() - started
    with Clock(chosen.time_limit) as clock:
        handed = _hand_over(instance, row, chosen, clock)
        with closing(handed.points):
            for last in handed.points:
                if len(last.variables) == len(program.choose):
                    best.offer(last.variables, last.multipliers)
                if report is not None:
                    _tell(report, program, row.name, clock, last, best)
                if best.gap <= chosen.tolerance or clock.is_over:
                    break
        interrupted = clock.interrupted
        solved = clock.elapsed
    assert last is not None
    point = best.point
    if point is None or not point.is_feasible:
        if handed.scaled is None or handed.scaling is None:
            raise missed(instance, row.name, last, point)
        raise explain_failure(
            instance, handed.scaled, handed.scaling, row.name, last, point, interrupted=interrupted
        )
    stop = stop_of(best.gap, chosen, interrupted, last, program.certificate is not None)
    status = Status(stop, True, point.before, best.bound is not None, last.raw)
    seconds = {"compile": before + clock.handed_over, "solve": solved - clock.handed_over}
    warnings = stopped_early(instance, row, chosen, status, best.gap, best.values or {})
    if handed.scaling is not None:
        warnings = (*unscaled(instance, handed.scaling), *warnings)
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
        scaling={} if handed.scaling is None else handed.scaling.scales,
        warnings=warnings,
    )
    return with_total(solution, time.monotonic() - started)


def _tell(report: Report, program: Program, solver: str, clock: Clock, last: Point, best: Best) -> None:
    """Report the best point so far; before there is one, what a kernel counts itself."""
    if best.point is not None:
        objective, bound = best.point.objective, best.bound
    elif last.estimate is not None:
        objective, bound = last.estimate
    else:
        return
    certified = best.point is not None
    report(
        Progress(
            program.name, solver, clock.elapsed, last.iterations, objective, bound, program.sense, certified
        )
    )


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
