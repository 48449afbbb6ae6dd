"""Run a solver on a convex instance, score each of its points, keep the best, and say how it ended."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace

from mmopt.compiler import Instance, Scaling, lower, scale
from mmopt.driver.best import Best
from mmopt.driver.diagnosis.diagnose import explain_failure, missed
from mmopt.driver.judge.assemble import Ending, stopped_early, unscaled
from mmopt.driver.judge.score import Candidate
from mmopt.driver.task import Task
from mmopt.errors import OptionError, SolverError
from mmopt.limits import Stop
from mmopt.solvers import KERNELS, Claim, Clock, Options, Point, SolverRow, predicted, run

__all__ = ["Run", "run_solver"]

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
