"""A run of a solver: its points scored, the best kept, its end explained.

Where the chosen solver stops improving near the tolerance, a solver of another method goes on: an interior
point method may end with an exact objective at a point that is off by about the square root of that error,
and then a certificate that takes slopes at the point is short; on small programs a first order method ends at
a nearer point. Remarks on an objective say which misses are charged to it, or else why it is
estimated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Scaling, cones, lower, scale
from mmopt.compiler.same_program import is_shipped
from mmopt.compiler.scale_numbers import units_of
from mmopt.driver.accepted_inputs import OF_SOLVERS, unread
from mmopt.driver.diagnosis.diagnose import explain_failure
from mmopt.driver.judge.assemble_solution import Ending, Row, adopt
from mmopt.driver.judge.bound_claims import understates
from mmopt.driver.judge.score_point import (
    Candidate,
    bound_of,
    candidate,
    charged,
    gap_of,
    improves,
    may_move,
    starts_from,
    upper_value,
)
from mmopt.driver.judge.violations import Violation, violations, worst_line
from mmopt.driver.solve_plan import Task
from mmopt.errors import Error, SolverError, TooLargeError, UndecidedError
from mmopt.language import evaluate
from mmopt.language.evaluate.evaluate_constraint import excess_with_errors
from mmopt.language.evaluate.evaluator import Memo
from mmopt.language.evaluate.number_systems import splits
from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.numerics.split_arrays import plain
from mmopt.results import Solution
from mmopt.solvers import (
    SOLVERS,
    Claim,
    Clock,
    Iteration,
    Options,
    Point,
    SolverRow,
    missing_cones,
    predicted,
    run,
    total,
)
from mmopt.strategies.baselines import baseline, baseline_names


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
        """Repair and score a point (in the scale of the program).

        The repaired point, kept if it is the best; None where no repair exists, or its strategy has more
        error than its objective says.
        """
        sense = self.instance.program.sense
        try:
            repaired = candidate(self.instance, values)
        except (ArithmeticError, np.linalg.LinAlgError):  # so far off that no repair exists
            return None
        if self.instance.program.problem_class == "rank" and understates(self.instance, repaired):
            return None
        # Feasible before infeasible, then by the objective.
        best = self.plain
        if best is None or (
            improves(repaired.objective, best.objective, sense)
            if repaired.is_feasible == best.is_feasible
            else repaired.is_feasible
        ):
            best, self.values = repaired, values
        self.plain = best
        multipliers = {**multipliers, **starts_from(self.instance, repaired.env)}
        bound = bound_of(self.instance, multipliers, polar)
        if bound is not None and (self.bound is None or improves(self.bound, bound, sense)):
            self.bound, self.multipliers = bound, multipliers
        if self.multipliers is None:
            self.multipliers = multipliers
        self.point = charged(self.instance, best, self.multipliers)
        return repaired

    def move_inside(self, clock: Clock, tolerance: float) -> None:
        """Move the point of a user's program, where it misses lines, to one at which they hold."""
        if self.point is not None and may_move(self.instance) and not clock.is_over:
            from mmopt.driver.derive import moved_inside  # off the usual way

            moved = moved_inside(self.instance, self.point, clock, tolerance)
            if moved is not self.point:
                self.plain = self.point = moved

    def offer_baselines(self) -> str:
        """Offer the baselines, which need no optimisation; the name of the one that is the best point now."""
        instance, best, end = self.instance, "", time.monotonic() + BASELINE_SECONDS
        takes = instance.program.adoption is not None and not splits(instance.env)
        for name in baseline_names() if takes else ():
            with suppress(Error):  # it does not apply, or the time is over
                form = baseline(name, instance.workload, instance.program.meaning.norm)
                # Repaired before it is offered: misses are reported of the solver's point only.
                repaired = candidate(instance, adopt(instance, form))
                offered = self.offer(repaired.variables, {})
                best = name if offered is not None and offered is self.plain else best
            if time.monotonic() > end:
                break
        return best

    def settle(self) -> None:
        """Drop what only another point, or a failure, would need: it may be large."""
        if is_shipped(self.instance.checked):  # a user's program tests its derived bound with them
            self.values = None
        if self.point is not None:
            self.plain = self.point = replace(self.point, memo=Memo())

    def stop(self, options: Options, clock: Clock) -> Stop | None:
        """The reason for the end: the gap is reached, Ctrl-C, or the time is over; None for another one."""
        if self.gap <= options.tolerance:
            return Stop.REACHED
        return Stop.INTERRUPTED if clock.interrupted else Stop.TIME if clock.is_over else None

    def tell(self, task: Task, solver: str, seconds: float, iterations: int | None) -> None:
        """Report the best point so far."""
        if self.point is not None:
            task.tell(solver, seconds, iterations, self.point.objective, self.bound)

    def iteration(self, last: Point, seconds: float) -> Iteration | None:
        """The best point and bound so far, at a solver's last point; None where the point is not feasible."""
        if self.point is None or not self.point.is_feasible:
            return None
        return Iteration(last.iterations, seconds, self.point.objective, self.bound, run=last.run)

    def ending(self, point: Candidate, **how: Any) -> Ending:
        """The ending with the best ``point``, a feasible one, and the best bound; ``how``: other fields."""
        return Ending(
            objective=point.objective,
            proved=point.proved,
            violation=point.before,
            unrepaired=self.values,
            bound=self.bound,
            multipliers=self.multipliers or {},
            **how,
        )

    def feasible(self, clock: Clock, failure: Callable[[], SolverError], is_named: bool = True) -> Candidate:
        """The best point, where it is feasible; else KeyboardInterrupt after Ctrl-C, or the failure.

        A point from a diagnosis is taken, unless the caller named the solver: it is not that solver's.
        """
        if self.point is not None and self.point.is_feasible:
            return self.point
        if clock.interrupted:
            raise KeyboardInterrupt
        error = failure()
        if isinstance(error, UndecidedError) and isinstance(error.feasible, Candidate) and not is_named:
            self.offer(error.feasible.variables, {})
            if self.point is not None and self.point.is_feasible:
                return self.point
        raise error

    @property
    def gap(self) -> float:
        if self.point is None or not self.point.is_feasible:
            return float("inf")
        gap = gap_of(self.instance.checked, self.point.objective, self.bound)
        return float("inf") if gap is None else gap


# A solve that is predicted to take longer, in seconds, is announced before it begins.
SECONDS_TO_ANNOUNCE = 60.0
BASELINE_SECONDS = 0.5  # after which no further baseline is offered
SECONDS_BETWEEN = 0.1  # between two reports of a kernel's own count


def run_solver(task: Task, row: SolverRow | Claim, best: Best, started: float) -> tuple[Candidate, Ending]:
    """Score the solver's points until the gap is reached, the time is over, or it has no more.

    Returns the best point, which is feasible, and its ending. ``best`` does the scoring; ``started``
    (``time.monotonic``) is when the work on this task began.

    Raises
    ------
    OptionError : an option that the solver does not have.
    SolverError : no feasible point.
    KeyboardInterrupt : Ctrl-C before there was a feasible point.
    """
    instance, options, last = task.instance, _options_of(row, task), None
    seconds = predicted(instance, row).seconds if task.report is not None else 0.0
    seconds = min(seconds, options.time_limit)
    if seconds > SECONDS_TO_ANNOUNCE:
        task.tell(row.name, 0.0, 0, float("nan"), None, certified=False, predicted=seconds)
    before = time.monotonic() - started
    handed: tuple[Instance, Scaling] | None = None  # a kernel takes the instance as it is
    history: list[Row] = []
    reported = -math.inf
    with Clock(options.time_limit, compiling=not isinstance(row, Claim)) as clock:
        if isinstance(row, Claim):
            points = row.points(instance, options, clock)
        else:
            handed = scale(instance)
            points = _unscaled(run(row, lower(handed[0]), options, clock), handed[1])
        with closing(points):
            for last in points:
                counted = last.counted
                if last.estimate is not None:
                    counted = [Iteration(last.iterations, clock.elapsed, *last.estimate)]
                history += [iteration.row(before, certified=False) for iteration in counted]
                if len(last.variables) == len(instance.program.choose):
                    best.offer(last.variables, last.multipliers, last.polar)
                    if (scored := best.iteration(last, clock.elapsed)) is not None:
                        history.append(scored.row(before, certified=True))
                if last.variables or clock.elapsed - reported >= SECONDS_BETWEEN:
                    reported = clock.elapsed
                    if best.point is not None:
                        best.tell(task, row.name, reported, last.iterations)
                    elif last.estimate is not None:
                        task.tell(row.name, reported, last.iterations, *last.estimate, certified=False)
                # A kernel that has only reported so far gets one more turn: it sees that the time is over.
                has_point = bool(last.variables) or best.point is not None
                if best.gap <= options.tolerance or (clock.is_over and has_point):
                    break
        solved = clock.elapsed
    assert last is not None
    stop, final = _stop(best, options, clock, last), last
    is_named, better = task.solver is not None, ""
    if stop in (Stop.TIME, Stop.INTERRUPTED) and not is_named:
        better = best.offer_baselines()
    if not clock.interrupted:
        with Clock(options.time_limit - clock.elapsed) as more:
            best.move_inside(more, options.tolerance)
    if stop == Stop.REACHED:
        best.settle()
    is_short = stop not in (Stop.REACHED, Stop.FINISHED)
    solver_point = best.point
    point = best.feasible(
        clock, lambda: explain_failure(best.instance, handed, row.name, final, best.point), is_named
    )
    warnings = _stopped_early(best.instance, row, options, stop, best.gap, best.values or {})
    if better:
        warnings = (
            f"no point that {row.name} had by then is better than the baseline {better}, which this is",
            *warnings,
        )
    if point is not solver_point:
        warnings = (f"{row.name} found no point ({last.raw}): this one comes from a diagnosis", *warnings)
    return point, best.ending(
        point,
        stop=stop,
        solver=(row.name, row.version),
        word=last.raw,
        options=options,
        iterations=last.iterations,
        compile=before + clock.handed_over,
        solve=solved - clock.handed_over,
        scaling={} if handed is None else handed[1].scales,
        history=history,
        warnings=(*not_scaled(best.instance, handed[1]), *warnings) if handed and is_short else warnings,
    )


def _options_of(row: SolverRow | Claim, task: Task) -> Options:
    """The options, with the tolerance of the solver's row unless the caller names one."""
    readable = row.kernel.reads if isinstance(row, Claim) else row.reads
    for option in OF_SOLVERS:
        if option in task.overrides and option not in readable:
            raise unread(option, task.instance.checked, row.name)
    return task.options(tolerance=row.tolerance)


def _unscaled(points: Generator[Point, None, None], scaling: Scaling) -> Generator[Point, None, None]:
    with closing(points):
        for point in points:
            variables, multipliers = scaling.undone(point.variables, point.multipliers)
            counted = [i.placed(0, i.run, scaling.objective) for i in point.counted]
            yield replace(point, variables=variables, multipliers=multipliers, counted=counted)


def _stop(best: Best, options: Options, clock: Clock, last: Point) -> str:
    """The reason for the end, in the vocabulary of :class:`~mmopt.results.Status`."""
    if best.gap <= options.tolerance:
        return Stop.REACHED
    if clock.interrupted:
        return Stop.INTERRUPTED
    # A solver that did not mark its last point as such was cut off by the time limit.
    if last.stop in (None, Stop.STOPPED):
        return Stop.TIME
    if last.stop in (Stop.ITERATIONS, Stop.LOCAL):
        return last.summary or last.stop
    return Stop.FINISHED if best.instance.program.certificate is None else Stop.MISSED


# A violation of the solver's point below this is not reported: the repair charges it.
VIOLATION_TO_TELL = 1e-4


def not_scaled(instance: Instance, scaling: Scaling) -> tuple[str, ...]:
    """In words, the line that keeps the program from being scaled; nothing when it was."""
    if scaling.scales:
        return ()
    line = units_of(instance)
    where = "the objective" if line == "objective" else f"'{line}'"
    return (
        f"the lines of the program agree on no units, so it was not scaled: {where} is the first that does "
        "not scale with those before it (numbers added to givens, or powers that do not match)",
    )


def _stopped_early(
    instance: Instance,
    row: SolverRow | Claim,
    options: Options,
    stop: str,
    gap: float,
    values: Mapping[str, Array],
) -> tuple[str, ...]:
    """In words, why the solve ended before its tolerance and what to change; nothing for other stops.

    ``values`` is the solver's point before the repair.
    """
    tolerance = f"{options.tolerance:.0e}"
    reached = (
        f"the gap is {rounded(gap, 2, up=True, layout='e')}, {tolerance} was asked for"
        if np.isfinite(gap)
        else f"a gap of {tolerance} was not reached"  # a bound of another program may come later
    )
    wider = rounded(max(gap, 1e-15), 1, up=True, layout="e")
    less = f", or ask for a tolerance of {wider}" if gap < 0.5 else ""
    if stop == Stop.TIME:
        text = f"stopped at the time limit of {options.time_limit:g} s: {reached}; allow more time{less}"
    elif stop == Stop.ITERATIONS:
        limit = "" if options.max_iterations is None else f" of {options.max_iterations}"
        text = f"stopped at the iteration limit{limit}: {reached}; allow more{less}"
    elif stop == Stop.INTERRUPTED:
        text = f"interrupted: {reached}; let it run longer{less}"
    elif stop == Stop.MISSED:
        others = _others(instance, row)
        text = f"{row.name} got no further: {reached}; try {others}{less}"
    else:
        return ()
    line = worst_line(instance, plain(values)) if values else None  # the time was over before any point
    if line is not None and line.amount > VIOLATION_TO_TELL:
        text += f"; before its repair the point missed {line.text(instance)} by {line.amount:.1e}"
    return (text,)


def _others(instance: Instance, row: SolverRow | Claim) -> str:
    if splits(instance.env):  # no other solver works by component
        return "another formulation"
    needed = cones(instance.checked, instance.sizes())
    rows = [r for r in SOLVERS if r.is_installed and not missing_cones(r, needed)]
    names = [r.name for r in rows if r.name != row.name]
    return f"another solver ({', '.join(names)})" if names else "another formulation"


NEAR = 100.0  # times the tolerance: at a larger gap a solver of lower precision is no help
SECONDS = 1.0  # that it may take; if the first solver took longer, as long as that


def nearer(
    task: Task, row: SolverRow | Claim, best: Best, point: Candidate, ending: Ending, started: float
) -> tuple[Candidate, Ending]:
    """Run a solver of another method where ``row`` ended near the gap; the point and ending to go on with.

    Those of the other solver where it reaches the gap or is interrupted, else those of ``row``. Nothing is
    tried where the caller named the solver or limited its iterations.
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
    overrides = {**task.overrides, "tolerance": options.tolerance, "time_limit": seconds}
    try:
        reached, last = run_solver(replace(task, overrides=overrides), other, best, started)
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
    """The rows of the second run, counted on from those of the first."""
    runs = max((int(row["run"]) for row in first.history), default=0)
    on = {"run": runs, "iteration": first.iterations or 0}
    return [
        {**row, **{name: int(row[name]) + more for name, more in on.items() if name in row}}
        for row in second.history
    ]


def another(instance: Instance, row: SolverRow) -> SolverRow | None:
    """The first installed solver of another method that has the cones."""
    needed = cones(instance.checked, instance.sizes())
    able = (each for each in SOLVERS if each.is_installed and not missing_cones(each, needed))
    return next((each for each in able if each.method != row.method), None)


TOLD = 1e-13  # relative: a smaller miss is the rounding of a sum
MOST_NAMED = 3  # lines


def objective_remarks(instance: Instance, solution: Solution) -> list[str]:
    """Remarks on the objective of a user's convex program: its charge, or else why it is only estimated.

    Empty for a shipped program, whose repair keeps its lines, and by component.
    """
    if is_shipped(instance.checked) or splits(instance.env) or instance.program.problem_class != "convex":
        return []
    env = {**instance.env, **plain(solution.variables)}
    return [*_charge(instance, env, solution)] or [*_why_estimated(instance, env, solution)]


@np.errstate(all="ignore")
def _charge(instance: Instance, env: dict[str, Any], solution: Solution) -> Iterator[str]:
    missed: list[Violation] = [v for v in violations(instance, env) if v.amount > 0]
    value = float(evaluate(instance.program.objective, env))
    charge = abs(solution.objective - value)
    line = by = ""
    if missed:
        line, by = missed[0].text(instance), rounded(missed[0].amount, 2, up=True, layout="e")
    if charge > float(solution.options.get("tolerance") or 1e-6) * max(1.0, abs(value)):
        misses = f"misses of {line} (by {by}, relatively, times its multiplier)"
        what = misses if missed else "the rounding of its value or of a line"
        most = rounded(charge, 3, up=True)
        yield f"the objective is {value:.6g} at the point, and charged {most} for {what}"
    elif not missed or missed[0].amount <= TOLD:
        return
    elif solution.solver == "given" and not solution.multipliers:
        yield (
            f"the point misses {line} by {by}, relatively, which is taken for rounding: without multipliers "
            "nothing is charged for it, and the objective may be better than the optimum"
        )


def _why_estimated(instance: Instance, env: dict[str, Any], solution: Solution) -> Iterator[str]:
    # A strategy is judged by its total error, which has a grade of its own.
    if solution.has_strategy or solution.objective_grade != "estimated":
        return
    unsure = [c for c in instance.program.constraints if excess_with_errors(c, env) > 0.0]
    equations = [c.name for c in unsure if c.relation.op == "=="]
    others = [c.name for c in unsure if c.relation.op != "=="]
    if equations:
        yield (
            f"the objective is estimated, as {_named(equations)} holds up to rounding only; where '<=' or "
            "'>=' means the same, it could be proved"
        )
    elif others:
        yield f"the objective is estimated: that {_named(others)} holds is known up to rounding only"
    elif not upper_value(instance.program.objective, env)[1]:
        yield "the objective is estimated: no error bound is known of its evaluation"


def _named(lines: list[str]) -> str:
    rest = f" and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
    return ", ".join(f"'{name}'" for name in lines[:MOST_NAMED]) + rest
