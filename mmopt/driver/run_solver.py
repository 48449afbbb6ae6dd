"""A run of a solver: points scored, the best kept, the end explained, with warnings and remarks."""

import math
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Scaling, cones, is_shipped, lower, scale, units_of
from mmopt.driver.accepted_options_and_inputs import OPTIONS_OF_SOLVERS, unread_option
from mmopt.driver.judge import (
    FEASIBLE,
    Candidate,
    Derived,
    Ending,
    Stage,
    adopt,
    bound_of,
    candidate,
    charged,
    gap_of,
    improves,
    may_move,
    starts_from,
    understates_error,
    upper_value,
    violations,
    worst_line,
)
from mmopt.driver.judge.assemble_solution import Row
from mmopt.driver.problem_for_bound_or_inner_point import derive_bound, lost, moved_inside
from mmopt.driver.task_and_plan import Task
from mmopt.driver.why_no_solution import explain_failure, refuse_far_point
from mmopt.errors import Error, SolverError, UndecidedError
from mmopt.language import (
    Memo,
    evaluate,
    excess_with_errors,
    sizes_to_compare,
    splits,
)
from mmopt.limits import LOADED, Stop
from mmopt.numerics import Array, plain, rounded
from mmopt.results import Solution
from mmopt.solvers import (
    SOLVERS,
    Claim,
    Clock,
    Iteration,
    Options,
    Point,
    SolverRow,
    is_free,
    missing_cones,
    predicted,
    run,
)
from mmopt.strategies.baselines import baseline, baseline_names

# A violation of the solver's point below this is not reported: the repair charges it.
VIOLATION_TO_TELL = 1e-4


def unscaled_warning(instance: Instance) -> tuple[str, ...]:
    """In words, the line that keeps the program from being scaled; nothing when it was."""
    line = units_of(instance)
    if not isinstance(line, str):
        return ()
    where = "the objective" if line == "objective" else f"'{line}'"
    return (
        f"objective and constraints have no common scaling, so the program was not scaled: {where} is the "
        "first that does not scale with those before it (numbers added to data, or powers that do not match)",
    )


def stopped_early(instance: Instance, ending: Ending, gap: float) -> tuple[str, ...]:
    """In words, why the solve ended before its tolerance and what to change; nothing for other stops.

    gap : at the end, after all that was done for a bound.
    """
    options, (solver, _), stop = ending.options, ending.solver, ending.stop
    assert isinstance(options, Options)
    tolerance, others, values = f"{options.tolerance:.0e}", "another formulation", ending.unrepaired
    if stop == Stop.MISSED and not splits(instance.env):  # no other solver works by component
        names = [able.name for able in able_solvers(instance) if able.name != solver]
        others = f"another solver ({', '.join(names)})" if names else others
    reached = (
        f"the gap is {rounded(gap, 2, up=True, layout='e')}, {tolerance} was requested"
        if np.isfinite(gap)
        else f"a gap of {tolerance} was not reached"  # a bound of another program may come later
    )
    limit = "" if options.max_iterations is None else f" of {options.max_iterations}"
    texts: dict[str, str] = {
        Stop.TIME: f"stopped at the time limit of {options.time_limit:g} s: {reached}; allow more time",
        Stop.ITERATIONS: f"stopped at the iteration limit{limit}: {reached}; allow more",
        Stop.INTERRUPTED: f"interrupted: {reached}; let it run longer",
        Stop.MISSED: f"{solver} got no further: {reached}; try {others}",
    }
    if stop not in texts:
        return ()
    wider = f", or ask for a tolerance of {rounded(max(gap, 1e-15), 1, up=True, layout='e')}"
    text = texts[stop] + wider * (gap < 0.5)
    line = worst_line(instance, plain(values)) if values else None  # none: the time was over before a point
    if line is not None and line.amount > VIOLATION_TO_TELL:
        text += f"; before its repair the point violated {line.text(instance)} by {line.amount:.1e}"
    return (text,)


def able_solvers(instance: Instance) -> list[SolverRow]:
    """The installed solvers that have the cones."""
    needed = cones(instance.checked, instance.sizes())
    return [row for row in SOLVERS if row.is_installed and not missing_cones(row, needed)]


SMALLEST_MISS_TOLD = 1e-13  # relative: a smaller miss is the rounding of a sum
MOST_NAMED = 3  # lines


@np.errstate(all="ignore")
def objective_remarks(instance: Instance, solution: Solution) -> list[str]:
    """Remarks on the objective of a user's convex program: its charge, or else why it is only estimated.

    Empty for a shipped program, whose repair keeps its lines, and by component.
    """
    program, checked = instance.program, instance.checked
    if is_shipped(checked) or splits(instance.env) or program.problem_class != "convex":
        return []
    env = {**instance.env, **plain(solution.variables)}
    value, misses = float(evaluate(program.objective, env)), "the rounding of its value or of a constraint"
    if missed := [v for v in violations(instance, env) if v.amount > 0]:
        line, by = missed[0].text(instance), rounded(missed[0].amount, 2, up=True, layout="e")
        misses = f"the violation of {line} (by {by}, relatively, times its multiplier)"
    charge = abs(solution.objective - value)
    if charge > float(solution.options.get("tolerance") or 1e-6) * max(1.0, abs(value)):
        most = rounded(charge, 3, up=True)
        return [f"the objective is {value:.6g} at the point, and {most} is charged for {misses}"]
    is_uncharged = solution.solver == "given" and not solution.multipliers
    if is_uncharged and missed and missed[0].amount > SMALLEST_MISS_TOLD:
        return [
            f"the point violates {line} by {by}, relatively, which counts as rounding: without multipliers "
            "nothing is charged for it, and the objective may be better than the optimum"
        ]
    # A strategy is judged by its total error, which has a grade of its own.
    if solution.has_strategy or solution.objective_grade != "estimated":
        return []
    unsure = [c for c in program.constraints if excess_with_errors(c, env) > 0.0]
    if equations := [c.name for c in unsure if c.relation.op == "=="]:
        return [
            f"the objective is estimated, as {_lines_named(equations)} holds up to rounding only; where '<=' "
            "or '>=' means the same, it could be proved"
        ]
    if unsure:
        others = _lines_named([c.name for c in unsure])
        return [f"the objective is estimated: that {others} holds is known up to rounding only"]
    if not upper_value(program.objective, env)[1]:
        return ["the objective is estimated: no error bound is known of its evaluation"]
    return []


def _lines_named(lines: list[str]) -> str:
    """The first names of lines in quotes, and how many more there are."""
    rest = f" and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
    return ", ".join(f"'{name}'" for name in lines[:MOST_NAMED]) + rest


@dataclass
class Best:
    """The best repaired point and the best bound so far; they may come from different points."""

    instance: Instance
    uncharged: Candidate | None = None  # the best point, as it was scored
    point: Candidate | None = None  # the same, its last violations charged at the multipliers
    bound: float | None = None
    multipliers: Mapping[str, Array] | None = None
    unrepaired: Mapping[str, Array] | None = None  # the point, before its repair
    missed: float = 0.0  # by that point
    derived: Derived | None = None  # a bound read off the program's constraints
    stages: list[Stage] = field(default_factory=list)  # of all solvers that were run for it
    moved: Mapping[str, float] = field(default_factory=dict)  # as ``_moves``, once it is settled
    lost: float = 0.0  # by the move inside, of the objective
    is_inside: bool = False  # whether the point was moved inside

    def offer(
        self, values: Mapping[str, Array], multipliers: Mapping[str, Array], polar: Any = None
    ) -> Candidate | None:
        """Repair and score a point (in the scale of the program) and its multipliers; keep what is best.

        Returns the repaired point; None where no repair exists, or its strategy has more error than its
        objective says. ``polar``: of a ``Point``.
        """
        sense = self.instance.program.sense
        try:
            repaired = candidate(self.instance, values)
        except (ArithmeticError, np.linalg.LinAlgError):  # so far off that no repair exists
            return None
        if self.instance.program.problem_class == "rank" and understates_error(self.instance, repaired):
            return None
        # Feasible before infeasible, then by the objective.
        best = self.uncharged
        if best is None or (
            improves(repaired.objective, best.objective, sense)
            if repaired.is_feasible == best.is_feasible
            else repaired.is_feasible
        ):
            best, self.unrepaired, self.missed = repaired, values, repaired.before
        self.uncharged = best
        # Multipliers that the certificate takes from the point replace those of the solver.
        multipliers = {**multipliers, **starts_from(self.instance, repaired.env)}
        bound = bound_of(self.instance, multipliers, polar)
        if bound is not None and (self.bound is None or improves(self.bound, bound, sense)):
            self.bound, self.multipliers = bound, multipliers
        if self.multipliers is None or (multipliers and self.bound is None):
            self.multipliers = multipliers  # later ones are usually more exact
        self.point = charged(self.instance, best, self.multipliers)
        return repaired

    def derive(self, task: Task, started: float) -> None:
        """Derive a bound at the first feasible point, where the task derives one: it may end the run.

        It is read at the multipliers of the run; where that leaves a gap, one problem is solved for others.
        """
        point = self.feasible_point
        if self.derived is None and point is not None and task.derives:
            multipliers = self.multipliers or {}
            worked = time.monotonic() - started
            derived = derive_bound(
                task, point.variables, point.objective, started, worked, multipliers, most_problems=1
            )
            self.derived = Derived(None) if derived.why else derived  # an estimate ends nothing

    def move_inside(self, clock: Clock, tolerance: float) -> None:
        """Move the point of a user's program, where it misses lines, to one at which they hold."""
        if self.point is not None and may_move(self.instance) and not clock.is_over:
            moved = moved_inside(self.instance, self.point, clock, tolerance)
            self.lost = 0.0 if moved is self.point else lost(self.instance, self.point, moved)
            self.is_inside = self.is_inside or moved is not self.point
            self.uncharged = self.uncharged if moved is self.point else moved
            self.point = moved

    def offer_baselines(self) -> str:
        """Offer the baselines, which need no optimisation; the name of the one that is the best point now."""
        instance, best, end = self.instance, "", time.monotonic() + BASELINE_SECONDS
        takes = instance.program.adoption is not None and not splits(instance.env)
        for name in baseline_names() if takes else ():
            with suppress(Error):  # it does not apply, or the time is over
                # Repaired before it is offered: misses are reported of the solver's point only.
                point = adopt(instance, baseline(name, instance.workload, instance.program.meaning.norm))
                offered = self.offer(candidate(instance, point).variables, {})
                best = name if offered is not None and offered is self.uncharged else best
            if time.monotonic() > end:
                break
        return best

    def settle(self) -> None:
        """Drop what only another point, or a failure, would need: it may be large."""
        self.moved = self._moves()
        # A user's program tests its derived bound with them.
        self.unrepaired = None if is_shipped(self.instance.checked) else self.unrepaired
        if self.point is not None:
            self.uncharged = self.point = replace(self.point, memo=Memo())

    def _moves(self) -> dict[str, float]:
        """How far the repair moved each variable of the best point, of its size, where these are dense."""
        before = plain(self.unrepaired or {})
        after = plain({} if self.point is None else self.point.variables)
        dense = {n: v for n, v in after.items() if isinstance(before.get(n), np.ndarray | float)}
        units = sizes_to_compare({n: float(np.linalg.norm(v)) for n, v in dense.items()})
        return {
            f"{n} moved by part": float(np.linalg.norm(v - before[n])) / units[n] for n, v in dense.items()
        }

    def _repair_words(self) -> str:
        """How a point was repaired, in words."""
        near = " and moved nearby, to satisfy the constraints" * bool(
            self.uncharged and self.uncharged.is_near
        )
        proof = " to prove that they hold" * (self.missed <= FEASIBLE)
        moved = f" and moved inside the constraints{proof}" if self.is_inside else near
        return (
            "by the program's 'repair'"
            if self.instance.program.repair
            else f"made to fit the declared types{moved}"
        )

    def stop(self, options: Options, clock: Clock, is_over: bool | None = None) -> Stop | None:
        """The reason for the end: the gap is reached, Ctrl-C, or the time is over; None for another one.

        ``is_over``: whether the time ended the work, where its last step may have ended it first.
        """
        if self.gap <= options.tolerance:
            return Stop.REACHED
        is_over = clock.is_over if is_over is None else is_over
        return Stop.INTERRUPTED if clock.interrupted else Stop.TIME if is_over else None

    def tell(self, task: Task, solver: str, seconds: float, iterations: int | None) -> None:
        """Report the best point so far."""
        if self.point is not None:
            task.tell(solver, seconds, iterations, self.point.objective, self.bound)

    def iteration(self, last: Point, seconds: float) -> Iteration | None:
        """The best point and bound so far, at a solver's last point; None where the point is not feasible."""
        point = self.feasible_point
        return (
            None
            if point is None
            else Iteration(last.iterations, seconds, point.objective, self.bound, run=last.run)
        )

    @property
    def feasible_point(self) -> Candidate | None:
        """The best point, where it is feasible."""
        return self.point if self.point is not None and self.point.is_feasible else None

    def ending(self, point: Candidate, **how: Any) -> Ending:
        """The ending with the best ``point``, a feasible one, and the best bound; ``how``: other fields."""
        return Ending(
            **self.scored(point),
            bound=self.bound,
            derived=self.derived,
            multipliers=self.multipliers or {},
            **how,
        )

    def scored(self, point: Candidate) -> dict[str, Any]:
        """The figures of the best ``point`` that an ending has, and the stages with the repair as the last.

        What was missed before is a figure of the point that was offered, wherever it was moved since. Where a
        line's terms are next to nothing it is how far the point was moved, by a variable's size.
        """
        moved = self.moved or self._moves()
        is_whole = self.missed > SMALL_MISS and 0 < len(moved) == len(self.instance.program.choose)
        missed = min(self.missed, max(moved.values())) if is_whole else self.missed
        repair: Stage = {
            "stage": "repair",
            "name": self._repair_words(),
            "missed before": missed,
            "missed after": point.after,
            **moved,
        }
        return {
            "objective": point.objective,
            "proved": point.proved,
            "violation": missed,
            "unrepaired": self.unrepaired,
            "stages": [*self.stages, repair],
        }

    def feasible_or_raise(
        self, clock: Clock, failure: Callable[[], SolverError], is_named: bool = True
    ) -> Candidate:
        """The best point, where it is feasible; else KeyboardInterrupt after Ctrl-C, or the failure.

        A point from a diagnosis is taken, unless the caller named the solver: it is not that solver's.
        """
        if self.feasible_point is None:
            if clock.interrupted:
                raise KeyboardInterrupt
            error = failure()
            if isinstance(error, UndecidedError) and isinstance(error.feasible, Candidate) and not is_named:
                self.offer(error.feasible.variables, {})
            if self.feasible_point is None:
                error.stages = self.stages
                raise error
        return self.feasible_point

    @property
    def gap(self) -> float:
        """The gap between the best point and the best bound; infinite without both."""
        point = self.feasible_point
        return math.inf if point is None else least_gap(self.instance, point.objective, self)


def least_gap(instance: Instance, objective: float, bounds: Best | Ending) -> float:
    """The gap between an objective and the nearest of the bounds; infinite without one."""
    each = (bounds.bound, None if bounds.derived is None else bounds.derived.bound)
    gaps = (gap_of(instance.checked, objective, bound) for bound in each)
    return min((gap for gap in gaps if gap is not None), default=math.inf)


# A solve that is predicted to take longer, in seconds, is announced before it begins.
SECONDS_TO_ANNOUNCE = 60.0
SMALL_MISS = 1e-3  # of the size of a line's terms: more may be terms next to nothing
BASELINE_SECONDS = 0.5  # after which no further baseline is offered
DERIVE = {"stage": "derive", "name": "a bound from the constraints"}
SHARPER = 1e-2  # part of the tolerance that a run is asked for where its bound is derived
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
    seconds = min(predicted(instance, row).seconds if task.report else 0.0, options.time_limit)
    if seconds > SECONDS_TO_ANNOUNCE:
        task.tell(row.name, 0.0, 0, float("nan"), None, certified=False, predicted=seconds)
    seconds_before = time.monotonic() - started
    scaled: tuple[Instance, Scaling] | None = None  # a kernel takes the instance as it is
    derives_early, scaling, place, loaded = False, 0.0, len(best.stages), sum(LOADED.values())
    history: list[Row] = []
    reported = -math.inf
    with Clock(options.time_limit, compiling=not isinstance(row, Claim)) as clock:
        if isinstance(row, Claim):
            points = row.points(instance, options, clock)
        else:
            scaled, scaling = scale(instance), clock.elapsed
            # Where the derived bound is the only one it may end the run at the first point, which a few more
            # iterations sharpen.
            is_only = task.derives and instance.program.certificate is None
            derives_early = is_only and row.method == "interior point"
            sharper = replace(options, tolerance=options.tolerance * SHARPER) if derives_early else options
            points = _points_unscaled(run(row, lower(scaled[0]), sharper, clock), scaled[1])
        with closing(points):
            for last in points:
                counted = (
                    last.counted
                    if last.estimate is None
                    else [Iteration(last.iterations, clock.elapsed, *last.estimate)]
                )
                history += [iteration.row(seconds_before, certified=False) for iteration in counted]
                if len(last.variables) == len(instance.program.choose):
                    began = clock.elapsed
                    best.offer(last.variables, last.multipliers, last.polar)
                    deriving = clock.elapsed
                    if derives_early and best.gap > options.tolerance:
                        best.derive(task, started)
                        best.stages.append({**DERIVE, "seconds": clock.elapsed - deriving})
                    spent = deriving - began
                    if (scored := best.iteration(last, clock.elapsed)) is not None:
                        history.append(scored.row(seconds_before, certified=True))
                        ratio = {"gap": best.gap} if math.isfinite(best.gap) else {}
                        best.stages.append({**ratio, **history[-1], "stage": "point", "seconds": spent})
                if last.variables or clock.elapsed - reported >= SECONDS_BETWEEN:
                    reported = clock.elapsed
                    best.tell(task, row.name, reported, last.iterations)
                    if best.point is None and last.estimate is not None:
                        task.tell(row.name, reported, last.iterations, *last.estimate, certified=False)
                # A kernel that has only reported so far gets one more turn: it sees that the time is over.
                has_point = bool(last.variables) or best.point is not None
                if best.gap <= options.tolerance or (clock.is_over and has_point):
                    break
        solved = clock.elapsed
        loading = sum(LOADED.values()) - loaded
        each = {"scaling": scaling, "compiling": clock.handed_over - scaling - loading} if scaled else {}
        stage = solver_stage(instance, row, clock, last, each)
        stage["seconds"] -= loading + sum(float(later["seconds"] or 0.0) for later in best.stages[place:])
        best.stages.insert(place, stage)
    assert last is not None
    stop, final = _reason_for_end(best, options, clock, last), last
    solver_is_named = not is_free(task.solver)
    offers = stop in (Stop.TIME, Stop.INTERRUPTED) and not solver_is_named
    baseline_name = best.offer_baselines() if offers else ""
    if not clock.interrupted:
        with Clock(options.time_limit - clock.elapsed) as more:
            best.move_inside(more, options.tolerance)
    is_short, solver_point = stop not in (Stop.REACHED, Stop.FINISHED), best.point
    point = best.feasible_or_raise(
        clock, lambda: explain_failure(best.instance, scaled, row.name, final, best.point), solver_is_named
    )
    if scaled and may_move(instance) and point is best.point:
        refuse_far_point(instance, point, best.uncharged)
    is_diagnosed = point is not solver_point
    if stop == Stop.REACHED:
        best.settle()
        point = best.feasible_point or point
    by = f"by the baseline {baseline_name}" if baseline_name else "by a point found by the diagnosis"
    best.stages += [{"stage": "replaced", "name": by}] * (bool(baseline_name) or is_diagnosed)
    remarks = {
        f"the point of {row.name} violates constraints: the nearest feasible point found costs "
        f"{best.lost:.1e} of the objective": best.lost > options.tolerance,
        f"{row.name} found no point ({last.raw}): this one comes from a diagnosis": is_diagnosed,
        f"no point that {row.name} had by then is better than the baseline {baseline_name}, which this is": (
            bool(baseline_name)
        ),
    }
    warnings = (
        *(unscaled_warning(best.instance) if scaled and is_short else ()),
        *(remark for remark, holds in remarks.items() if holds),
    )
    return point, best.ending(
        point,
        stop=stop,
        solver=(row.name, row.version),
        word=last.raw,
        options=options,
        iterations=last.iterations,
        compile=seconds_before + clock.handed_over,
        solve=solved - clock.handed_over,
        scaling={} if scaled is None else scaled[1].scales,
        history=history,
        warnings=warnings,
    )


def solver_stage(
    instance: Instance,
    row: SolverRow | Claim,
    clock: Clock,
    last: Point | None,
    seconds_of: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """The stage of a solver: its words, its seconds, and what it got; a kernel gets the program as it is."""
    is_conic = isinstance(row, SolverRow)
    return {
        "stage": "solver" if is_conic else "kernel",
        "name": f"{row.name} {row.version}",
        "seconds": clock.elapsed,
        # What a file holds.
        **(
            {"cells": n if (n := instance.workload.n) < 2**53 else float(n)}
            if instance.reads_workload
            else {}
        ),
        **(
            {"gets": "", **clock.handed}
            if isinstance(row, SolverRow)
            else {"takes": f"the constraints of {row.program} unchanged, not as cones; {row.kernel.method}"}
        ),
        **{f"{name} took": seconds for name, seconds in (seconds_of or {}).items()},
        **({"solving by its own clock took": clock.solving} if clock.solving else {}),
        "it says": None if last is None else last.raw,
        "iterations": None if last is None else last.iterations,
    }


def _options_of(row: SolverRow | Claim, task: Task) -> Options:
    """The options, with the tolerance of the solver's row unless the caller names one."""
    readable = row.kernel.reads if isinstance(row, Claim) else row.reads
    for option in OPTIONS_OF_SOLVERS:
        if option in task.overrides and option not in readable:
            raise unread_option(option, task.instance.checked, row.name)
    return task.options(tolerance=row.tolerance)


def _points_unscaled(points: Generator[Point, None, None], scaling: Scaling) -> Generator[Point, None, None]:
    """The points of a scaled instance in the scale of the program."""
    with closing(points):
        for point in points:
            variables, multipliers = scaling.undone(point.variables, point.multipliers)
            yield replace(
                point,
                variables=variables,
                multipliers=multipliers,
                counted=[i.placed(0, i.run, scaling.objective) for i in point.counted],
            )


def _reason_for_end(best: Best, options: Options, clock: Clock, last: Point) -> str:
    """The reason for the end, in the vocabulary of :class:`~mmopt.results.Status`."""
    # A solver that did not mark its last point as such was cut off by the time limit.
    if stop := best.stop(options, clock, last.stop in (None, Stop.STOPPED)):
        return stop
    if last.stop in (Stop.ITERATIONS, Stop.LOCAL):
        return last.summary or str(last.stop)
    return Stop.FINISHED if best.instance.program.certificate is None else Stop.MISSED


def shifted_rows(rows: Iterable[Row], **by: float) -> list[Row]:
    """Rows of a history, with numbers of iterations, seconds or runs added to each row's own."""
    return [{name: value + by[name] if name in by else value for name, value in row.items()} for row in rows]
