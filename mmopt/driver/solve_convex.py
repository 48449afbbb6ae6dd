"""A convex program solved as planned: whole, reduced, or factor by factor.

A solver runs on one instance, each of its points is certified, the best is kept. The result of a reduction is
scored again: the lifted strategy becomes a point by the program's section ``from strategy``, and is repaired
and evaluated against the program file for the whole workload like a solver's point; the lifted multipliers
are put into its certificate. So only the gap depends on the correctness of a reduction.

Where the chosen solver stops improving near the tolerance, a solver of another method goes on: an interior
point method may end with an exact objective at a point that is off by about the square root of that error,
and then a certificate that takes slopes at the point is short; on small programs a first order method ends at
a nearer point.

A product is solved factor by factor, and the certified solutions of its factors are combined. Nothing is
scored over the cells: objective and bound of the whole are the products of theirs, by the theorem of
``compiler/reductions/merge_and_split.py``; the plan decides by the program's tree if it applies.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mmopt.compiler import SolvedPart, is_shipped, scale
from mmopt.driver.judge import (
    Candidate,
    Derived,
    Ending,
    Stage,
    adopt,
    assemble_solution,
    combine_factors,
    gap_of,
    improves,
    may_move,
    meaning,
    refuted,
)
from mmopt.driver.problem_for_bound_or_inner_point import derive_bound, unknown_errors
from mmopt.driver.run_solver import (
    DERIVE,
    Best,
    able_solvers,
    least_gap,
    run_solver,
    shifted_rows,
    stopped_early,
)
from mmopt.driver.task_and_plan import FEW_CELLS, SolvePlan, Task
from mmopt.driver.why_no_solution import (
    SECONDS_IN_A_HURRY,
    endless_error,
    find_endless,
    find_growth,
    singular_error,
)
from mmopt.errors import (
    SolverError,
    TimeLimitError,
    TooLargeError,
    UndecidedError,
    UnsuitableError,
    counted,
)
from mmopt.limits import Stop, time_left, working
from mmopt.numerics.arrays import rounded
from mmopt.results import Solution
from mmopt.solvers import (
    Claim,
    Clock,
    Iteration,
    Options,
    SolverRow,
    choose_solver,
    is_free,
    predicted,
    total,
)
from mmopt.strategies import as_dense

# The share of the tolerance for the parts; the rest is for the rounding of the lift.
SHARE_OF_PARTS = 0.9
# Seconds for a part when the time is over: without a point for every part there is none for the whole.
SECONDS_OF_A_LATE_PART = 1e-3
# Points from the problems of a derived bound are taken if better by this part of the objective, in so many
# rounds.
BETTER, MOST_ROUNDS = 1e-7, 4
SECONDS_OF_ANOTHER = 1.0  # for a solver of another method, where the first gives no feasible point
NEAR_THE_GAP = 100.0  # times the tolerance: at a larger gap a solver of lower precision is no help
SECONDS_NEAR_THE_GAP = 1.0  # that it may take there; if the first took longer, as long as that
SECONDS_UNASKED = 60.0  # the longest forecast at which a slower way is taken unasked
UNREDUCED = "solve it as it is with reduce=False (--no-reduce)"


def solve_convex(task: Task) -> Solution:
    """Solve one convex program.

    The tolerance is that of the solver's row unless the caller names one. It is that of the whole: parts of
    a reduction are solved somewhat more exactly. ``Solution.reductions`` has a line for each reduction.

    Raises
    ------
    OptionError : an option that a convex program does not have.
    SolverError : no feasible point was found, of the whole or of a part; or the solver named is no kernel,
        and the instance is by component.
    TooLargeError : the problem does not fit in memory.
    """
    if task.plan.step is not None:
        return _solve_parts(task)
    try:
        first = _solve_whole(task)
    except SolverError:
        plan = task.plan.further() if task.plan.further is not None else None
        if not isinstance(plan, SolvePlan):
            raise
        return solve_convex(replace(task, plan=plan))
    return _continue_slowly(task, first)


def _continue_slowly(task: Task, first: Solution) -> Solution:
    """Go on by the plan's slower way, where the first leaves the gap open; the solution of smaller gap.

    The first stays after Ctrl-C, or where its iterations are used up; and, with a remark, where the second
    fails, or time or memory do not suffice.
    """
    further, left = task.plan.further, time_left()
    if further is None or first.status.stop in (Stop.REACHED, Stop.INTERRUPTED) or left <= 0:
        return first
    try:
        if not isinstance(plan := further(), SolvePlan):
            why = plan.message if isinstance(plan, TooLargeError) else plan
            return replace(first, warnings=(f"{_gap_words(first)}; the search ends there: {why}",))
        if (why := _why_too_long(task, plan)) and first.gap is not None:
            return replace(first, warnings=(f"{_gap_words(first)}; {why}",))
        overrides = {**task.overrides, "time_limit": left} if left < np.inf else dict(task.overrides)
        if "max_iterations" in overrides:  # in all
            overrides["max_iterations"] -= first.iterations or 0
            if overrides["max_iterations"] < 1:
                return replace(first, status=replace(first.status, stop=Stop.ITERATIONS))
        second = solve_convex(replace(task, plan=plan, overrides=overrides))
    except TimeLimitError as error:
        return replace(first, status=replace(first.status, stop=Stop.TIME), warnings=(error.message,))
    except (SolverError, TooLargeError) as error:
        return replace(first, warnings=(*first.warnings, error.message))
    except KeyboardInterrupt:
        return replace(first, status=replace(first.status, stop=Stop.INTERRUPTED), warnings=())
    is_worse, stop = _gap_or_infinity(second) > _gap_or_infinity(first), second.status.stop
    best = replace(first, status=replace(first.status, stop=second.status.stop)) if is_worse else second
    # The warnings of a second way are about a limit of its own where its time was over.
    limit = task.overrides.get("time_limit")
    more = f" ({limit:g} s): allow more time" if stop == Stop.TIME and limit else ""
    warnings = (f"{stop}{more}; {_gap_words(best)}",) if is_worse or stop == Stop.TIME else second.warnings
    return replace(
        best,
        reductions=(*first.reductions, *second.reductions),
        stages=(*first.stages, *second.stages),
        seconds={name: first.seconds[name] + second.seconds[name] for name in second.seconds},
        iterations=total([first.iterations, second.iterations]),
        history=(
            *first.history,
            *shifted_rows(
                second.history,
                iteration=first.iterations or 0,
                seconds=first.seconds["compile"] + first.seconds["solve"],
            ),
        ),
        warnings=() if stop == Stop.REACHED else warnings,
    )


def _why_too_long(task: Task, plan: SolvePlan) -> str:
    """In words, why a slower way is not taken unasked: its forecast; "" where it is taken."""
    if {"tolerance", "time_limit"} & task.overrides.keys():
        return ""
    row = choose_solver(plan.instance, task.solver)
    seconds = predicted(plan.instance, row).seconds
    if seconds <= SECONDS_UNASKED:
        return ""
    return (
        f"a search in the {plan.split} may close it, in some {seconds:.0f} s by forecast: "
        f"ask for it with a tolerance (--tolerance {row.tolerance:g}) or a time limit"
    )


def _gap_words(solution: Solution) -> str:
    """The gap of a solution in words."""
    return f"the gap is {rounded(_gap_or_infinity(solution), 2, up=True, layout='e')}"


def _gap_or_infinity(solution: Solution) -> float:
    """The gap of a solution; infinite without a bound."""
    return np.inf if solution.gap is None else solution.gap


def _solve_whole(task: Task) -> Solution:
    """Solve an instance as it is, and derive a bound where the task does.

    The problems of a derived bound may have a better point: then the bound is derived again from there.
    """
    started = time.monotonic()
    if not task.plan.split and (error := singular_error(task.instance)) is not None:
        raise error
    point, ending = _run_solvers(task)
    solved = working()
    # A bound of 0 may follow from a sign alone: no point need come near it.
    if ending.derived is None or not ending.derived.bound:
        _refuse_endless(task, point, ending)
    ending = replace(ending, reductions=task.plan.lines)
    for rounds_left in reversed(range(MOST_ROUNDS)):
        points: list[Mapping[str, Any]] = []
        derived = with_derived_bound(task, point, ending, started, points)
        better = (
            _better_point(task, point, points, started)
            if rounds_left and derived.stop != Stop.REACHED
            else None
        )
        if better is None:
            break
        by: Stage = {"stage": "replaced", "name": "by a point found while deriving a bound"}
        point, best = better
        best.stages = [*ending.stages, {**by, "objective": point.objective}]
        ending = replace(ending, **best.scored(point))
    if derived.stop != Stop.REACHED:
        why = stopped_early(task.instance, ending, least_gap(task.instance, derived.objective, derived))
        derived = replace(derived, warnings=(*derived.warnings, *why))
    is_bounded = derived.bound is not None or (derived.derived or Derived(None)).bound is not None
    # Two more solves are for programs whose solver struggled.
    if not is_bounded and derived.word.lower() not in ("solved", "optimal"):
        _refuse_endless(task, None, derived)
    if task.derives:
        early = [stage for stage in derived.stages if stage["stage"] == "derive"]  # while the solver ran
        seconds = working() - solved + sum(float(stage["seconds"] or 0.0) for stage in early)
        kept = [stage for stage in derived.stages if stage["stage"] != "derive"]
        derived = replace(derived, stages=[*kept, {**DERIVE, "seconds": seconds}])
    return assemble_solution(task.instance, point.env, derived)


def _better_point(
    task: Task, point: Candidate, points: Sequence[Mapping[str, Any]], started: float
) -> tuple[Candidate, Best] | None:
    """The best of ``points`` (of a derived bound's problems), if better by more than rounding."""
    instance, best = task.instance, Best(task.instance, uncharged=point, point=point)
    # The point of a named solver is not replaced.
    for values in filter(None, points if may_move(instance) and is_free(task.solver) else ()):
        best.offer({**point.variables, **values}, {})  # a variable in no line has no value there
    margin = BETTER * abs(point.objective)
    least = point.objective - (margin if instance.program.sense == "minimize" else -margin)
    if best.point is None or not improves(best.point.objective, least, instance.program.sense):
        return None
    with Clock(task.overrides.get("time_limit", np.inf) - (time.monotonic() - started)) as clock:
        best.move_inside(clock, task.overrides.get("tolerance") or Options().tolerance)
    return best.point, best


def _refuse_endless(task: Task, point: Candidate | None, ending: Ending) -> None:
    """Raise SolverError for a user's program whose objective improves without end, as seen from a point.

    Without a point, as seen from solutions within two boxes.
    """
    if task.plan.split or ending.stop == Stop.INTERRUPTED or is_shipped(task.instance.checked):
        return
    with Clock(SECONDS_IN_A_HURRY) as clock:
        growth = (
            find_growth(task.instance, *scale(task.instance), clock)
            if point is None
            else find_endless(task.instance, point.variables)
        )
    if growth is not None:
        error = endless_error(task.instance, growth)
        error.stages = ending.stages
        raise error


def with_derived_bound(
    task: Task,
    point: Candidate,
    ending: Ending,
    started: float,
    points: list[Mapping[str, Any]] | None = None,
) -> Ending:
    """The ending with a bound read off the program's lines, where the task derives one.

    ``points`` collects points, as that of ``derive_bound``.
    """
    if not task.derives or ending.stop == Stop.INTERRUPTED:
        return ending
    tolerance = ending.options.tolerance if isinstance(ending.options, Options) else Options().tolerance
    derived = ending.derived or Derived(None)  # the run's
    gap = gap_of(task.instance.checked, ending.objective, derived.bound)
    if (gap is None or gap > tolerance) and not derived.is_over:
        worked = ending.compile + ending.solve
        worked -= sum(float(stage["seconds"] or 0.0) for stage in ending.stages if stage["stage"] == "point")
        derived = derive_bound(
            task, point.variables, ending.objective, started, worked, ending.multipliers, points
        )
    if derived.why and refuted(ending.objective, derived.bound, task.instance.program.sense):
        derived = Derived(None, why=derived.why)  # an estimate may be above, which is no error
    if derived.bound is None:
        return replace(
            ending,
            warnings=(*ending.warnings, f"no bound was derived from the constraints: {derived.why}"),
        )
    warnings, gap = ending.warnings, gap_of(task.instance.checked, ending.objective, derived.bound)
    doubt = f"the bound derived from the constraints is an estimate: {derived.why}"
    doubts, stop = (doubt,) if derived.why else (), ending.stop
    # The solver could not stop by the derived bound: where that is the only one, its gap is judged here, and
    # may be reached after all by a solver that was stopped. A point that was given stays certified.
    is_met = gap is not None and gap <= tolerance and stop not in (Stop.CERTIFIED, Stop.CLOSED)
    if ending.bound is None and gap is not None and (is_met or stop in (Stop.FINISHED, Stop.REACHED)):
        stop = Stop.REACHED if gap <= tolerance else Stop.MISSED
        wider = f", or ask for a tolerance of {rounded(gap, 1, up=True, layout='e')}" if gap < 0.5 else ""
        if stop == Stop.MISSED:
            warnings = (
                *warnings,
                f"the bound derived from the constraints leaves a gap of "
                f"{rounded(gap, 2, up=True, layout='e')}, {tolerance:.0e} was requested: "
                f"{unknown_errors(task.instance) or derived.hint or f'try another solver{wider}'}",
            )
    return replace(ending, derived=derived, stop=stop, warnings=(*warnings, *doubts))


def _run_solvers(task: Task) -> tuple[Candidate, Ending]:
    """Run the task's solver; one of another method where it gives no point, or ends just short of the gap.

    Near the gap, the point and ending of the other solver are taken where it reaches the gap or is
    interrupted. Nothing is tried where the caller named the solver or limited its iterations.
    """
    started, row = time.monotonic(), choose_solver(task.instance, task.solver)
    if task.plan.split and not isinstance(row, Claim):
        raise UnsuitableError(
            f"{row.name} does not work by component ({task.plan.split})",
            hint="leave the solver out, or solve over all cells with reduce=False (--no-reduce)",
        )
    best = Best(task.instance)
    try:
        point, ending = run_solver(task, row, best, started)
    except SolverError as error:
        is_open = best.point is not None or isinstance(error, UndecidedError)
        if is_open and may_move(task.instance) and (other := _other_solver(task, row)) is not None:
            overrides = {"time_limit": SECONDS_OF_ANOTHER, **task.overrides}
            with suppress(SolverError, TooLargeError):
                point, ending = run_solver(replace(task, overrides=overrides), other, best, started)
                remark = (
                    () if ending.stop == Stop.REACHED else (f"{row.name} gave no point: {error.message}",)
                )
                return point, replace(ending, warnings=(*ending.warnings, *remark))
        raise
    options = ending.options
    assert isinstance(options, Options)
    used = time.monotonic() - started
    seconds = min(max(used, SECONDS_NEAR_THE_GAP), options.time_limit - used)
    is_near = ending.stop == Stop.MISSED and best.gap <= NEAR_THE_GAP * options.tolerance
    other = _other_solver(task, row) if is_near and seconds > 0 and not options.max_iterations else None
    if other is None:
        return point, ending
    overrides = {**task.overrides, "tolerance": options.tolerance, "time_limit": seconds}
    with suppress(SolverError, TooLargeError):
        reached, last = run_solver(replace(task, overrides=overrides), other, best, started)
        if last.stop in (Stop.REACHED, Stop.INTERRUPTED):
            runs = max((int(row["run"]) for row in ending.history if "run" in row), default=0)
            return reached, replace(
                last,
                options=options,
                iterations=total([ending.iterations, last.iterations]),
                compile=ending.compile,
                solve=last.compile + last.solve - ending.compile,
                history=[
                    *ending.history,
                    *shifted_rows(last.history, run=runs, iteration=ending.iterations or 0),
                ],
            )
    return point, replace(ending, stages=[*best.stages, *ending.stages[-1:]])


def _other_solver(task: Task, row: SolverRow | Claim) -> SolverRow | None:
    """The first solver of another method that has the cones; None where the caller named one."""
    if isinstance(row, Claim) or not is_free(task.solver):
        return None
    return next((able for able in able_solvers(task.instance) if able.method != row.method), None)


@dataclass
class Parts:
    """The parts solved so far; equal ones are solved once."""

    whole: Task
    started: float = field(default_factory=time.monotonic)
    results: dict[tuple[SolvePlan, float], SolvedPart] = field(default_factory=dict)
    endings: list[Ending] = field(default_factory=list)
    stops: list[tuple[str, Sequence[str]]] = field(default_factory=list)  # why each ended, and its warnings
    history: list[Mapping[str, float | bool]] = field(default_factory=list)  # each row with its part
    stages: list[Stage] = field(default_factory=list)  # likewise
    made_of: dict[tuple[SolvePlan, float], Counter[int]] = field(default_factory=dict)  # how often which part
    tolerance: float = 0.0  # of the whole: the caller's, or the largest default of the solvers

    def solved(self, plan: SolvePlan, share: float) -> SolvedPart:
        """The result of a plan, within its share of the gap: a solver's point, or the lift of its parts."""
        if plan.step is None:
            return self.run(plan, share)
        of_part = share / len(plan.parts) if plan.step.multiplies else share
        for part in plan.parts:
            if (part, of_part) not in self.results:
                self.results[part, of_part] = self.solved(part, of_part)
        self.made_of[plan, share] = sum((self.made_of[part, of_part] for part in plan.parts), Counter())
        return plan.step.lift([self.results[part, of_part] for part in plan.parts])

    def options(self, plan: SolvePlan, share: float) -> dict[str, Any]:
        """The options of a part: its share of the gap, and the rest of the time."""
        whole = self.whole
        tolerance = whole.overrides.get("tolerance") or _default_tolerance(plan, whole.solver)
        self.tolerance = max(self.tolerance, tolerance)
        overrides = {**whole.overrides, "tolerance": SHARE_OF_PARTS * share * tolerance}
        if any(stop == Stop.INTERRUPTED for stop, _ in self.stops):
            overrides["time_limit"] = SECONDS_OF_A_LATE_PART
        elif "time_limit" in overrides:
            overrides["time_limit"] = max(
                overrides["time_limit"] - (time.monotonic() - self.started), SECONDS_OF_A_LATE_PART
            )
        return overrides

    @contextmanager
    def reductions_in_errors(self) -> Iterator[None]:
        """Within, an error of a part says which reductions come before its counts, and how to do without."""
        try:
            yield
        except SolverError as error:
            lines = "; ".join(self.whole.plan.lines)
            whole = SolverError(
                f"{error.message} (cells and queries counted after: {lines})",
                where=error.where,
                hint="; or ".join(filter(None, [error.hint, UNREDUCED])),
            )
            whole.stages = error.stages
            raise whole from None

    def outcome(self, gap: float) -> tuple[str, tuple[str, ...]]:
        """The stop of the whole, and the warnings of the parts where it did not reach its gap.

        The stop is that of the first part that did not reach its gap; ``Stop.LIFTED``, with a warning, where
        every part did and the whole did not.
        """
        if gap <= self.tolerance:
            return Stop.REACHED, ()
        stop = next((stop for stop, _ in self.stops if stop != Stop.REACHED), str(Stop.LIFTED))
        lifted = (
            f"every part reached its gap, and what they make together has a gap of "
            f"{rounded(gap, 2, up=True, layout='e')} ({self.tolerance:.0e} was requested): {UNREDUCED}"
        )
        warnings = dict.fromkeys(warning for _, warnings in self.stops for warning in warnings)
        return stop, (*warnings, *([lifted] if stop == Stop.LIFTED else []))

    def run(self, plan: SolvePlan, share: float) -> SolvedPart:
        """Run the solvers on a plan without a step."""
        overrides = self.options(plan, share)
        with self.reductions_in_errors():
            began = time.monotonic() - self.started
            point, ending = _run_solvers(replace(self.whole, plan=plan, overrides=overrides))
        self.endings.append(ending)
        self.made_of[plan, share] = Counter([len(self.endings)])
        early = stopped_early(plan.instance, ending, least_gap(plan.instance, ending.objective, ending))
        self.stops.append((ending.stop, (*ending.warnings, *early)))
        self.stages += [{"part": len(self.endings), **stage} for stage in ending.stages]
        self.history += [
            {"part": len(self.endings), **row} for row in shifted_rows(ending.history, seconds=began)
        ]
        return SolvedPart(
            meaning(plan.instance, point.env, ending.multipliers)[0], ending.multipliers, ending.bound
        )


def _default_tolerance(plan: SolvePlan, solver: str | SolverRow | None) -> float:
    """The tolerance of the solver that would be chosen."""
    try:
        return choose_solver(plan.instance, solver).tolerance
    except TooLargeError:  # for every conic solver; another may fit, or raises itself
        return Options().tolerance


def _solve_parts(task: Task) -> Solution:
    """Solve by reductions: what the parts' solutions are lifted to is scored as a point of the whole."""
    instance, parts, best = task.instance, Parts(task), Best(task.instance)
    lifted = parts.solved(task.plan, 1.0)
    seconds = time.monotonic() - parts.started
    made_of = ", ".join(
        f"{counted(n, 'copy')} of part {part}" for part, n in sorted(parts.made_of[task.plan, 1.0].items())
    )
    lift: Stage = {"stage": "combined", "name": f"{made_of}, then repaired and evaluated as one point"}
    best.stages = [*parts.stages, lift]
    best.offer(adopt(instance, as_dense(lifted.strategy)), lifted.multipliers)
    if (point := best.feasible_point) is None:
        lines = "; ".join(task.plan.lines)
        if instance.workload.n <= FEW_CELLS:  # rounding, where queries are nearly dependent: solved as it is
            solution = solve_convex(replace(task, plan=SolvePlan(instance)))
            return replace(
                solution,
                warnings=(
                    *solution.warnings,
                    f"solved as it is: the reduced problem gave no feasible point ({lines})",
                ),
            )
        raise SolverError(
            f"the solution of the reduced problem gives no feasible point of '{instance.program.name}' "
            f"({lines})",
            hint=UNREDUCED,
        )
    (stop, warnings), endings = parts.outcome(best.gap), parts.endings
    name, version = map(" and ".join, zip(*dict.fromkeys(one.solver for one in endings), strict=True))
    iterations, solving = total(one.iterations for one in endings), sum(one.solve for one in endings)
    best.tell(task, name, seconds, iterations)
    whole = Iteration(iterations, seconds, point.objective, best.bound).row(0.0, certified=True)
    ending = best.ending(
        point,
        stop=stop,
        solver=(name, version),
        word=endings[-1].word,
        options=Options(**{**task.overrides, "tolerance": parts.tolerance}),
        iterations=iterations,
        compile=seconds - solving,
        solve=solving,
        scaling=endings[0].scaling if len(endings) == 1 else {},
        warnings=warnings,
        history=[*parts.history, whole],
        reductions=task.plan.lines,
    )
    _refuse_endless(task, point, ending)
    return assemble_solution(instance, point.env, with_derived_bound(task, point, ending, parts.started))


def solve_factors(task: Task, solve: Callable[[Task], Solution]) -> Solution:
    """Solve a product by its plan, equal factors once; ``solve`` solves the task of a factor.

    Raises
    ------
    SolverError : no feasible point of a factor was found.
    """
    parts, plans = Parts(task), task.plan.factors
    solutions: dict[SolvePlan, Solution] = {}
    for plan in task.plan.attributes:
        with parts.reductions_in_errors():
            solution = solutions[plan] = solve(
                replace(task, plan=plan, overrides=parts.options(plan, 1.0 / len(plans)))
            )
        parts.stops.append((solution.status.stop, solution.warnings))
    solved = list(solutions.values())
    whole = combine_factors(
        task.instance.workload.hash, {name: solutions[plan] for name, plan in plans.items()}
    )
    stop, warnings = parts.outcome(_gap_or_infinity(whole))
    names, versions = zip(*dict.fromkeys((s.solver, s.solver_version) for s in solved), strict=True)
    solution = replace(
        whole,
        solver=" and ".join(names),
        solver_version=" and ".join(versions),
        status=replace(whole.status, stop=stop),
        iterations=total(s.iterations for s in solved),
        seconds={
            **{name: sum(s.seconds[name] for s in solved) for name in ("compile", "solve")},
            "total": time.monotonic() - parts.started,
        },
        options={**whole.options, **task.overrides, "tolerance": parts.tolerance},
        reductions=task.plan.lines,
        warnings=warnings,
    )
    task.tell(
        solution.solver, solution.seconds["total"], solution.iterations, solution.objective, solution.bound
    )
    return solution
