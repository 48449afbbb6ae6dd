"""Runs of solvers: points scored, the best kept, the end explained; a second problem for a bound, or inside.

Remarks on an objective say which misses are charged to it, or else why it is estimated.

**A derived bound**, for any convex program: a second problem is solved for multipliers and slopes, which are
then judged. The solver is not trusted: ``proved_bounds.py`` reads a bound at any multipliers and slopes. The
multipliers at the end of the solve of the program are tried first. Where the first perturbation leaves too
much, or makes the problem unbounded, others follow. The same problem, with room in its lines, gives a point
inside.
"""

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Scaling, cones, lower, scale
from mmopt.compiler.duality.lagrangian import nodes_of
from mmopt.compiler.duality.lower_node_by_node import lower_node_by_node
from mmopt.compiler.duality.ranges import ranges_of
from mmopt.compiler.same_program import is_shipped
from mmopt.compiler.scale_numbers import units_of
from mmopt.driver.accepted_inputs import OF_SOLVERS, unread
from mmopt.driver.judge.assemble_solution import Ending, Row, adopt
from mmopt.driver.judge.check_claims import understates
from mmopt.driver.judge.proved_bounds import Derived, Reader, level_above, reader
from mmopt.driver.judge.score_point import (
    Candidate,
    bound_of,
    candidate,
    charged,
    gap_of,
    improves,
    may_move,
    names_with_errors,
    starts_from,
    upper_value,
)
from mmopt.driver.judge.violations import violations, worst_line
from mmopt.driver.solve_plan import Task
from mmopt.driver.why_no_solution import explain_failure
from mmopt.errors import Error, SolverError, TimeLimitError, UndecidedError
from mmopt.language import evaluate
from mmopt.language.evaluate.constraint_misses import excess_with_errors
from mmopt.language.evaluate.evaluator import Memo
from mmopt.language.evaluate.number_systems import splits
from mmopt.language.syntax.syntax_tree import names_in
from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import BOUNDS
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
    conic_solver,
    is_kernel,
    missing_cones,
    predicted,
    run,
)
from mmopt.strategies.baselines import baseline, baseline_names


@dataclass
class Best:
    """The best repaired point and the best bound so far; they may come from different points."""

    instance: Instance
    uncharged: Candidate | None = None
    point: Candidate | None = None  # the same, its last violations charged at the multipliers
    bound: float | None = None
    multipliers: Mapping[str, Array] | None = None
    unrepaired: Mapping[str, Array] | None = None  # the point, before its repair

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
        best = self.uncharged
        if best is None or (
            improves(repaired.objective, best.objective, sense)
            if repaired.is_feasible == best.is_feasible
            else repaired.is_feasible
        ):
            best, self.unrepaired = repaired, values
        self.uncharged = best
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
            moved = moved_inside(self.instance, self.point, clock, tolerance)
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
        # A user's program tests its derived bound with them.
        self.unrepaired = None if is_shipped(self.instance.checked) else self.unrepaired
        if self.point is not None:
            self.uncharged = self.point = replace(self.point, memo=Memo())

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
            objective=point.objective,
            proved=point.proved,
            violation=point.before,
            unrepaired=self.unrepaired,
            bound=self.bound,
            multipliers=self.multipliers or {},
            **how,
        )

    def feasible(self, clock: Clock, failure: Callable[[], SolverError], is_named: bool = True) -> Candidate:
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
                raise error
        return self.feasible_point

    @property
    def gap(self) -> float:
        point = self.feasible_point
        gap = None if point is None else gap_of(self.instance.checked, point.objective, self.bound)
        return math.inf if gap is None else gap


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
    seconds = min(predicted(instance, row).seconds if task.report else 0.0, options.time_limit)
    if seconds > SECONDS_TO_ANNOUNCE:
        task.tell(row.name, 0.0, 0, float("nan"), None, certified=False, predicted=seconds)
    before = time.monotonic() - started
    scaled: tuple[Instance, Scaling] | None = None  # a kernel takes the instance as it is
    history: list[Row] = []
    reported = -math.inf
    with Clock(options.time_limit, compiling=not isinstance(row, Claim)) as clock:
        if isinstance(row, Claim):
            points = row.points(instance, options, clock)
        else:
            scaled = scale(instance)
            points = _unscaled(run(row, lower(scaled[0]), options, clock), scaled[1])
        with closing(points):
            for last in points:
                estimate = last.estimate and [Iteration(last.iterations, clock.elapsed, *last.estimate)]
                counted = last.counted if estimate is None else estimate
                history += [iteration.row(before, certified=False) for iteration in counted]
                if len(last.variables) == len(instance.program.choose):
                    best.offer(last.variables, last.multipliers, last.polar)
                    if (scored := best.iteration(last, clock.elapsed)) is not None:
                        history.append(scored.row(before, certified=True))
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
    assert last is not None
    stop, final = _stop(best, options, clock, last), last
    solver_is_named = task.solver is not None
    offers = stop in (Stop.TIME, Stop.INTERRUPTED) and not solver_is_named
    baseline_name = best.offer_baselines() if offers else ""
    if not clock.interrupted:
        with Clock(options.time_limit - clock.elapsed) as more:
            best.move_inside(more, options.tolerance)
    if stop == Stop.REACHED:
        best.settle()
    is_short, solver_point = stop not in (Stop.REACHED, Stop.FINISHED), best.point
    point = best.feasible(
        clock, lambda: explain_failure(best.instance, scaled, row.name, final, best.point), solver_is_named
    )
    remarks = {
        f"{row.name} found no point ({last.raw}): this one comes from a diagnosis": point is not solver_point,
        f"no point that {row.name} had by then is better than the baseline {baseline_name}, which this is": (
            bool(baseline_name)
        ),
    }
    warnings = (
        *(unscaled_warning(best.instance, scaled[1]) if scaled and is_short else ()),
        *(remark for remark, holds in remarks.items() if holds),
        *_stopped_early(best.instance, row, options, stop, best.gap, best.unrepaired or {}),
    )
    return point, best.ending(
        point,
        stop=stop,
        solver=(row.name, row.version),
        word=last.raw,
        options=options,
        iterations=last.iterations,
        compile=before + clock.handed_over,
        solve=solved - clock.handed_over,
        scaling={} if scaled is None else scaled[1].scales,
        history=history,
        warnings=warnings,
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
            yield replace(
                point,
                variables=variables,
                multipliers=multipliers,
                counted=[i.placed(0, i.run, scaling.objective) for i in point.counted],
            )


def _stop(best: Best, options: Options, clock: Clock, last: Point) -> str:
    """The reason for the end, in the vocabulary of :class:`~mmopt.results.Status`."""
    # A solver that did not mark its last point as such was cut off by the time limit.
    if stop := best.stop(options, clock, last.stop in (None, Stop.STOPPED)):
        return stop
    if last.stop in (Stop.ITERATIONS, Stop.LOCAL):
        return last.summary or str(last.stop)
    return Stop.FINISHED if best.instance.program.certificate is None else Stop.MISSED


# A violation of the solver's point below this is not reported: the repair charges it.
VIOLATION_TO_TELL = 1e-4


def unscaled_warning(instance: Instance, scaling: Scaling) -> tuple[str, ...]:
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
    tolerance, others = f"{options.tolerance:.0e}", "another formulation"
    if stop == Stop.MISSED and not splits(instance.env):  # no other solver works by component
        names = [able.name for able in able_solvers(instance) if able.name != row.name]
        others = f"another solver ({', '.join(names)})" if names else others
    reached = (
        f"the gap is {rounded(gap, 2, up=True, layout='e')}, {tolerance} was asked for"
        if np.isfinite(gap)
        else f"a gap of {tolerance} was not reached"  # a bound of another program may come later
    )
    limit = "" if options.max_iterations is None else f" of {options.max_iterations}"
    texts: dict[str, str] = {
        Stop.TIME: f"stopped at the time limit of {options.time_limit:g} s: {reached}; allow more time",
        Stop.ITERATIONS: f"stopped at the iteration limit{limit}: {reached}; allow more",
        Stop.INTERRUPTED: f"interrupted: {reached}; let it run longer",
        Stop.MISSED: f"{row.name} got no further: {reached}; try {others}",
    }
    if stop not in texts:
        return ()
    wider = f", or ask for a tolerance of {rounded(max(gap, 1e-15), 1, up=True, layout='e')}"
    text = texts[stop] + wider * (gap < 0.5)
    line = worst_line(instance, plain(values)) if values else None  # none: the time was over before a point
    if line is not None and line.amount > VIOLATION_TO_TELL:
        text += f"; before its repair the point missed {line.text(instance)} by {line.amount:.1e}"
    return (text,)


def later(rows: Iterable[Row], **by: float) -> list[Row]:
    """Rows of a history, counted on from these numbers of iterations, seconds or runs."""
    return [{name: value + by[name] if name in by else value for name, value in row.items()} for row in rows]


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
    value, misses = float(evaluate(program.objective, env)), "the rounding of its value or of a line"
    if missed := [v for v in violations(instance, env) if v.amount > 0]:
        line, by = missed[0].text(instance), rounded(missed[0].amount, 2, up=True, layout="e")
        misses = f"misses of {line} (by {by}, relatively, times its multiplier)"
    charge = abs(solution.objective - value)
    if charge > float(solution.options.get("tolerance") or 1e-6) * max(1.0, abs(value)):
        most = rounded(charge, 3, up=True)
        return [f"the objective is {value:.6g} at the point, and charged {most} for {misses}"]
    is_uncharged = solution.solver == "given" and not solution.multipliers
    if is_uncharged and missed and missed[0].amount > SMALLEST_MISS_TOLD:
        return [
            f"the point misses {line} by {by}, relatively, which is taken for rounding: without multipliers "
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
    rest = f" and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
    return ", ".join(f"'{name}'" for name in lines[:MOST_NAMED]) + rest


# Part of the objective that is taken off for variables in cones, so that residuals are inside the dual cones.
SHARES = (1e-7, 1e-9, 1e-5, 0.0)
SMALL_OBJECTIVE = 1e-3  # an objective below it may be next to nothing: it is also tried unscaled
BOUND_TOLERANCE = 1e-7  # of the runs
# A problem that is predicted to take longer, in seconds, is not tried without a time limit.
MOST_SECONDS, LEAST_SECONDS = 60.0, 1e-3
MOST_HALVES = 40  # the least part of the way to a point inside that is tried, as a power of a half
MAY_COST = 0.1  # part of the tolerance that a proof may cost that the objective is not below the optimum
SECONDS_INSIDE = 10.0  # for a point inside


def derive_bound(
    task: Task,
    point: Mapping[str, Any],
    objective: float,
    started: float,
    multipliers: Mapping[str, Any] = MappingProxyType({}),
    points: list[Mapping[str, Array]] | None = None,
) -> Derived:
    """The best bound within the time; ``started`` (``time.monotonic``) is when the task began.

    ``multipliers``: by constraint, of any origin, tried before a problem is solved for others.
    ``points`` collects the points of the problems, in which numbers are near one.
    The lack of a bound raises nothing: ``Derived.why`` gives the reason.
    """
    instance, tolerance = task.instance, task.overrides.get("tolerance") or Options().tolerance
    limit = task.overrides.get("time_limit", np.inf) - (time.monotonic() - started)
    if splits(instance.env):
        return Derived(None, why="it is by component")
    best = Derived(None, why=unknown_errors(instance) or "the time is over")
    try:
        row = _conic(instance, task.solver)
        seconds = predicted(instance, row).seconds
        if seconds > (limit if np.isfinite(limit) else MOST_SECONDS):
            return Derived(None, why=f"it is predicted to take {seconds:.0f} s: allow more with a time limit")
        with Clock(limit) as clock:  # Ctrl-C ends it with the best bound so far
            read = reader(instance, point, level_above(instance, objective))
            for derived in _bounds(task, read, row, clock, multipliers, [] if points is None else points):
                if best.bound is None or (
                    derived.bound is not None and improves(best.bound, derived.bound, instance.program.sense)
                ):
                    best = derived
                gap = gap_of(instance.checked, objective, best.bound)
                if clock.is_over or (gap is not None and gap <= tolerance):
                    break
    except TimeLimitError:
        return best
    except Error as error:
        return best if best.bound is not None else Derived(None, why=error.message)
    return best


def unknown_errors(instance: Instance) -> str:
    """In words, the lets without an error bound, so that multipliers of their lines prove little; or ''."""
    program = instance.program
    sides = [side for c in program.constraints for side in (c.relation.left, c.relation.right)]
    taken = set[str]().union(*map(names_in, [program.objective, *sides]))
    balls = {let.name: instance.env[BOUNDS](let.name) for let in program.lets if let.name in taken}
    names = [f"'{name}'" for name, ball in balls.items() if ball is not None and np.isinf(ball.rad).all()]
    return f"of {' and '.join(names)}, computed under 'let', no error bound is known" if names else ""


def _conic(instance: Instance, name: str | SolverRow | None) -> SolverRow:
    """The conic solver named, else Clarabel, or the default where Clarabel lacks a cone."""
    # A function may be a first attempt: the bound need not suffer from it.
    if isinstance(name, str) and not is_kernel(name):
        return conic_solver(instance, name)
    try:
        return conic_solver(instance, "clarabel")
    except SolverError:
        return conic_solver(instance, None)


def _bounds(
    task: Task,
    read: Reader,
    row: SolverRow,
    clock: Clock,
    multipliers: Mapping[str, Any],
    ends: list[Mapping[str, Array]],
) -> Iterator[Derived]:
    """Bounds at the solver's points, one perturbation after the other; where lines cancel, scaled twice."""
    yield read.derived({}, {})  # by the declarations alone
    if multipliers:
        yield read.derived(multipliers, {})
    threads = task.overrides.get("threads")
    tried = [(share, None) for share in SHARES] + [(SHARES[0], 1.0)] * (
        abs(float(read.nodes.all[read.nodes.objective].value)) < SMALL_OBJECTIVE
    )
    for (share, size), by_parts in product(tried, (False, True)):
        if clock.is_over:
            return
        options = Options(
            tolerance=BOUND_TOLERANCE, threads=threads, time_limit=max(clock.left, LEAST_SECONDS)
        )
        apart = lower_node_by_node(read.nodes, read.ranges, share, size, by_parts=by_parts)
        if by_parts and not apart.is_cancelled:
            continue
        with closing(run(row, apart.lowered, options, clock)) as points:
            for _ in points:
                ends.append(apart.point())
                yield read.derived(*apart.duals())


def moved_inside(instance: Instance, point: Candidate, clock: Clock, tolerance: float) -> Candidate:
    """A nearby point at which all lines hold; the same point without one, or where a proof costs too much.

    In a second problem, lines that are not equations have room, and the objective is near. Somewhere on the
    way to its point all lines hold; the point is moved by the least part of the way that suffices.
    ``tolerance``: a proof may cost a part of it; with equations, or without an error bound of the objective,
    there is no proof.
    """
    if point.is_feasible and (
        point.proved
        or any(c.relation.op == "==" for c in instance.program.constraints)
        or not upper_value(instance.program.objective, point.env)[1]
    ):
        return point
    inner, best = _inner(instance, point.variables, clock), None
    first, middle, last = 0, 0, MOST_HALVES if inner else -1
    while first <= last and not clock.is_over:
        part = 0.5**middle
        moved = {n: (1.0 - part) * v + part * inner[n] for n, v in point.variables.items()}
        tried = candidate(instance, moved)
        if tried.is_feasible and (best is None or tried.proved >= best.proved):
            best, first = tried, middle + 1
        else:
            last = middle - 1
        middle = (first + last) // 2
    if best is None or not point.is_feasible:
        return best or point
    most = MAY_COST * tolerance * abs(point.objective)
    return best if best.proved and abs(best.objective - point.objective) <= most else point


@np.errstate(all="ignore")
def _inner(instance: Instance, values: Mapping[str, Any], clock: Clock) -> dict[str, Array]:
    """A point inside all lines that are not equations; nothing where there is none, or it would take long."""
    inner: dict[str, Array] = {}
    try:
        row, limit = _conic(instance, None), min(SECONDS_INSIDE, clock.left)
        if predicted(instance, row).seconds > limit:
            return {}
        nodes = nodes_of(instance, values, names_with_errors(instance)[0])
        apart = lower_node_by_node(nodes, ranges_of(nodes, np.inf), 0.0, is_inner=True)
        with closing(run(row, apart.lowered, Options(time_limit=max(limit, LEAST_SECONDS)), clock)) as points:
            for _ in points:
                inner = apart.point() or inner
    except (Error, ArithmeticError, np.linalg.LinAlgError):
        return {}
    return inner
