"""The reasons why a program has no solution, in its own names, with advice.

What to do about an objective that has no finite value at a point that keeps every line.

A least value that is not reached: the objective gets better without end, and no line is in the way.

A solver ends somewhere on the way and calls that its optimum; from a forgotten 'subject to', or a constraint
the wrong way round, comes a value near 0 that means nothing. From the point that it found, simple directions
are tried: each variable growing or falling (a matrix by multiples of the identity), or as it is, and all
together. An optimum that is reached cannot be bettered along any of them by more than its tolerance. Along a
direction in which the ranges of the variables end, however far away, nothing is endless.

The sentences of a diagnosis: what was found, and what to change, such as a repair.

Why a solve gave no point, in the names of the program, with what to change.

A solver's word only says where to look. That there is no feasible point is proved by multipliers
(``conflict``), that the objective has no end is shown on the program itself (``growth``); what was not
shown is worded as not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Scaling
from mmopt.driver.diagnosis.conflicts_and_growth import (
    FAR,
    Conflict,
    Growth,
    Relaxation,
    ends_of,
    find_conflict,
    find_growth,
    gets_better,
    objectives,
)
from mmopt.driver.diagnosis.elastic_form import Ground, Probe, RelaxableLine, everything, ground, probe
from mmopt.driver.judge.bound_claims import reader
from mmopt.driver.judge.score_point import FEASIBLE, Candidate, candidate, may_move
from mmopt.driver.judge.violations import Violation, named_rows, worst_line
from mmopt.errors import ProgramError, SolverError, UndecidedError
from mmopt.language import evaluate, to_source
from mmopt.language.check.exact_rewriting import vectorised
from mmopt.language.check.infer_types import infer
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Constraint,
    Declaration,
    Entries,
    Expr,
    Name,
    Number,
    mentions,
    names_in,
    walk,
)
from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.solvers import Clock, Point

OF_POSITIVE = ("log", "logdet", "sqrt", "entropy", "rel_entropy", "pow", "div")


def without_value(instance: Instance, singular: str) -> str:
    """The hint; ``singular`` is that of a matrix under inv(…), which may be singular."""
    parts = [part for part in walk(instance.program.objective) if isinstance(part, Apply)]
    for part in parts:
        if words := _of_given(instance, part):
            return words
    if any(part.atom == "inv" for part in parts):
        return singular
    names = list(dict.fromkeys(to_source(part) for part in parts if part.atom in OF_POSITIVE))
    listed = f"'{names[0]}'" if names else "the objective"
    return f"{listed} has no finite value at the point found: relax the constraints, or check their signs"


def _of_given(instance: Instance, part: Apply) -> str:
    """Says the entry of what is given that has no logarithm or root."""
    if part.atom not in ("log", "sqrt"):
        return ""
    argument = part.args[0]
    if not names_in(argument) <= set(instance.env) - {d.name for d in instance.program.choose}:
        return ""
    with np.errstate(all="ignore"):
        value = np.asarray(evaluate(argument, instance.env))
        bad = ~np.isfinite(np.asarray(evaluate(part, instance.env)))
    if not bad.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    place = f", at entry {', '.join(map(str, at))}" if at else ""
    return f"'{to_source(part)}' is of what is given, and not a number{place}: of {value[at]:g}"


# How far the program is evaluated: in sizes of the point, and, for exponentials, in units. FAR out it must be
# no worse.
STEPS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)
LARGEST = 512  # cells up to which it is looked for: each step evaluates the program


def find_endless(instance: Instance, point: Mapping[str, Any]) -> Growth | None:
    """A direction in which every line holds while the objective gets better at every step, or None."""
    program = instance.program
    if instance.workload.n > LARGEST or program.objective is None:
        return None
    start = {d.name: np.asarray(point[d.name], dtype=float) for d in program.choose}
    for direction in _directions(program.choose, start):
        whole = {d.name: direction.get(d.name, np.zeros(np.shape(start[d.name]))) for d in program.choose}
        size = max(float(np.abs(v).max()) for v in direction.values())
        for unit in (1.0, 1.0 / size):
            found = objectives(instance, start, whole, [unit * step for step in STEPS])
            if found is None or not gets_better(found, program.sense):
                continue
            far = objectives(instance, start, whole, FAR)
            sign = 1.0 if program.sense == "minimize" else -1.0
            goes_on = far is not None and all(sign * value <= sign * found[-1] for value in far)
            if far is not None and goes_on and not has_end(instance, direction):
                return Growth(direction, found[0], found[-1], ends_of(far, start, whole, FAR)[-1])
    return None


def has_end(instance: Instance, direction: Mapping[str, Array]) -> bool:
    """Whether the lines are known to keep an entry from moving so for ever."""
    origin = {d.name: np.zeros(d.shape(instance.sizes())) for d in instance.program.choose}
    ranges = reader(instance, origin, np.inf).ranges
    ends = [
        np.where(moved > 0, ranges[name].high, np.where(moved < 0, -ranges[name].low, np.inf))
        for name, moved in direction.items()
    ]
    return any(bool(np.isfinite(end).any()) for end in ends)


def _directions(choose: tuple[Declaration, ...], start: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    """By name, what moves: of the size of the point."""
    together: dict[str, Array] = {}
    for d in choose:
        value = start[d.name]
        size = max(1.0, float(np.abs(value).max(initial=0.0)))
        is_matrix = d.kind in ("psd", "symmetric")
        plain = np.eye(len(value)) if is_matrix else np.ones(value.shape)
        yield {d.name: size * plain}
        if not (d.sign or d.kind == "psd"):
            yield {d.name: -size * plain}
        own = np.where(np.abs(value) > 1e-4 * size, value, 0.0)
        if own.any():
            together[d.name] = own
            yield {d.name: own}
    if len(together) > 1:
        yield together


USUAL_REPAIR = "X = X / max(diag(X)), which restores diag(X) <= 1"


def repair_for(instance: Instance, line: Violation) -> str:
    """ ", for example: X = X / max(diag(X))"; nothing for a line whose form is another."""
    c = next((c for c in instance.program.constraints if c.name == line.name), None)
    shown = _sketch(instance, c) if c is not None and line.kind == "constraint" else ""
    return f", for example: {shown}" if shown else f" (assignments such as {USUAL_REPAIR})"


def _sketch(instance: Instance, c: Constraint) -> str:
    r = c.relation
    if r.op not in ("<=", ">=") or any(
        isinstance(side, Entries) and side.where for side in (r.left, r.right)
    ):
        return ""  # of entries that a condition leaves out, 0 <= 0 stands in no ratio
    small, large = (r.left, r.right) if r.op == "<=" else (r.right, r.left)
    if c.family is not None:
        first, second = vectorised(small, c.family.index), vectorised(large, c.family.index)
        if first is None or second is None:
            return ""
        small, large = first, second
    scope = instance.checked.lines
    chosen = [d.name for d in instance.program.choose]
    is_bound = not infer(small, scope).is_constant
    if isinstance(large, Name) and large.id in chosen and is_bound and not mentions(small, large.id):
        fits = infer(large, scope).is_scalar and not infer(small, scope).is_scalar
        return f"{large.id} = {to_source(_max(small) if fits else small)}"
    # Scaling all that the left side mentions keeps the rest of a program of one variable.
    one, other = (small, large) if infer(large, scope).is_constant else (large, small)
    used = [name for name in chosen if mentions(one, name)]
    if len(used) != 1 or not infer(other, scope).is_constant or not infer(one, scope).curvature.is_affine:
        return ""
    name = used[0]
    # By a positive number, and what is added to it would not be scaled.
    if (
        infer(one, scope).sign <= 0
        or infer(other, scope).sign <= 0
        or not _is_zero_at_zero(instance, one, name)
    ):
        return ""
    ratio = one if other == Number(1.0, r.span) else Apply("div", (one, other), r.span)
    if not infer(one, scope).is_scalar or not infer(other, scope).is_scalar:
        ratio = _max(ratio) if one is small else Apply("min", (ratio,), r.span)
    return f"{name} = {to_source(Apply('div', (Name(name, r.span), ratio), r.span))}"


def _is_zero_at_zero(instance: Instance, e: Expr, name: str) -> bool:
    shape = next(d.shape(instance.sizes()) for d in instance.program.choose if d.name == name)
    return not np.any(evaluate(e, {**instance.env, name: np.zeros(shape)}))


def _max(e: Expr) -> Expr:
    return Apply("max", (e,), e.span)


ALLOW_MORE = "allow more time or iterations, or try another solver"
WORTHWHILE_SLACK = 1e-3  # a slack from which more room is a way out


def _together(words: Sequence[str], last: str = "and") -> str:
    """a; a and b; a, b, and c."""
    comma = "," if len(words) > 2 else ""
    return f"{comma} {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _line(part: RelaxableLine, rows: str = "") -> str:
    if part.kind == "constraint":
        return f"'{part.name}'{rows}"
    return f"the declaration of '{part.name}' as {'>= 0' if part.kind == 'sign' else 'psd'}{rows}"


def infeasible(instance: Instance, lines: Ground, conflict: Conflict, unit: float) -> SolverError:
    """Which lines cannot hold together, and what it takes to make room.

    ``unit`` : what a 1 of the scaled program, of which it was proved, is in the program's own units.
    """
    named = [
        _line(lines.parts[key], named_rows(instance, lines.parts[key].name, rows))
        for key, rows in conflict.rows.items()
    ]
    says = "cannot hold" if len(named) == 1 else "cannot hold together"
    among = "" if conflict.minimal else " (fewer of them may do)"
    proof = conflict.proof
    # Beyond, rounding may have made room for a point.
    far = proof.radius * unit
    reach = rounded(far, 1, up=False, layout="e") if np.isfinite(far) else ""
    for_points = f", for points whose entries and values of atoms are at most {reach}" if reach else ""
    up_to = f" with numbers up to {reach}" if reach else ""
    hints = [f"proved by multipliers with a residual of {proof.residual:.0e}{for_points}"]
    if conflict.each:
        enough = {(r.name, r.kind) for r in conflict.each}
        parts = [lines.parts[key] for key in conflict.rows]
        kept = [_line(part) for part in parts if (part.name, part.kind) in enough]
        which = "it" if len(named) == 1 else "one of them"
        out = f"leave {which if len(kept) == len(named) else _together(kept, 'or')} out"
        hints.insert(0, _together([*(_relaxed(r) for r in conflict.each), out], "or"))
    elif conflict.all:
        hints.insert(0, _together([_relaxed(r) for r in conflict.all]))
    return SolverError(
        f"'{instance.program.name}' has no feasible point{up_to}: {_together(named)} {says}{among}",
        hint="\n  ".join(hints),
    )


def _relaxed(r: Relaxation) -> str:
    """A change that is enough, as a solver found. That less would not do is not proved."""
    if r.how == "factor":
        return f"relax '{r.name}' to {r.amount:.3g} times its limit"
    if r.kind == "sign":
        return f"declare '{r.name}' without >= 0 (down to -{r.amount:.3g} is enough)"
    if r.kind == "psd":
        return f"declare '{r.name}' symmetric (eigenvalues down to -{r.amount:.3g} are enough)"
    return f"let '{r.name}' be missed by up to {r.amount:.3g}"


def feasible_all_the_same(instance: Instance, solver: str, raw: str, point: Candidate) -> UndecidedError:
    """A point that keeps every constraint contradicts the solver."""
    name = instance.program.name
    if not np.isfinite(point.objective):
        return UndecidedError(
            f"{solver} says that '{name}' is infeasible ({raw}); a point that keeps every constraint was "
            "found, where the objective is infinite",
            hint=without_value(
                instance, "the constraints force a matrix under inv(…) to be singular: relax them"
            ),
        )
    sizes = [float(np.abs(v).max(initial=0.0)) for v in point.variables.values()]
    error = UndecidedError(
        f"{solver} says that '{name}' is infeasible ({raw}), and it is not: a point that keeps every "
        f"constraint was found (objective {point.objective:.6g}, entries up to {max(sizes):.1g})",
        hint="try another solver, or write the constraints in units in which the numbers are near 1",
    )
    error.feasible = point
    return error


def undecided(program: str, solver: str, raw: str, slack: float | None) -> UndecidedError:
    """Neither a proof nor a point; ``slack`` is how close one came."""
    hint = "check the constraints and the givens, or try another solver"
    close = ""
    if slack is not None and slack <= WORTHWHILE_SLACK:
        close = f"; all constraints hold within {max(slack, 0.0):.1e} of their limits"
        hint = "give the constraints a little more room, or try another solver"
    elif slack is not None:
        hint = "write the constraints in units in which the numbers are near 1, or try another solver"
    return UndecidedError(
        f"no feasible point of '{program}' was found; that there is none, as {solver} says ({raw}), was not "
        f"proved{close}",
        hint=hint,
    )


def unbounded(instance: Instance, growth: Growth) -> SolverError:
    """What can grow, and how the objective follows."""
    ways = {name: _way(direction) for name, direction in growth.directions.items()}
    words = set(ways.values())
    verb = words.pop() if len(words) == 1 else "moving"
    names = _together([f"'{name}'" for name in ways])
    together = " together" if len(ways) > 1 else ""
    falls = "falls" if instance.program.sense == "minimize" else "rises"
    shown = _together([_cap(instance, name, way) for name, way in ways.items()], "or")
    return SolverError(
        f"'{instance.program.name}' seems unbounded: every constraint holds with {names} {verb}{together}, "
        f"while the objective {falls} from {growth.first:.3g} to {growth.last:.3g} (followed to entries of "
        f"{growth.reach:.0e})",
        hint=f"add a constraint such as {shown}, or check the sign of the objective",
    )


def not_attained(instance: Instance, growth: Growth) -> SolverError:
    """What goes on without end while the objective gets better, and which line may be meant the other way."""
    program = instance.program
    ways = {name: _way(direction) for name, direction in growth.directions.items()}
    names = _together([f"'{name}'" for name in ways])
    goes = "grows" if set(ways.values()) == {"growing"} else "falls"
    goes = goes if len(set(ways.values())) == 1 and "moving" not in ways.values() else "moves"
    verb = goes if len(ways) == 1 else {"grows": "grow", "falls": "fall", "moves": "move"}[goes]
    least, changes = ("least", "falls") if program.sense == "minimize" else ("largest", "rises")
    shown = _together([_cap(instance, name, way) for name, way in ways.items()], "or")
    turned = [
        c
        for c in program.constraints
        if c.relation.op in ("<=", ">=")
        and any(names_in(side) & set(ways) for side in (c.relation.left, c.relation.right))
    ]
    hint = f"add a constraint such as {shown}"
    if not program.constraints:
        hint = f"the program has no 'subject to': add it, with a constraint such as {shown}"
    elif turned:
        op = {"<=": ">=", ">=": "<="}[turned[0].relation.op]
        hint += f", or turn '{turned[0].name}' round: is {op} meant?"
    return SolverError(
        f"'{program.name}' seems to have no {least} value that is reached: the objective {changes} from "
        f"{growth.first:.3g} to {growth.last:.3g} while {names} {verb}, and no line was in the way as far "
        f"as that was followed (to entries of {growth.reach:.0e})",
        hint=hint,
    )


def _way(direction: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    if (direction >= 0).all():
        return "growing"
    return "falling" if (direction <= 0).all() else "moving"


def _cap(instance: Instance, name: str, way: str) -> str:
    d = next(d for d in instance.program.choose if d.name == name)
    if d.kind == "psd":
        return f"diag({name}) <= 1"
    if way == "falling":
        return f"{name} >= 0"
    return f"{name} <= 1" if way == "growing" else f"abs({name}) <= 1"


def unbounded_by_word(program: str, solver: str, raw: str) -> UndecidedError:
    """The solver's word alone."""
    return UndecidedError(
        f"not decided: {solver} says that '{program}' is unbounded ({raw}), and no point that keeps every "
        "line was found from which the objective gets better without end",
        hint="bound what is chosen, check the sign of the objective, or try another solver",
    )


def unused_variable(instance: Instance, name: str) -> SolverError:
    """A variable that the solver never saw."""
    d = next(d for d in instance.program.choose if d.name == name)
    return SolverError(
        f"'{name}' is chosen, and neither the objective nor a constraint mentions it",
        where=instance.program.source.locate(d.span),
        hint=f"leave '{name}' out of 'choose', or add a constraint on it",
    )


def no_point(program: str, solver: str, raw: str) -> SolverError:
    """Nothing to repair."""
    return SolverError(f"{solver} returned no point for '{program}' ({raw})", hint=ALLOW_MORE)


def infinite_objective(instance: Instance, solver: str, raw: str) -> SolverError:
    """A point that keeps the constraints and is worth nothing."""
    return SolverError(
        f"the point of {solver} for '{instance.program.name}' keeps every constraint, but its objective is "
        f"infinite ({raw})",
        hint=without_value(
            instance,
            "a matrix under inv(…) is singular where the objective needs it, so the strategy would not "
            f"support the workload: {ALLOW_MORE}",
        ),
    )


def missed(instance: Instance, solver: str, raw: str, line: Violation, is_moved: bool) -> SolverError:
    """The line that the point misses the most; ``is_moved``: points near it and inside were tried."""
    name = instance.program.name
    misses = line.missed(instance)
    if instance.program.repair:
        first = f"after the 'repair' of '{name}' the point of {solver} {misses}"
        hint = f"write the 'repair' so that it restores '{line.name}', or {ALLOW_MORE}"
    else:
        first = f"the point of {solver} for '{name}' {misses}"
        restored = f"'{line.name}'{repair_for(instance, line)}"
        hint = f"give the program a 'repair' that restores {restored}, or {ALLOW_MORE}"
    tried = "; no point near it, or on the way inside of all lines, keeps them" if is_moved else ""
    return SolverError(f"{first} ({raw}){tried}", hint=hint)


SECONDS_OF_DIAGNOSIS = 20.0  # for a diagnosis
SECONDS_IN_A_HURRY = 3.0  # for one when a limit of time or iterations was set and reached


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
        return _missed(instance, solver, last, point)
    name, (scaled, scaling) = instance.program.name, handed
    try:
        lines = ground(scaled)
    except ProgramError:  # taken apart line by line it does not check: what the solver says is all there is
        lines = None
    nearest: Probe | None = None
    if lines is not None:
        with Clock(
            SECONDS_IN_A_HURRY if last.stop in (Stop.STOPPED, Stop.ITERATIONS) else SECONDS_OF_DIAGNOSIS
        ) as clock:
            found = _shown(instance, lines, scaling, last, clock)
            if found is None and last.stop == Stop.INFEASIBLE:
                nearest = probe(lines, everything(lines), clock)
        if found is not None:
            return found
    if last.stop == Stop.INFEASIBLE:
        return _doubted(instance, scaling, solver, last, nearest)
    if last.stop == Stop.UNBOUNDED:
        return unbounded_by_word(name, solver, last.raw)
    return _missed(instance, solver, last, point)


def _shown(
    instance: Instance, lines: Ground, scaling: Scaling, last: Point, clock: Clock
) -> SolverError | None:
    """What can be shown without believing the solver."""
    if last.stop == Stop.UNBOUNDED:
        growth = find_growth(lines, instance, scaling, clock)
        if growth is not None and not has_end(instance, growth.directions):
            return unbounded(instance, growth)
    conflict = find_conflict(lines, scaling, clock)
    if conflict is None:
        return None
    return infeasible(instance, lines, conflict, scaling.smallest_unit)


def _doubted(
    instance: Instance, scaling: Scaling, solver: str, last: Point, nearest: Probe | None
) -> SolverError:
    """The solver says infeasible, and the elastic program does not prove it."""
    if nearest is not None:
        found = candidate(instance, scaling.undone(nearest.point, {})[0])
        if found.after <= FEASIBLE:
            return feasible_all_the_same(instance, solver, last.raw, found)
    slack = max(nearest.slack.values(), default=0.0) if nearest is not None else None
    return undecided(instance.program.name, solver, last.raw, slack)


def _missed(instance: Instance, solver: str, last: Point, point: Candidate | None) -> SolverError:
    """The error for a solver that has points, of which none can be repaired to a feasible one."""
    program = instance.program
    if point is None:
        unused = [d.name for d in program.choose if last.variables and d.name not in last.variables]
        if unused:
            return unused_variable(instance, unused[0])
        return no_point(program.name, solver, last.raw)
    if point.after <= FEASIBLE:
        return infinite_objective(instance, solver, last.raw)
    line = worst_line(instance, {d.name: point.env[d.name] for d in program.choose})
    if line is None:
        return no_point(program.name, solver, last.raw)
    is_moved = may_move(instance) and not program.repair and last.stop != Stop.STOPPED
    return missed(instance, solver, last.raw, line, is_moved)
