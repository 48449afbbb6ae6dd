"""The words of a diagnosis: why a solve gave no point, in the names of the program, with what to change.

A solver's word only says where to look. That there is no feasible point is proved by multipliers
(``elastic_form``), that the objective has no end is shown on the program itself (``growth``); what was not
shown is worded as not found.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmopt.compiler import Instance, Scaling
from mmopt.driver.diagnosis.elastic_form import Probe, conflict
from mmopt.driver.diagnosis.growth import Growth, find_growth
from mmopt.driver.judge.score_point import FEASIBLE, Candidate, candidate, may_move
from mmopt.driver.judge.violations import Violation, undefined_objective, worst_line
from mmopt.errors import SolverError, UndecidedError
from mmopt.language.syntax.syntax_tree import mentions
from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.solvers import Clock, Point, Proof

ALLOW_MORE = "allow more time or iterations, or try another solver"
UNITS = "write the constraints in units in which the numbers are near 1, or try another solver"


def _together(words: Sequence[str], last: str = "and") -> str:
    """a; a and b; a, b, and c."""
    comma = "," if len(words) > 2 else ""
    return f"{comma} {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def infeasible(instance: Instance, nearest: Probe, proof: Proof, scaling: Scaling) -> SolverError:
    """The constraints that cannot hold together, and how near to all constraints a point came."""
    lines = [c for c in instance.program.constraints if c.name in nearest.names]
    named = _together([f"'{c.name}'" for c in lines])
    says = "cannot hold" if len(lines) == 1 else "cannot hold together"
    promised = [
        f"'{d.name}' {f'{d.sign} 0' if d.sign else 'psd'}"
        for d in instance.program.choose
        if (d.sign or d.kind == "psd")
        and any(mentions(side, d.name) for c in lines for side in (c.relation.left, c.relation.right))
    ]
    with_promised = f" with {_together(promised)}" if promised else ""
    # In the program's own units; the proof is of the scaled one. Beyond, rounding may make room for a point.
    far = proof.radius * scaling.smallest_unit
    reach = rounded(far, 1, up=False, layout="e") if np.isfinite(far) else ""
    for_points = f", for points whose entries and values of atoms are at most {reach}" if reach else ""
    up_to = f" with numbers up to {reach}" if reach else ""
    line = worst_line(instance, scaling.undone(nearest.point, {})[0], nearest.names)
    near = f" (the nearest point found {line.missed(instance)})" if line is not None else ""
    out = "relax it or leave it out" if len(lines) == 1 else "relax one of them or leave it out"
    return SolverError(
        f"'{instance.program.name}' has no feasible point{up_to}: {named} {says}{with_promised}",
        hint=f"{out}{near}\n  proved by multipliers with a residual of {proof.residual:.0e}{for_points}",
    )


def endless(instance: Instance, growth: Growth) -> SolverError:
    """Error that names what grows or falls without end, and how the objective follows."""
    ways = {name: _way(direction) for name, direction in growth.directions.items()}
    falls = "falls" if instance.program.sense == "minimize" else "rises"
    moving = _together([f"'{name}' {way}" for name, way in ways.items()])
    caps = [_cap(instance, name, way) for name, way in ways.items()]
    return SolverError(
        f"'{instance.program.name}' seems to have no optimum: every constraint holds with {moving}, while "
        f"the objective {falls} from {growth.first:.3g} to {growth.last:.3g} (followed to entries of "
        f"{growth.reach:.0e})",
        hint=f"add a constraint such as {_together(caps, 'or')}, or check the sign of the objective and "
        "which way round the constraints are",
    )


def _way(direction: Array) -> str:
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


def infinite_objective(instance: Instance, solver: str, raw: str, point: Candidate) -> SolverError:
    """A point that keeps the constraints and is worth nothing."""
    part = undefined_objective(instance, {**instance.env, **point.variables})
    return SolverError(
        f"the point of {solver} for '{instance.program.name}' keeps every constraint, but its objective has "
        f"no finite value ({raw}){f': {part}' if part else ''}",
        hint=f"relax the constraints, check signs and givens, or {ALLOW_MORE}",
    )


def missed(instance: Instance, solver: str, raw: str, line: Violation, is_moved: bool) -> SolverError:
    """The line that the point misses the most; ``is_moved``: points near it and inside were tried."""
    name = instance.program.name
    if instance.program.repair:
        first, hint = f"after the 'repair' of '{name}' the point of {solver}", "write the 'repair' so that it"
    else:
        first, hint = f"the point of {solver} for '{name}'", "give the program a 'repair' that"
    tried = "; no point near it, or on the way inside of all lines, keeps them" if is_moved else ""
    return SolverError(
        f"{first} {line.missed(instance)} ({raw}){tried}",
        hint=f"{hint} restores '{line.name}' (as X = X / max(diag(X)) does diag(X) <= 1), or {ALLOW_MORE}",
    )


SECONDS_OF_DIAGNOSIS = 20.0
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
        return _missed(instance, solver, last, point)
    is_hurried = last.stop in (Stop.STOPPED, Stop.ITERATIONS)
    with Clock(SECONDS_IN_A_HURRY if is_hurried else SECONDS_OF_DIAGNOSIS) as clock:
        if last.stop == Stop.UNBOUNDED:
            growth = find_growth(instance, *handed, clock)
            if growth is not None:
                return endless(instance, growth)
        nearest = conflict(handed[0], clock)
    if nearest is not None and nearest.proof is not None:
        return infeasible(instance, nearest, nearest.proof, handed[1])
    if last.stop == Stop.INFEASIBLE:
        return _doubted(instance, handed[1], solver, last, nearest)
    if last.stop == Stop.UNBOUNDED:
        return UndecidedError(
            f"not decided: {solver} says that '{instance.program.name}' is unbounded ({last.raw}), and no "
            "point that keeps every line was found from which the objective gets better without end",
            hint="bound what is chosen, check the sign of the objective, or try another solver",
        )
    return _missed(instance, solver, last, point)


def _doubted(
    instance: Instance, scaling: Scaling, solver: str, last: Point, nearest: Probe | None
) -> SolverError:
    """The solver says infeasible, and the elastic program does not prove it."""
    name, close = instance.program.name, ""
    if nearest is not None:
        point = candidate(instance, scaling.undone(nearest.point, {})[0])
        close = f"; the nearest point misses constraints by up to {point.after:.1e}, relatively"
        if point.after <= FEASIBLE and not np.isfinite(point.objective):
            return infinite_objective(instance, solver, last.raw, point)
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
        hint=f"check the constraints and the givens, {UNITS}",
    )


def _missed(instance: Instance, solver: str, last: Point, point: Candidate | None) -> SolverError:
    """The error for a solver that has points, of which none can be repaired to a feasible one."""
    program = instance.program
    unused = [d for d in program.choose if last.variables and d.name not in last.variables]
    if point is None and unused:
        return SolverError(
            f"'{unused[0].name}' is chosen, and neither the objective nor a constraint mentions it",
            where=program.source.locate(unused[0].span),
            hint=f"leave '{unused[0].name}' out of 'choose', or add a constraint on it",
        )
    if point is not None and point.after <= FEASIBLE:
        return infinite_objective(instance, solver, last.raw, point)
    line = (
        None if point is None else worst_line(instance, {d.name: point.env[d.name] for d in program.choose})
    )
    if line is None:
        return SolverError(f"{solver} returned no point for '{program.name}' ({last.raw})", hint=ALLOW_MORE)
    is_moved = may_move(instance) and not program.repair and last.stop != Stop.STOPPED
    return missed(instance, solver, last.raw, line, is_moved)
