"""Why a program has no solution: lines that conflict, or what can grow, with a proof.

It seeks no solution; a feasible point that it meets on the way is passed on in the exception.

A solver's word only says where to look. That there is no feasible point is proved by multipliers, that the
objective has no end is shown on the program itself; what was not shown is worded as not found.

**Conflicts.** In the elastic form of a program all constraints are relaxed by a common slack, the least of
which is sought. If it is positive the constraints cannot hold together, and the multipliers prove it
(see below): a feasible point would have slack 0. Constraints whose multipliers are next
to nothing are then left out, and the proof is sought again for the rest; then one at a time, as conflicts of
the same slack have multipliers together. What is left is one conflict, and there may be others. What
declarations promise (a sign, psd) gives no way.

**Growth.** Where a solver says that the objective has no end, the program is solved within two boxes, and the
difference of the points is the direction that is tried. Where one ends somewhere on the way and calls that
its optimum (a forgotten 'subject to', or a constraint the wrong way round), simple directions from its point
are tried: each variable growing or falling (a matrix by multiples of the identity), or as it is, and all
together. An optimum that is reached cannot be bettered along any of them by more than its tolerance. All is
evaluated on the program itself. Along a direction in which the ranges of the variables end, however far away,
nothing is endless.

**Proofs** (Farkas) are bounds of the elastic program in balls, at multipliers and slopes of any origin
(``derived_bound.py``): where the slack of every point that keeps its lines is more than 0, no point keeps the
constraints. The ranges of the variables are those that the constraints leave at no slack. What is left of the
slope of a variable in no range is charged with entries of a largest size: then the proof ends there.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.linalg import qr

from mmopt.compiler import Instance, Multipliers, Range, Scaling, Slopes, line, lower, lower_node_by_node
from mmopt.driver.judge import (
    FEASIBLE,
    Candidate,
    Derived,
    LineBounds,
    balls_of_names,
    candidate,
    line_bounds,
    may_move,
    shown_terms,
    undefined_part,
    violations,
    worst_line,
)
from mmopt.errors import Error, ProgramError, SolverError, TooLargeError, UndecidedError
from mmopt.language import (
    Apply,
    Constraint,
    Declaration,
    Expr,
    Meaning,
    Name,
    Number,
    Program,
    Relation,
    Span,
    chain,
    check,
    evaluate,
    evaluate_ball,
    infer,
    is_rank,
    mentions,
    names_in,
    to_source,
    walk,
    worst,
)
from mmopt.limits import Stop, ended_after
from mmopt.numerics import BOUNDS, FEW, Array, eigh, few_numbers, is_rank_at_most, rounded
from mmopt.solvers import Clock, Options, Point, conic_solver, run

HERE = Span(1, 1)
SLACK, LEAST = Name("the slack", HERE), "least slack"  # names that no program can choose
CHOSEN_SLACK = Declaration(SLACK.id, "scalar", (), HERE)
NO_SLACK = Range(np.zeros(()), np.zeros(()))
NO_PROOF = Derived(None)
# A proof counts when it holds up to points so many times as large as the elastic one, or as the lines want
# them; then larger ones are tried.
REACHES = tuple(10.0**k for k in range(6, 13))
ENOUGH = 1e9  # beyond it no second problem is solved for larger ones
LEAST_SECONDS = 1e-3  # of its solve
SHARES = (1e-7, 0.0)  # as ``lower_node_by_node`` has it
# How far all inequalities may be tightened: a point inside them keeps them in floats too.
MOST_TIGHTENED = 0.1
ELASTIC_GAP = 1e-8  # handed over as the gap; an interior-point method starts at a hundredth of it
LEAST_SLACK = 1e-9  # a slack below this is none
LEAST_WEIGHT = 1e-5  # of the largest multiplier: below it a constraint is tried without


@dataclass(frozen=True)
class Probe:
    """The least slack of some constraints, with the point, and what is proved.

    names : of the constraints. reach : no point whose entries are below it keeps all of them, infinite where
    no point does at all; 0 where nothing is proved. weights : the largest multiplier of each constraint; inf
    where the solver gives none. is_minimal : leaving out any one of them was tried, and nothing was proved
    then. reach_of_all : of all constraints together. proof : the bound on the slack up to the reach, at its
    multipliers; none where ranges alone leave a variable no value.
    """

    names: tuple[str, ...]
    slack: float
    point: Mapping[str, Array]
    reach: float
    weights: Mapping[str, float]
    is_minimal: bool = False
    reach_of_all: float = 0.0
    proof: Derived = NO_PROOF


def conflict(instance: Instance, clock: Clock) -> Probe | None:
    """All constraints with one slack or, where these are proved to conflict, a smallest part that does.

    The last lines are left out first: of several conflicts the first in the text is named.
    """
    whole = probe(instance, [c.name for c in instance.program.constraints if not is_rank(c)], clock)
    if whole is None or not whole.reach:
        return whole

    def proved(names: Collection[str]) -> Probe | None:
        fewer = None if clock.is_over else probe(instance, names, clock)
        return None if fewer is None or not fewer.reach else fewer

    least = LEAST_WEIGHT * max((w for w in whole.weights.values() if np.isfinite(w)), default=0.0)
    fewest = proved([n for n in whole.names if whole.weights[n] >= least]) or whole
    for name in reversed(fewest.names):
        fewest = proved([n for n in fewest.names if n != name]) or fewest
    return replace(
        fewest,
        point=whole.point,
        is_minimal=len(fewest.names) == 1 or not clock.is_over,
        reach_of_all=max(whole.reach, fewest.reach),
    )


def probe(instance: Instance, names: Collection[str], clock: Clock) -> Probe | None:
    """The least slack with which the constraints named hold together; None when no point was found."""
    best, elastic = None, elastic_form(instance, names)
    for point in () if elastic is None else points_of(elastic, clock):
        if elastic is None or SLACK.id not in point.variables:
            continue
        values = {n: point.variables.get(n, zero) for n, zero in origin(elastic).items()}
        slack = float(values[SLACK.id])
        # The multipliers of each constraint: an equation is two lines, as ``relaxed`` names them.
        weights = {
            n: [float(np.abs(y).max(initial=0.0)) for part, y in point.multipliers.items() if part in pair]
            for n, pair in ((n, (n, f"{n} above")) for n in names)
        }
        largest = {name: max(each, default=np.inf) for name, each in weights.items()}
        reach, proof = proved_reach(elastic, values, point, clock) if slack > LEAST_SLACK else (0.0, NO_PROOF)
        best = Probe(tuple(names), slack, values, reach, largest, proof=proof)
        if slack <= LEAST_SLACK or reach:
            break
    return best


def proved_reach(
    elastic: Instance, values: Mapping[str, Array], point: Point, clock: Clock
) -> tuple[float, Derived]:
    """How far it is proved that no point without slack keeps the lines, and the proof: see ``Probe``.

    values : of a point with the least slack, near which atoms are bounded. point : the same, as it came.
    """
    reach, proof = 0.0, NO_PROOF
    with suppress(Error, ArithmeticError, np.linalg.LinAlgError), ended_after(clock.left):
        lines = lines_at_no_slack(elastic, values)
        if lines.grade != "proved":
            return reach, proof
        is_empty = any((span.low > span.high).any() for span in lines.ranges.values())
        if is_empty:  # the lines leave a variable no value; with some slack they leave one
            reach, lines = np.inf, lines_at_no_slack(elastic, values, 2.0 * float(values[SLACK.id]))
        sizes = [np.abs(v) for v in values.values()]
        # No entry of a point that keeps the lines is nearer to 0 than its range.
        sizes += [np.maximum(span.low, -span.high) for span in lines.ranges.values()]
        size = max(float(each.max(initial=1.0)) for each in sizes)
        for each in itertools.islice(_multipliers(lines, point, clock), 1 if is_empty else None):
            for far in (np.inf, *(size * times for times in REACHES)):
                if far <= reach and not (is_empty and far == reach):
                    continue
                if (least := exclusion(lines, far, *each)) is not None:
                    reach, proof = far, least
                elif np.isfinite(far):
                    break
            if reach > size * ENOUGH:
                break
    return reach, proof


def _multipliers(lines: LineBounds, point: Point, clock: Clock) -> Iterator[tuple[Multipliers, Slopes]]:
    """Multipliers that may prove a conflict: those of a point, then of a second problem, with slopes."""
    yield {name: y for name, y in point.multipliers.items() if name != LEAST}, {}
    for share in SHARES:
        lowered, apart = lower_node_by_node(lines.nodes, lines.ranges, share)
        options = Options(tolerance=ELASTIC_GAP, time_limit=max(clock.left, LEAST_SECONDS))
        for _ in run(conic_solver(lines.nodes.instance, None), lowered, options, clock):
            duals, slopes = apart.duals()
            duals = {name: y for name, y in duals.items() if name != LEAST}
            yield duals, slopes
            yield duals, lines.corrected(duals, slopes)


def lines_at_no_slack(elastic: Instance, values: Mapping[str, Array], most: float = 0.0) -> LineBounds:
    """Bounds from the lines near a point, at no slack; the ranges of variables up to a slack of ``most``."""
    lines = line_bounds(elastic, values, most)
    missed = f" relaxed by up to {most:.3g} of their constant side, or by {most:.3g} without one" * (
        most > 0.0
    )
    return replace(lines, level=np.inf, ranges={**lines.ranges, SLACK.id: NO_SLACK}, missed=missed)


def exclusion(lines: LineBounds, far: float, multipliers: Multipliers, slopes: Slopes) -> Derived | None:
    """The proof that no point with entries up to ``far`` keeps the lines, slack at most 0; or None."""
    ranges = {name: span.intersection(-far, far) for name, span in lines.ranges.items()}
    least = replace(lines, ranges=ranges).derived(multipliers, slopes)
    return least if (least.bound or 0.0) > 0.0 else None


def origin(instance: Instance) -> dict[str, Array]:
    """Zeros for all variables, by name."""
    sizes = instance.sizes()
    return {d.name: np.zeros(d.shape(sizes)) for d in instance.program.choose}


def elastic_form(instance: Instance, names: Collection[str]) -> Instance | None:
    """The constraints named, where each gives way by the slack, which is minimized; None as ``changed``."""
    if not (named := [c for c in instance.program.constraints if c.name in names]):
        return None
    parts = [relaxed(instance, c) for c in named]
    units = {name: d for _, units in parts for name, d in units.items()}
    # Nothing that is missed on both sides can be tightened.
    least = 0.0 if any(c.relation.op == "==" for c in named) else -MOST_TIGHTENED
    bounded = Constraint(LEAST, Relation(SLACK, ">=", Number(least, HERE), HERE), HERE)
    return changed(
        instance,
        [*(c for lines, _ in parts for c in lines), bounded],
        givens=(*instance.program.givens, *units.values()),
        choose=(*instance.program.choose, CHOSEN_SLACK),
        sense="minimize",
        objective=SLACK,
    )


def relaxed(instance: Instance, c: Constraint) -> tuple[list[Constraint], dict[str, Declaration]]:
    """A constraint that may be missed by the slack times its limit, and the identity matrix it needs.

    The limit is the side that is constant, where no entry is 0; else it is missed by the slack itself.
    """
    decided = line(instance.checked, c)
    r, scope, family = decided.relation, decided.scope, c.family if decided.loop else None
    small, large = (r.left, r.right) if r.op in ("<=", "<<", "==") else (r.right, r.left)
    if r.op in ("<<", ">>"):
        dim, unit = infer(large if isinstance(small, Number) else small, scope).dims[0], f"unit of {c.name}"
        room = Apply("mul", (SLACK, Name(unit, HERE)), HERE)
        raised = room if isinstance(large, Number) else Apply("add", (large, room), HERE)
        return [Constraint(c.name, Relation(small, "<<", raised, HERE), HERE, c.family)], {
            unit: Declaration(unit, "psd", (dim, dim), HERE, dim_spans=(HERE, HERE))
        }
    if (size := _limit(instance, c)) is not None:
        small, large = Apply("div", (small, size), HERE), Apply("div", (large, size), HERE)
    sides = [(c.name, small, large), (f"{c.name} above", large, small)][: 1 + (r.op == "==")]
    return [
        Constraint(name, Relation(one, "<=", Apply("add", (other, SLACK), HERE), HERE), HERE, family)
        for name, one, other in sides
    ], {}


def _limit(instance: Instance, c: Constraint) -> Expr | None:
    """The size of the side of a line that is constant, where no entry is 0; None for a line without one."""
    decided = line(instance.checked, c)
    for side in (decided.relation.left, decided.relation.right):
        kind = infer(side, decided.scope)
        is_limit = not decided.loop and kind.is_constant and not kind.is_matrix
        if is_limit and np.all(evaluate(side, instance.env)):
            return Apply("abs", (side,), HERE)
    return None


def with_proof(error: SolverError, instance: Instance, proof: Derived) -> SolverError:
    """An error with the multipliers of its proof by line, the largest of the first line 1, in its hint too.

    They are rounded. Each is of what is on the smaller side of its line less what is on the larger one, of an
    equation of left less right: at a point that keeps the lines the sum is at most 0. ``terms`` add up to a
    bound on it that is more than 0.
    """
    parts, each = proof.multipliers, dict[str, Array]()
    for c in instance.program.constraints:
        y = parts.get(c.name, np.zeros(())) - parts.get(f"{c.name} above", np.zeros(()))
        size = None if c.relation.op in ("<<", ">>") else _limit(instance, c)
        each |= {c.name: y if size is None else y / evaluate(size, instance.env)} if np.any(y) else {}
    unit = next((float(np.abs(y).max()) for y in each.values()), 1.0)
    error.multipliers = {name: np.asarray(y / unit) for name, y in each.items()}
    terms = [term for term in proof.terms if term["name"] != f"term of {SLACK.id}"]
    error.terms = shown_terms(terms, unit)
    if each and proof.bound is not None:
        shown = ", ".join(f"{few_numbers(y)} of '{name}'" for name, y in error.multipliers.items())
        error.hint += (
            f": {shown} give a sum of at least {rounded(proof.bound / unit, 6, up=False)}, where the "
            "constraints allow no more than 0"
        )
    return error


def changed(instance: Instance, constraints: Sequence[Constraint], **parts: Any) -> Instance | None:
    """The instance with other constraints (and other ``parts``); None where it does not check so.

    Nothing of the program rests on it: no meaning, repair or certificate.
    """
    whole = instance.program
    plain = Program(
        name=whole.name,
        source=whole.source,
        objective=whole.objective,
        meaning=Meaning("none", Number(0.0, HERE)),
        givens=whole.givens,
        parameters=whole.parameters,
        lets=whole.lets,
        choose=whole.choose,
        sense=whole.sense,
        constraints=tuple(constraints),
    )
    try:
        checked = check(replace(plain, **parts))
    except ProgramError:
        return None
    sizes = instance.sizes()
    units = {
        d.name: np.eye(d.dims[0].value(sizes)) for d in checked.program.givens if d.name not in instance.env
    }
    return replace(instance, checked=checked, env=MappingProxyType({**instance.env, **units}))


def points_of(instance: Instance, clock: Clock) -> Iterator[Point]:
    """Points of an instance by a conic solver; none where none has the cones, or it does not fit."""
    with suppress(SolverError, TooLargeError):
        row = conic_solver(instance, None)
        if not clock.is_over:
            yield from run(row, lower(instance), Options(tolerance=ELASTIC_GAP), clock)


CHANGE_THAT_COUNTS = 1e-6  # of the objective, relatively
# The program is solved with all entries below each of these (in the scale of the compiler).
BOXES = (1e2, 1e4)
# How far along the direction the program is evaluated: from a box, and from a solver's point in sizes of that
# or, for exponentials, in units. FAR out, where lines may speak of entries as large, it must be no worse.
STEPS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)
FAR = (1e16, 1e32, 1e64, 1e100)
STEPS_FROM_BOX = (*(10.0**k for k in range(3, 9)), *FAR)
MOST_CELLS_FOLLOWED = (
    512  # cells up to which directions from a point are tried: each step evaluates the program
)
NOISE_OF_DIRECTION = 1e-4  # entries and eigenvalues of the direction below this part of the largest are zero


Path = Callable[[float], Mapping[str, Array]]  # a point, by variable, at a step


@dataclass(frozen=True)
class Growth:
    """A direction in which every constraint holds while the objective gets better at every step.

    directions : by name, of the variables that have to move; in the program's own units.
    first, last : the objective at the shortest and at the longest step.
    reach : the largest entry FAR out: what lies beyond was not looked at.
    is_straight : else entries grow with powers of the step, and the directions are those FAR out.
    """

    directions: Mapping[str, Array]
    first: float
    last: float
    reach: float
    is_straight: bool = True


def find_growth(instance: Instance, scaled: Instance, scaling: Scaling, clock: Clock) -> Growth | None:
    """A direction of growth by solutions in two boxes; None when none was found."""
    ends: list[Mapping[str, Array]] = []
    for box in BOXES:
        lines = [
            Constraint(
                f"{d.name} {op} box", Relation(Name(d.name, HERE), op, Number(limit, HERE), HERE), HERE
            )
            for d in scaled.program.choose
            for op, limit in (("<=", box), (">=", -box))
        ]
        boxed = changed(scaled, [*scaled.program.constraints, *lines])
        if not boxed or not (inside := [p.variables for p in points_of(boxed, clock) if p.variables]):
            return None
        ends.append(inside[-1])
    names, factor = [d.name for d in instance.program.choose], scaling.variables
    moved = {n: ends[1][n] - ends[0][n] for n in names}
    longest = max(float(np.abs(v).max(initial=0.0)) for v in moved.values())
    if longest == 0.0:
        return None
    # What is next to 0 is meant to be 0: below it, it would miss x >= 0 by all of its size.
    start = {
        d.name: np.where((np.abs(v := ends[0][d.name]) < ELASTIC_GAP * BOXES[0]) & (d.kind != "psd"), 0.0, v)
        * factor[d.name]
        for d in instance.program.choose
    }
    direction = {
        d.name: _without_noise(d, moved[d.name] / longest) * factor[d.name] for d in instance.program.choose
    }
    if (growth := _growth_along(instance, _straight(start, direction), STEPS_FROM_BOX, ())) is None:
        powers = {d.name: _powers(d, ends[0][d.name], ends[1][d.name]) for d in instance.program.choose}
        growth = _growth_along(
            instance, lambda step: {n: v * step ** powers[n] for n, v in start.items()}, STEPS_FROM_BOX, ()
        )
        return None if growth is None else replace(growth, is_straight=False)
    for name in names:
        fewer = _straight(start, {n: v for n, v in direction.items() if n != name})
        if (shorter := _growth_along(instance, fewer, STEPS_FROM_BOX, ())) is not None:
            del direction[name]
            growth = shorter
    return growth


def _straight(start: Mapping[str, Array], direction: Mapping[str, Array]) -> Path:
    """The ray from a point."""
    return lambda step: {n: v + step * direction.get(n, 0.0) for n, v in start.items()}


def _powers(d: Declaration, near: Array, far: Array) -> Array:
    """The powers, halves up to 1, of the size of a box with which the entries of its point grow.

    Those of a psd matrix are a congruence, which keeps it psd: entry (i, j) follows entries i and j of the
    diagonal.
    """
    sizes = [np.abs(np.diagonal(v) if d.kind == "psd" else v) for v in (near, far)]
    is_noise = np.minimum(*sizes) < NOISE_OF_DIRECTION
    growth = np.log(np.where(is_noise, 1.0, sizes[1]) / np.where(is_noise, 1.0, sizes[0]))
    powers = np.clip(np.round(2 * growth / np.log(BOXES[1] / BOXES[0])), 0, 2) / 2
    return np.asarray((powers[:, None] + powers) / 2 if d.kind == "psd" else powers)


def _without_noise(d: Declaration, value: Array) -> Array:
    """The direction without what is noise of the solver."""
    if d.kind == "psd":
        values, vectors = eigh(value)
        values = np.where(values < NOISE_OF_DIRECTION * np.abs(values).max(initial=0.0), 0.0, values)
        value = (vectors * values) @ vectors.T
    return np.asarray(np.where(np.abs(value) < NOISE_OF_DIRECTION, 0.0, value))


def find_endless(instance: Instance, point: Mapping[str, Any]) -> Growth | None:
    """A direction of growth from a point that a solver calls its optimum; None when none was found."""
    program = instance.program
    if instance.workload.n > MOST_CELLS_FOLLOWED or program.objective is None:
        return None
    start = {d.name: np.asarray(point[d.name], dtype=float) for d in program.choose}
    tried = (
        _growth_along(instance, _straight(start, direction), [unit * step for step in STEPS])
        for direction in _directions(program.choose, start)
        for unit in (1.0, 1.0 / max(float(np.abs(v).max()) for v in direction.values()))
    )
    return next(filter(None, tried), None)


def _directions(choose: tuple[Declaration, ...], start: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    """Simple directions by variable, of the size of the point: growing, falling, as it is, all together."""
    together: dict[str, Array] = {}
    for d in choose:
        value = start[d.name]
        size = max(1.0, float(np.abs(value).max(initial=0.0)))
        plain = np.eye(len(value)) if d.kind in ("psd", "symmetric") else np.ones(value.shape)
        yield {d.name: size * plain}
        if not (d.sign or d.kind == "psd"):
            yield {d.name: -size * plain}
        large = np.where(np.abs(value) > 1e-4 * size, value, 0.0)
        if large.any():
            together[d.name] = large
            yield {d.name: large}
    if len(together) > 1:
        yield together


def _growth_along(
    instance: Instance, path: Path, steps: Sequence[float], beyond: Sequence[float] = FAR
) -> Growth | None:
    """The growth, when the objective gets better at each step and is no worse ``beyond``; else None."""
    sign, op = (1.0, ">=") if instance.program.sense == "minimize" else (-1.0, "<=")
    near = _objectives(instance, path, steps)
    # A fall that is a rounding error is none.
    if near is None or any(
        sign * (a - b) <= CHANGE_THAT_COUNTS * abs(b) for a, b in itertools.pairwise(near)
    ):
        return None
    # Nor one that is small beside the terms of the objective: points are feasible up to rounding, too.
    unchanged = Relation(instance.program.objective, op, Number(near[0], HERE), HERE)
    env, chosen = {**instance.env, **path(steps[-1])}, frozenset(d.name for d in instance.program.choose)
    is_small = worst(Constraint("", unchanged, HERE), env, chosen)[0] < CHANGE_THAT_COUNTS
    far, end = _objectives(instance, path, beyond), path(FAR[-1])
    moving = {n: moved for n, v in path(steps[0]).items() if (moved := end[n] - v).any()}
    is_worse = far is None or any(sign * value > sign * near[-1] for value in far)
    if is_small or is_worse or _has_end(instance, moving):
        return None
    reach = max(float(np.abs(value).max(initial=0.0)) for value in end.values())
    return Growth(moving, near[0], (far or near)[-1], reach)


def _has_end(instance: Instance, direction: Mapping[str, Array]) -> bool:
    """Whether the lines are known to keep an entry from moving so for ever."""
    ranges = line_bounds(instance, origin(instance), np.inf).ranges
    ends = [
        np.where(moved > 0, ranges[name].high, np.where(moved < 0, -ranges[name].low, np.inf))
        for name, moved in direction.items()
    ]
    return any(bool(np.isfinite(end).any()) for end in ends)


def _objectives(instance: Instance, path: Path, steps: Sequence[float]) -> list[float] | None:
    """The objective at so many steps along a path, where every line holds at each; else None."""
    values: list[float] = []
    for step in steps:
        point = {n: v if np.ndim(v) else float(v) for n, v in path(step).items()}
        try:
            missed = max([0.0, *(v.amount for v in violations(instance, point))])
            value = float(evaluate(instance.program.objective, {**instance.env, **point}))
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(value) or missed > FEASIBLE:
            return None
        values.append(value)
    return values


ALLOW_MORE = "allow more time or iterations, or try another solver"
UNITS = "write the constraints in units in which the numbers are near 1, or try another solver"


def _enumerated(words: Sequence[str], last: str = "and") -> str:
    """a; a and b; a, b, and c."""
    comma = "," if len(words) > 2 else ""
    return f"{comma} {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def infeasible_error(instance: Instance, nearest: Probe) -> SolverError:
    """The constraints that cannot hold together, and how near to all constraints a point came."""
    lines = [c for c in instance.program.constraints if c.name in nearest.names]
    named = _enumerated([f"'{c.name}'" for c in lines])
    says = "cannot hold" + " together" * (len(lines) > 1)
    promised = [
        f"'{d.name}' {f'{d.sign} 0' if d.sign else 'psd'}"
        for d in instance.program.choose
        if (d.sign or d.kind == "psd")
        and any(mentions(side, d.name) for c in lines for side in (c.relation.left, c.relation.right))
    ]
    with_promised = f" with {_enumerated(promised)}" if promised else ""
    # Beyond, what is left of the slopes may make room for a point.
    up_to, named_up_to, for_points = (
        words + rounded(reach, 1, up=False, layout="e") if np.isfinite(reach) else ""
        for words, reach in (
            (" with numbers up to ", nearest.reach_of_all),
            (" with numbers up to ", nearest.reach),
            (", for points whose entries are at most ", nearest.reach),
        )
    )
    alone = ", from these constraints alone" * bool(for_points and not up_to)
    line = worst_line(instance, nearest.point, nearest.names)
    no_more = ", and none of the others by more" if len(lines) > 1 else ""
    near = f" (a nearby point {line.missed(instance)}{no_more})" if line is not None else ""
    one = "one of them or leave it" if nearest.is_minimal else "some of them or leave them"
    out = f"relax {'it or leave it' if len(lines) == 1 else one} out"
    out += "; other constraints may conflict too" * (len(lines) < len(instance.program.constraints))
    out = "if larger numbers are meant, choose units in which they are nearer to 1; else " * bool(up_to) + out
    by = "multipliers" if nearest.proof.saved else "the ranges that the constraints leave"
    error = SolverError(
        f"'{instance.program.name}' has no feasible point{up_to}: {named} {says}{with_promised}"
        f"{' there' if up_to and up_to == named_up_to else named_up_to}",
        hint=f"{out}{near}\n  proved by {by}{alone}{for_points}",
    )
    error.near = {d.name: nearest.point[d.name] for d in instance.program.choose}
    return with_proof(error, instance, nearest.proof)


def endless_error(instance: Instance, growth: Growth) -> SolverError:
    """Error that names what grows or falls without end, and how the objective follows."""
    ways = {
        name: "growing" if (moved >= 0).all() else "falling" if (moved <= 0).all() else "moving"
        for name, moved in growth.directions.items()
    }
    falls, never = ("falls", "below") if instance.program.sense == "minimize" else ("rises", "above")
    shown = next(
        one
        for k in (3, 6, 9, 12, 17)
        if len(set(one := [f"{v:.{k}g}" for v in (growth.first, growth.last)])) > 1
    )
    bound = _bound_by_ranges(instance)
    end = "" if bound is None else f", and never {never} {rounded(bound, 6, up=never == 'above')}"
    largest = max(float(np.abs(moved).max()) for moved in growth.directions.values())
    along = {n: np.asarray(moved / largest) for n, moved in growth.directions.items() if growth.is_straight}
    entries = [entry for moved in along.values() for entry in moved.ravel().tolist()]
    is_shown = len(entries) <= FEW and len(set(entries)) > 1  # else which way says it
    by = {
        name: f" by {few_numbers(np.abs(moved) if ways[name] == 'falling' else moved)} a step"
        for name, moved in along.items()
        if is_shown
    }
    moving = _enumerated([f"'{name}' {way}{by.get(name, '')}" for name, way in ways.items()])
    caps = [_cap(instance, name, way) for name, way in ways.items()]
    error = SolverError(
        f"'{instance.program.name}' seems to have no optimum{' that is attained' * bool(end)}, or one with "
        f"entries beyond {rounded(growth.reach, 1, up=False, layout='e')}: every constraint holds with "
        f"{moving}, while the objective {falls} from {' to '.join(shown)}{end}",
        hint=f"add a constraint such as {_enumerated(caps, 'or')}, or check the sign of the objective and "
        "the directions of the constraints",
    )
    error.direction = along
    return error


def _bound_by_ranges(instance: Instance) -> float | None:
    """A proved bound of the objective by the ranges of its parts, as 0 of 1 / x; None without one."""
    program, is_minimized = instance.program, instance.program.sense == "minimize"
    end = Constraint(LEAST, Relation(SLACK, ">=" if is_minimized else "<=", program.objective, HERE), HERE)
    whole = changed(instance, [*program.constraints, end], choose=(*program.choose, CHOSEN_SLACK))
    if whole is None:
        return None
    lines = line_bounds(whole, origin(whole), np.inf)
    span = lines.ranges[SLACK.id]
    bound = float(span.low if is_minimized else span.high)
    return bound + 0.0 if np.isfinite(bound) and lines.grade == "proved" else None


def _cap(instance: Instance, name: str, way: str) -> str:
    """A line that keeps a variable from moving this way without end."""
    d = next(d for d in instance.program.choose if d.name == name)
    caps = {"falling": f"{name} >= 0", "growing": f"{name} <= 1", "moving": f"abs({name}) <= 1"}
    return f"diag({name}) <= 1" if d.kind == "psd" else caps[way]


def infinite_objective_error(instance: Instance, solver: str, raw: str, point: Candidate) -> SolverError:
    """A point that keeps the constraints and is worth nothing."""
    part = undefined_part(instance, {**instance.env, **point.variables})
    return SolverError(
        f"the point of {solver} for '{instance.program.name}' keeps every constraint, but its objective has "
        f"no finite value ({raw}){f': {part}' if part else ''}",
        hint=f"relax the constraints, check signs and data, or {ALLOW_MORE}",
    )


def singular_error(instance: Instance) -> SolverError | None:
    """The error for an inverse or a determinant of ``V @ …`` whose given V has dependent rows; else None.

    Such a product is singular, whatever is chosen, where that is proved in fractions; else it is next to that
    in floats. Of an inverse only the trace and the largest eigenvalue count: ``W @ inv(X) @ W.T`` may have a
    value for singular X.
    """
    program, chosen = instance.program, {d.name for d in instance.program.choose}
    lines = (side for c in program.constraints for side in (c.relation.left, c.relation.right))
    for part in (part for side in (program.objective, *lines) for part in walk(side)):
        match part:
            case (
                Apply(atom="logdet", args=(inner,))
                | Apply(atom="trace" | "lambda_max", args=(Apply(atom="inv", args=(inner,)),))
            ) if names_in(inner) & chosen and names_in(factor := chain(inner)[0]) <= instance.env.keys():
                rows = evaluate(factor, instance.env)
                # Brought near one by powers of two, which keep rows that depend on others as they are.
                near_one = np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=1, keepdims=True, initial=0.0))[1])
                near_one = near_one / np.maximum(np.linalg.norm(near_one, axis=1, keepdims=True), 0.5)
                rank, order = np.linalg.matrix_rank(near_one), qr(near_one.T, mode="r", pivoting=True)[1]
                if rank < len(rows):
                    as_balls = {**instance.env, BOUNDS: balls_of_names(instance)[0]}
                    is_exact = evaluate_ball(factor, as_balls).is_exact and is_rank_at_most(rows, rank)
                    name, more = to_source(factor), "" if is_exact else " numerically"
                    says = (
                        "has no finite value, whatever the variables are"
                        if is_exact
                        else "can hardly be computed"
                    )
                    return (SolverError if is_exact else UndecidedError)(
                        f"'{to_source(part)}' {says}: the {len(rows)} rows of '{name}' have rank {rank}"
                        f"{more}, and row {min(order[rank:])} depends on others",
                        where=program.source.locate(part.span),
                        hint=f"leave such rows out: row_basis({name}) spans the same{more}, with {rank} rows",
                    )
    return None


SECONDS_OF_DIAGNOSIS = 20.0
LARGE_CHARGE = 1e-2  # of the objective: what is charged for misses that count as rounding
SECONDS_IN_A_HURRY = 3.0  # when a limit of time or iterations was set and reached


def explain_failure(
    instance: Instance,
    handed: tuple[Instance, Scaling] | None,
    solver: str,
    last: Point,
    point: Candidate | None,
) -> SolverError:
    """The error for a solve without a feasible point.

    Parameters
    ----------
    handed : the scaled instance that was handed over, and the way back; None for a kernel.
    last : the solver's last point. point : the best repaired point, if there was any.
    """
    if handed is None:
        return _missed_error(instance, solver, last, point)
    is_hurried = last.stop in (Stop.STOPPED, Stop.ITERATIONS)
    with Clock(SECONDS_IN_A_HURRY if is_hurried else SECONDS_OF_DIAGNOSIS) as clock:
        growth = find_growth(instance, *handed, clock) if last.stop == Stop.UNBOUNDED else None
        nearest = conflict(instance, clock) if growth is None else None
        if nearest is not None and nearest.reach:
            return infeasible_error(instance, nearest)
        if last.stop not in (Stop.UNBOUNDED, Stop.INFEASIBLE):
            growth = find_growth(instance, *handed, clock)
    if growth is not None:
        return endless_error(instance, growth)
    if last.stop == Stop.INFEASIBLE:
        return _unproved_error(instance, solver, last, nearest)
    if last.stop == Stop.UNBOUNDED:
        return UndecidedError(
            f"not decided: {solver} says that '{instance.program.name}' is unbounded ({last.raw}), and no "
            "point that satisfies every constraint was found from which the objective improves without end",
            hint="bound the variables, check the sign of the objective, or try another solver",
        )
    return _missed_error(instance, solver, last, point)


def refuse_far_point(instance: Instance, point: Candidate, uncharged: Candidate | None) -> None:
    """Raise where a point counts as feasible by its size alone, and constraints are proved to conflict.

    Far out what a point misses is hidden by the rounding of its terms, and charged with large multipliers.
    """
    if uncharged is None or abs(point.objective - uncharged.objective) <= LARGE_CHARGE * max(
        1.0, abs(uncharged.objective)
    ):
        return
    with Clock(SECONDS_IN_A_HURRY) as clock:
        nearest = conflict(instance, clock)
    if nearest is not None and nearest.reach:
        raise infeasible_error(instance, nearest)


def _unproved_error(instance: Instance, solver: str, last: Point, nearest: Probe | None) -> SolverError:
    """The solver says infeasible, and the elastic program does not prove it."""
    name, close = instance.program.name, ""
    if nearest is not None:
        point = candidate(instance, {d.name: nearest.point[d.name] for d in instance.program.choose})
        close = f"; the nearest point violates constraints by up to {point.after:.1e}, relatively"
        if point.after <= FEASIBLE and not np.isfinite(point.objective):
            return infinite_objective_error(instance, solver, last.raw, point)
        if point.after <= FEASIBLE:
            size = max(float(np.abs(v).max(initial=0.0)) for v in point.variables.values())
            error = UndecidedError(
                f"{solver} says that '{name}' is infeasible ({last.raw}), and it is not: a point that keeps "
                f"every constraint was found (objective {point.objective:.6g}, entries up to {size:.1g})",
                hint=UNITS,
            )
            error.feasible = point
            return error
    return UndecidedError(
        f"no feasible point of '{name}' was found; that there is none, as {solver} says ({last.raw}), was "
        f"not proved{close}",
        hint=f"check the constraints and the data, {UNITS}",
    )


def _missed_error(instance: Instance, solver: str, last: Point, point: Candidate | None) -> SolverError:
    """The error for a solver that has points, of which none can be repaired to a feasible one."""
    program = instance.program
    unused = [d for d in program.choose if last.variables and d.name not in last.variables]
    if point is None and unused:
        return SolverError(
            f"'{unused[0].name}' is a variable, and neither the objective nor a constraint contains it",
            where=program.source.locate(unused[0].span),
            hint=f"leave '{unused[0].name}' out of 'choose', or add a constraint on it",
        )
    if point is not None and point.after <= FEASIBLE:
        return infinite_objective_error(instance, solver, last.raw, point)
    line = (
        None if point is None else worst_line(instance, {d.name: point.env[d.name] for d in program.choose})
    )
    if line is None:
        return SolverError(f"{solver} returned no point for '{program.name}' ({last.raw})", hint=ALLOW_MORE)
    first, hint = f"the point of {solver} for '{program.name}'", "give the program a 'repair' that"
    else_do = ALLOW_MORE
    if program.repair:
        first = f"after the 'repair' of '{program.name}' the point of {solver}"
        hint, else_do = "write the 'repair' so that it", "allow more time or iterations"
    # Points near it and inside were tried.
    is_moved = may_move(instance) and not program.repair and last.stop != Stop.STOPPED
    tried = "; no point near it, or on the path into the interior, is feasible" if is_moved else ""
    return SolverError(
        f"{first} {line.missed(instance)} ({last.raw}){tried}",
        hint=f"{hint} restores '{line.name}' (as X = X / max(diag(X)) does diag(X) <= 1), or {else_do}; "
        "the constraints may also conflict",
    )
