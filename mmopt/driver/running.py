"""Run a solver on a convex instance, score each of its points, keep the best, and say how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

from mmopt.compiler import Instance, Scaling, lower, scale
from mmopt.driver.best import Best
from mmopt.driver.choice import predicted
from mmopt.driver.diagnosis.diagnose import explain_failure, missed
from mmopt.driver.judge.score import Candidate
from mmopt.driver.judge.shortfalls import stopped_early, unscaled
from mmopt.errors import OptionError, SolverError
from mmopt.language import Program
from mmopt.results import Solution, Status, gap_between
from mmopt.solvers import KERNELS, Claim, Clock, Options, Point, SolverRow, run

__all__ = ["Progress", "Report", "Run", "options_of", "run_solver", "stop_of", "with_total"]


@dataclass(frozen=True)
class Progress:
    """What a solve has so far; passed to the caller's ``progress`` after each point.

    ``certified`` is False for a kernel's own count, before the program was evaluated. A solve that is
    predicted to take more than ``LONG`` seconds says so before it begins: then ``predicted`` has the seconds,
    and there is no objective (NaN).
    """

    program: str
    solver: str
    seconds: float
    iterations: int
    objective: float
    bound: float | None
    sense: str = "minimize"
    certified: bool = True
    predicted: float | None = None

    @property
    def gap(self) -> float | None:
        return gap_between(self.objective, self.bound, self.sense)


Report = Callable[[Progress], None]
LONG = 60.0  # seconds


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


@dataclass(frozen=True)
class Run:
    """What a solver came to: its best point and bound, how it ended, and the seconds that it took.

    ``before`` are the seconds until the run began, ``solved`` those of the run.
    """

    row: SolverRow | Claim
    options: Options
    best: Best
    last: Point
    handed: Handed
    clock: Clock
    before: float
    solved: float

    @property
    def point(self) -> Candidate:
        """The best point; there is one."""
        assert self.best.point is not None
        return self.best.point

    def failure(self) -> SolverError:
        """Why the best point is not feasible; KeyboardInterrupt where that was Ctrl-C."""
        handed, best = self.handed, self.best
        if self.clock.interrupted:
            raise KeyboardInterrupt
        if handed.scaled is None or handed.scaling is None:
            return missed(best.instance, self.row.name, self.last, best.point)
        return explain_failure(
            best.instance,
            handed.scaled,
            handed.scaling,
            self.row.name,
            self.last,
            best.point,
        )

    def conclusion(self) -> dict[str, Any]:
        """What a Solution says of how it came about; there is a feasible point."""
        best, row, options, point = self.best, self.row, self.options, self.point
        has_certificate = best.instance.program.certificate is not None
        stop = stop_of(best.gap, options, self.clock.interrupted, self.last, has_certificate)
        status = Status(stop, True, point.before, best.bound is not None, self.last.raw)
        warnings = stopped_early(best.instance, row, options, status, best.gap, best.values or {})
        scaling = self.handed.scaling
        if scaling is not None:
            warnings = (*unscaled(best.instance, scaling), *warnings)
        compiling = self.clock.handed_over
        return {
            "objective": point.objective,
            "proved": point.proved,
            "raw": best.values,
            "bound": best.bound,
            "status": status,
            "solver": (row.name, row.version),
            "options": asdict(options),
            "iterations": self.last.iterations,
            "seconds": {"compile": self.before + compiling, "solve": self.solved - compiling, "total": 0.0},
            "multipliers": best.multipliers or {},
            "scaling": {} if scaling is None else scaling.scales,
            "warnings": warnings,
        }


def options_of(row: SolverRow | Claim, overrides: Mapping[str, Any]) -> Options:
    """The options, with the tolerance of the solver's row unless they have one; OptionError as they say."""
    chosen = Options(**{"tolerance": row.tolerance, **overrides})
    if chosen.arrays is not None and not (isinstance(row, Claim) and row.kernel.takes_arrays):
        raise OptionError(
            f"{row.name} computes with its own arrays, not with those of '{chosen.arrays}'",
            hint=f"these take any: {', '.join(k.name for k in KERNELS if k.takes_arrays)}",
        )
    return chosen


def run_solver(
    instance: Instance,
    row: SolverRow | Claim,
    options: Options,
    report: Report | None,
    started: float,
    best: Best,
) -> Run:
    """Score the solver's points until the gap is reached, the time is over, or it has no more.

    ``started`` (``time.monotonic``) is when the work on this instance began; ``best`` does the scoring.
    """
    last: Point | None = None
    if report is not None:
        _announce(report, instance, row)
    before = time.monotonic() - started
    with Clock(options.time_limit, compiling=not isinstance(row, Claim)) as clock:
        handed = _hand_over(instance, row, options, clock)
        with closing(handed.points):
            for last in handed.points:
                if len(last.variables) == len(instance.program.choose):
                    best.offer(last.variables, last.multipliers, last.polar)
                if report is not None:
                    _tell(report, instance.program, row.name, clock, last, best)
                # A kernel that has only reported so far is asked once more: it sees that the time is over.
                has_point = bool(last.variables) or best.point is not None
                if best.gap <= options.tolerance or (clock.is_over and has_point):
                    break
        solved = clock.elapsed
    assert last is not None
    if best.gap <= options.tolerance:
        best.settle()
        last = replace(last, variables={}, multipliers={}, polar=None)
    return Run(row, options, best, last, handed, clock, before, solved)


def _announce(report: Report, instance: Instance, row: SolverRow | Claim) -> None:
    """Say that it will take long, if it is predicted to."""
    seconds = predicted(instance, row).seconds
    if seconds > LONG:
        name, nothing, sense = instance.program.name, float("nan"), instance.program.sense
        report(Progress(name, row.name, 0.0, 0, nothing, None, sense, certified=False, predicted=seconds))


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
    if last.stop == "iteration limit" or last.stop.startswith("local optimum"):
        return last.stop
    return "gap not reached" if has_certificate else "solver finished"
