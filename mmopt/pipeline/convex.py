"""Solve a convex program: choose a solver, run it, certify each of its points, keep the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

from mmopt.compiler import Instance, Scaling, lower, scale
from mmopt.compiler.reductions import by_components
from mmopt.errors import OptionError
from mmopt.language import Program
from mmopt.pipeline.assemble import assemble
from mmopt.pipeline.best import Best
from mmopt.pipeline.choice import choose_solver
from mmopt.pipeline.diagnosis.diagnose import explain_failure, missed
from mmopt.pipeline.early import stopped_early, unscaled
from mmopt.pipeline.lifting import lifted
from mmopt.results import Solution, Status, gap_between
from mmopt.solvers import KERNELS, Claim, Clock, Options, Point, SolverRow, run

__all__ = [
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
    *,
    split: bool = False,
) -> Solution:
    """Solve one convex program, with the tolerance of the solver's row unless ``overrides`` has one.

    ``split`` lets a kernel work on the components of a workload with symmetries.
    """
    started = time.monotonic()
    program = instance.program
    row = choose_solver(instance, solver)
    chosen = Options(**{"tolerance": row.tolerance, **overrides})
    if chosen.arrays is not None and not (isinstance(row, Claim) and row.kernel.takes_arrays):
        raise OptionError(
            f"{row.name} computes with its own arrays, not with those of '{chosen.arrays}'",
            hint=f"these take any: {', '.join(k.name for k in KERNELS if k.takes_arrays)}",
        )
    worked, reductions = instance, tuple[str, ...]()
    if split and isinstance(row, Claim) and not instance.own:
        found = by_components(instance.checked, instance.workload, {})
        if found is not None:
            worked, reductions = found[0], (found[1],)
    best = Best(worked)
    last: Point | None = None
    before = time.monotonic() - started
    with Clock(chosen.time_limit) as clock:
        handed = _hand_over(worked, row, chosen, clock)
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
    if worked is not instance and best.is_feasible:
        best = lifted(instance, worked, best)
    point = best.point
    if point is None or not point.is_feasible:
        if handed.scaled is None or handed.scaling is None:
            raise missed(worked, row.name, last, point)
        raise explain_failure(
            instance, handed.scaled, handed.scaling, row.name, last, point, interrupted=interrupted
        )
    stop = stop_of(best.gap, chosen, interrupted, last, program.certificate is not None)
    status = Status(stop, True, point.before, best.bound is not None, last.raw)
    seconds = {"compile": before + clock.handed_over, "solve": solved - clock.handed_over}
    warnings = stopped_early(worked, row, chosen, status, best.gap, best.values or {})
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
    return with_total(replace(solution, reductions=reductions), time.monotonic() - started)


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
