"""The sentences of a diagnosis: what was found, and what to change, such as a repair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.diagnosis.conflicts_and_growth import Conflict, Growth, Relaxation
from mmopt.driver.diagnosis.infinite_objectives import without_value
from mmopt.driver.diagnosis.relaxable_lines import Ground, RelaxableLine
from mmopt.driver.judge.score_point import Candidate
from mmopt.driver.judge.violations import Violation, named_rows
from mmopt.errors import SolverError, UndecidedError
from mmopt.language import evaluate, to_source
from mmopt.language.check.exact_rewriting import vectorised
from mmopt.language.check.infer_types import infer
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Constraint,
    Entries,
    Expr,
    Name,
    Number,
    mentions,
    names_in,
)
from mmopt.numerics.outward import rounded

__all__ = [
    "feasible_all_the_same",
    "infeasible",
    "infinite_objective",
    "missed",
    "no_point",
    "not_attained",
    "repair_for",
    "unbounded",
    "unbounded_by_word",
    "undecided",
    "unused",
]


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
    error.found = point
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


def unused(instance: Instance, name: str) -> SolverError:
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
