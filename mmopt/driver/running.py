"""Run a solver on a convex instance, score each of its points, keep the best, and say how it ended."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Scaling, lower, scale
from mmopt.compiler.match import is_shipped
from mmopt.driver.diagnosis.diagnose import explain_failure, missed
from mmopt.driver.judge.assemble import Ending, stopped_early, unscaled
from mmopt.driver.judge.score import Array, Candidate, bound_of, candidate, charged, improves, starts_from
from mmopt.driver.task import Task
from mmopt.errors import OptionError, SolverError
from mmopt.language.evaluate.memo import Memo
from mmopt.limits import Stop
from mmopt.results import gap_between
from mmopt.solvers import KERNELS, Claim, Clock, Options, Point, SolverRow, predicted, run

__all__ = ["Best", "Run", "run_solver"]


@dataclass
class Best:
    """The best repaired point and the best bound so far; they may come from different points."""

    instance: Instance
    plain: Candidate | None = None
    point: Candidate | None = None  # the same, its last violations charged at the multipliers
    bound: float | None = None
    multipliers: Mapping[str, Array] | None = None
    values: Mapping[str, Array] | None = None  # of the point, before its repair

    def offer(
        self, values: Mapping[str, Array], multipliers: Mapping[str, Array], polar: Any = None
    ) -> Candidate | None:
        """Repair and score a point (in the program's own scale); None when no repair exists."""
        sense = self.instance.program.sense
        try:
            found = candidate(self.instance, values)
        except (ArithmeticError, np.linalg.LinAlgError):  # so far off that no repair exists
            return None
        # Feasible before infeasible, then by the objective.
        known = self.plain
        if known is None or (
            improves(found.objective, known.objective, sense)
            if found.is_feasible == known.is_feasible
            else found.is_feasible
        ):
            known, self.values = found, values
        self.plain = known
        multipliers = {**multipliers, **starts_from(self.instance, found.env)}
        bound = bound_of(self.instance, multipliers, polar)
        if bound is not None and (self.bound is None or improves(self.bound, bound, sense)):
            self.bound, self.multipliers = bound, multipliers
        if self.multipliers is None:
            self.multipliers = multipliers
        self.point = charged(self.instance, known, self.multipliers)
        return found

    def settle(self) -> None:
        """Let go of what only another point, or a failure, would ask for: it may be large."""
        if is_shipped(self.instance.checked.written):  # another bound is tested with it
            self.values = None
        if self.point is not None:
            self.plain = self.point = replace(self.point, memo=Memo())

    def stop(self, options: Options, clock: Clock) -> Stop | None:
        """Why work ends on this: the gap is reached, Ctrl-C, or the time is over; None for another reason."""
        if self.gap <= options.tolerance:
            return Stop.REACHED
        return Stop.INTERRUPTED if clock.interrupted else Stop.TIME if clock.is_over else None

    def tell(self, task: Task, solver: str, seconds: float, iterations: int) -> None:
        """Report the best point so far."""
        if self.point is not None:
            task.tell(solver, seconds, iterations, self.point.objective, self.bound)

    def ending(self, **how: Any) -> Ending:
        """The best point, which is feasible, and the best bound; ``how`` they came about."""
        point = self.point
        assert point is not None
        return Ending(
            objective=point.objective,
            proved=point.proved,
            violation=point.before,
            raw=self.values,
            bound=self.bound,
            multipliers=self.multipliers or {},
            **how,
        )

    @property
    def is_feasible(self) -> bool:
        return self.point is not None and self.point.is_feasible

    @property
    def gap(self) -> float:
        if self.point is None or not self.point.is_feasible:
            return float("inf")
        gap = gap_between(self.point.objective, self.bound, self.instance.program.sense)
        return float("inf") if gap is None else gap


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
    with closing(points):
        for point in points:
            variables, multipliers = scaling.undone(point.variables, point.multipliers)
            yield replace(point, variables=variables, multipliers=multipliers)


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
            best.instance, handed.scaled, handed.scaling, self.row.name, self.last, best.point
        )

    def ending(self) -> Ending:
        """What a Solution says of how it came about; there is a feasible point."""
        best, row, options, scaling = self.best, self.row, self.options, self.handed.scaling
        stop = self.stop()
        warnings = stopped_early(best.instance, row, options, stop, best.gap, best.values or {})
        compiling = self.clock.handed_over
        return best.ending(
            stop=stop,
            solver=(row.name, row.version),
            word=self.last.raw,
            options=options,
            iterations=self.last.iterations,
            compile=self.before + compiling,
            solve=self.solved - compiling,
            scaling={} if scaling is None else scaling.scales,
            warnings=warnings if scaling is None else (*unscaled(best.instance, scaling), *warnings),
        )

    def stop(self) -> str:
        """Why it ended, in the vocabulary of :class:`~mmopt.results.Status`."""
        last = self.last
        if self.best.gap <= self.options.tolerance:
            return Stop.REACHED
        if self.clock.interrupted:
            return Stop.INTERRUPTED
        # A point that is not the solver's last was the last all the same: the time was over after it.
        if last.stop in (None, Stop.STOPPED):
            return Stop.TIME
        if last.stop in (Stop.ITERATIONS, Stop.LOCAL):
            return last.summary or last.stop
        return Stop.FINISHED if self.best.instance.program.certificate is None else Stop.MISSED


def _options_of(row: SolverRow | Claim, task: Task) -> Options:
    """The options, with the tolerance of the solver's row unless the caller names one."""
    chosen = task.options(tolerance=row.tolerance)
    if chosen.arrays is not None and not (isinstance(row, Claim) and row.kernel.takes_arrays):
        raise OptionError(
            f"{row.name} computes with its own arrays, not with those of '{chosen.arrays}'",
            hint=f"these take any: {', '.join(k.name for k in KERNELS if k.takes_arrays)}",
        )
    return chosen


def run_solver(task: Task, row: SolverRow | Claim, best: Best, started: float) -> Run:
    """Score the solver's points until the gap is reached, the time is over, or it has no more.

    ``best`` does the scoring; ``started`` (``time.monotonic``) is when the work on this task began.

    Raises
    ------
    OptionError : an option that the solver does not have.
    SolverError : no feasible point was found.
    """
    options, last, instance = _options_of(row, task), None, task.instance
    seconds = predicted(instance, row).seconds if task.report is not None else 0.0
    if seconds > LONG:
        task.tell(row.name, 0.0, 0, float("nan"), None, certified=False, predicted=seconds)
    before = time.monotonic() - started
    with Clock(options.time_limit, compiling=not isinstance(row, Claim)) as clock:
        handed = _hand_over(instance, row, options, clock)
        with closing(handed.points):
            for last in handed.points:
                if len(last.variables) == len(instance.program.choose):
                    best.offer(last.variables, last.multipliers, last.polar)
                if best.point is not None:
                    best.tell(task, row.name, clock.elapsed, last.iterations)
                elif last.estimate is not None:
                    task.tell(row.name, clock.elapsed, last.iterations, *last.estimate, certified=False)
                # A kernel that has only reported so far is asked once more: it sees that the time is over.
                has_point = bool(last.variables) or best.point is not None
                if best.gap <= options.tolerance or (clock.is_over and has_point):
                    break
        solved = clock.elapsed
    assert last is not None
    if best.gap <= options.tolerance:
        best.settle()
        last = replace(last, variables={}, multipliers={}, polar=None)
    found = Run(row, options, best, last, handed, clock, before, solved)
    if not best.is_feasible:
        raise found.failure()
    return found
