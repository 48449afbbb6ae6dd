"""A second problem, for a bound on any convex program or for a point inside its constraints.

**A derived bound**: the second problem is solved for multipliers and slopes, which are then judged. The
solver is not trusted: ``derived_bound.py`` reads a bound at any multipliers and slopes. The multipliers at
the end of the solve of the program are tried first. Where the first perturbation leaves too much, or makes
the problem unbounded, others follow. The same problem, with room in its constraints, gives a point inside.
"""

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import islice, product
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Lowered, Multipliers, Slopes, lower_node_by_node, nodes_of, ranges_of
from mmopt.driver.judge import (
    Candidate,
    Derived,
    LineBounds,
    balls_of_names,
    candidate,
    gap_of,
    improves,
    level_above,
    line_bounds,
    upper_value,
)
from mmopt.driver.task_and_plan import Task
from mmopt.errors import Error, SolverError, TimeLimitError, UnsuitableError
from mmopt.language import (
    Declaration,
    evaluate,
    names_in,
    splits,
)
from mmopt.limits import ended_after
from mmopt.numerics import BOUNDS, Array
from mmopt.solvers import Clock, Options, SolverRow, conic_solver, is_free, is_kernel, predicted, run

# Part of the objective that is taken off for variables in cones, so that residuals are inside the dual cones.
# At the largest share they are far inside. A small part of that dual is added to others, whose residuals miss
# the cones by a solver's errors.
FAR_INSIDE = 1e-4
SHARES = (1e-7, FAR_INSIDE, 1e-9, 1e-5, 0.0)
PARTS = (1e-7, 1e-6, 1e-5, 1e-4)  # of the dual far inside
SMALL_OBJECTIVE = 1e-3  # an objective below it may be next to nothing: it is also tried unscaled
BOUND_TOLERANCE = 1e-7  # of the runs
# A problem that is predicted to take longer, in seconds, is not tried without a time limit.
LONGEST_UNASKED, LEAST_SECONDS = 60.0, 1e-3
# Without a time limit, work on a bound ends after so many seconds, or so many times those of the solve.
SECONDS_UNASKED, TIMES_UNASKED = 5.0, 3.0
MOST_HALVES = 40  # the least part of the way to a point inside that is tried, as a power of a half
NEARER = 0.1  # of a miss: a point that misses less is worth another try
MAY_COST = 0.1  # part of the tolerance that a proof may cost that the objective is not below the optimum
MOST_LOST = 0.1  # part of the objective that a move inside may cost
SECONDS_INSIDE = 10.0  # for a point inside


def derive_bound(
    task: Task,
    point: Mapping[str, Any],
    objective: float,
    started: float,
    worked: float,
    multipliers: Mapping[str, Any],
    points: list[Mapping[str, Array]] | None = None,
    most_problems: int | None = None,
) -> Derived:
    """The best bound within the time; ``started`` (``time.monotonic``) is when the task began.

    ``worked``: seconds that the solve itself has taken; without a time limit a few times as many are used.
    ``multipliers``: by constraint, of any origin, tried before a problem is solved for others.
    ``points``: a list to which each solved problem's point is added, in the program's own units. At most
    ``most_problems`` problems are solved.
    The lack of a bound raises nothing: ``Derived.why`` says why there is none, or why it is an estimate.
    """
    instance, tolerance = task.instance, task.overrides.get("tolerance") or Options().tolerance
    limit = task.overrides.get("time_limit", np.inf) - (time.monotonic() - started)
    unasked = max(SECONDS_UNASKED, TIMES_UNASKED * worked) if np.isinf(limit) else None
    if splits(instance.env):
        return Derived(None, why="it is by component")
    best = Derived(None, why=unknown_errors(instance) or "the time is over")
    try:
        row = _solver_of_duals(instance, task.solver)
        seconds = predicted(instance, row).seconds
        if seconds > (limit if np.isfinite(limit) else LONGEST_UNASKED):
            return Derived(None, why=f"it is predicted to take {seconds:.0f} s: allow more with a time limit")
        # Ctrl-C ends it with the best bound so far.
        with ended_after(unasked), Clock(limit if unasked is None else unasked) as clock:
            lines = line_bounds(instance, point, level_above(instance, objective))
            ends = [] if points is None else points
            for derived in _bounds_at_points(task, lines, row, clock, multipliers, ends, most_problems):
                if best.bound is None or (
                    derived.bound is not None and improves(best.bound, derived.bound, instance.program.sense)
                ):
                    best = replace(derived, hint=lines.hint)
                gap = gap_of(instance.checked, objective, best.bound)
                if clock.is_over or (gap is not None and gap <= tolerance):
                    break
    except TimeLimitError:
        return replace(best, is_over=unasked is not None)
    except Error as error:
        return best if best.bound is not None else Derived(None, why=error.message)
    return best


def unknown_errors(instance: Instance) -> str:
    """In words, the lets without an error bound, so that multipliers of their lines prove little; or ''."""
    program = instance.program
    sides = [side for c in program.constraints for side in (c.relation.left, c.relation.right)]
    names_used = set[str]().union(*map(names_in, [program.objective, *sides]))
    balls = {let.name: instance.env[BOUNDS](let.name) for let in program.lets if let.name in names_used}
    names = [f"'{name}'" for name, ball in balls.items() if ball is not None and np.isinf(ball.rad).all()]
    return f"of {' and '.join(names)}, computed under 'let', no error bound is known" if names else ""


def _solver_of_duals(instance: Instance, name: str | SolverRow | None) -> SolverRow:
    """The conic solver named, else Clarabel, or the default where Clarabel lacks a cone."""
    # A function may be a first attempt: the bound need not suffer from it.
    if isinstance(name, str) and not (is_kernel(name) or is_free(name)):
        return conic_solver(instance, name)
    try:
        return conic_solver(instance, "clarabel")
    except SolverError:
        return conic_solver(instance, None)


def _solved(
    instance: Instance, row: SolverRow, lowered: Lowered, options: Options, clock: Clock
) -> Generator[Any, None, None]:
    """The points of a solver; of another where it does without a cone that the second problem needs."""
    try:
        yield from run(row, lowered, options, clock)
    except UnsuitableError:
        yield from run(_solver_of_duals(instance, None), lowered, options, clock)


def _mixed(one: Mapping[Any, Array], other: Mapping[Any, Array], part: float) -> dict[Any, Array]:
    """Multipliers or slopes of which a part is from another dual."""
    return {at: (1.0 - part) * value + part * other.get(at, value) for at, value in one.items()}


def _bounds_at_points(
    task: Task,
    lines: LineBounds,
    row: SolverRow,
    clock: Clock,
    multipliers: Mapping[str, Any],
    ends: list[Mapping[str, Array]],
    most_problems: int | None,
) -> Iterator[Derived]:
    """Bounds at the solver's points, one perturbation after the other; where lines cancel, scaled twice.

    ``lines`` gives the bounds; ``ends`` collects the points.
    """
    if multipliers:
        yield lines.derived(multipliers, {})
    yield lines.derived({}, {})  # by ranges alone
    threads, last = task.overrides.get("threads"), Derived(None)
    near: tuple[Multipliers, Slopes] = multipliers, {}
    tried = [(share, None) for share in SHARES] + [(SHARES[0], 1.0)] * (
        abs(float(lines.nodes.all[lines.nodes.objective].value)) < SMALL_OBJECTIVE
    )
    for (share, size), by_parts in islice(product(tried, (False, True)), most_problems):
        if clock.is_over:
            return
        options = Options(
            tolerance=BOUND_TOLERANCE, threads=threads, time_limit=max(clock.left, LEAST_SECONDS)
        )
        lowered, apart = lower_node_by_node(lines.nodes, lines.ranges, share, size, by_parts=by_parts)
        if by_parts and not apart.is_cancelled:
            continue
        with closing(_solved(task.instance, row, lowered, options, clock)) as points:
            for _ in points:
                ends.append(apart.point())
                duals, slopes = apart.duals()
                if share == FAR_INSIDE:
                    for part in PARTS if duals else ():
                        yield lines.derived(_mixed(near[0], duals, part), _mixed(near[1], slopes, part))
                    continue
                near = near if near[0] else (duals, slopes)
                last = lines.derived(duals, slopes)
                yield last
                if not last.is_final:
                    yield lines.derived(duals, lines.corrected(duals, slopes))
        if last.is_final:
            return


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
    best = None
    for inner in _points_inside(instance, point, clock):
        first, middle, last = 0, 0, MOST_HALVES
        while first <= last and not clock.is_over:
            part = 0.5**middle
            moved = {n: (1.0 - part) * v + part * inner[n] for n, v in point.variables.items()}
            tried = candidate(instance, moved)
            if tried.is_feasible and (best is None or tried.proved >= best.proved):
                best, first = tried, middle + 1
            else:
                last = middle - 1
            middle = (first + last) // 2
        if best and not lost(instance, point, best) > MOST_LOST:
            break
        best = None
    if best is None and not point.is_feasible and not clock.is_over:
        # Scaled by its own numbers, the program may have a point that misses its lines by much less.
        nearer = candidate(instance, _inner_point(instance, point.variables, clock, False) or point.variables)
        return (
            moved_inside(instance, nearer, clock, tolerance) if nearer.after < NEARER * point.after else point
        )
    if best is None or not point.is_feasible:
        return best or point
    most = MAY_COST * tolerance * abs(point.objective)
    return best if best.proved and abs(best.objective - point.objective) <= most else point


def lost(instance: Instance, point: Candidate, moved: Candidate) -> float:
    """The part of the objective that a move costs, of its value at the point, where it has one; else nan.

    The point's own objective is charged for what it misses.
    """
    with np.errstate(all="ignore"):
        value = float(evaluate(instance.program.objective, point.env))
    return abs(moved.objective - value) / max(1.0, abs(value))


def _points_inside(instance: Instance, point: Candidate, clock: Clock) -> Iterator[Mapping[str, Any]]:
    """Points that may be inside all lines: a solver's; for a point that misses lines, simple ones as well.

    Of these the first is far inside the declarations and keeps the trace and the mean, as ``diag(X) == 1``
    needs it; the others are on the ray from the origin, which homogeneous lines allow.
    """
    values, kinds = point.variables, {d.name: d for d in instance.program.choose}
    if inner := _inner_point(instance, values, clock):
        yield inner
    if not point.is_feasible:
        yield {n: _mean(kinds[n], v) for n, v in values.items()}
        yield from ({n: scale * v for n, v in values.items()} for scale in (0.0, 2.0))


def _mean(d: Declaration, value: Array) -> Array:
    """The mean in each entry of a value with a sign; of a psd one the multiple of I that has its trace."""
    if d.kind == "psd":
        value = np.diag(np.full(len(value), np.trace(value) / max(1, len(value))))
    elif d.sign:
        value = np.full_like(value, np.mean(value))
    return value


@np.errstate(all="ignore")
def _inner_point(
    instance: Instance, values: Mapping[str, Any], clock: Clock, is_inner: bool = True
) -> dict[str, Array]:
    """A point inside all lines that are not equations; nothing where there is none, or it would take long.

    is_inner : False for the best point instead.
    """
    inner: dict[str, Array] = {}
    try:
        row, limit = _solver_of_duals(instance, None), min(SECONDS_INSIDE, clock.left)
        if predicted(instance, row).seconds > limit:
            return {}
        nodes = nodes_of(instance, values, balls_of_names(instance)[0])
        lowered, apart = lower_node_by_node(nodes, ranges_of(nodes, np.inf)[0], 0.0, is_inner=is_inner)
        with closing(run(row, lowered, Options(time_limit=max(limit, LEAST_SECONDS)), clock)) as points:
            for _ in points:
                inner = apart.point() or inner
    except (Error, ArithmeticError, np.linalg.LinAlgError):
        return {}
    return inner
