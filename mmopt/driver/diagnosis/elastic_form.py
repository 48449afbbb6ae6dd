"""The elastic form of a program: constraints relaxed by a common slack, the least of which is sought.

If the least slack is positive the constraints cannot hold together, and the multipliers prove it
(``mmopt.solvers.conic_problem``): a feasible point would have slack 0. Constraints whose multipliers are next
to nothing are then left out, and the proof is sought again for the rest. What declarations promise (a sign,
psd) gives no way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.compiler import Instance, lower
from mmopt.compiler.to_cones import line
from mmopt.errors import ProgramError, SolverError, TooLargeError
from mmopt.language import Program, check, evaluate
from mmopt.language.check.infer_types import infer
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Constraint,
    Declaration,
    Meaning,
    Name,
    Number,
    Relation,
    Span,
    is_rank,
)
from mmopt.numerics.arrays import Array
from mmopt.solvers import Clock, Options, Point, Proof, conic_solver, prove, run

HERE = Span(1, 1)
SLACK = Name("the slack", HERE)  # a name that no program can choose
# A proof counts when it holds up to points so many times as large as the elastic one.
LEAST_REACH = 1e6
REACH_OF_PROOF = 1e10  # how far the final proof should reach
# How far all inequalities may be tightened: a point inside them keeps them in floats too.
MOST_TIGHTENED = 0.1
ELASTIC_GAP = 1e-8  # handed over as the gap; an interior-point method starts at a hundredth of it
LEAST_SLACK = 1e-9  # a slack below this is none
LEAST_WEIGHT = 1e-5  # of the largest multiplier: below it a constraint is tried without


@dataclass(frozen=True)
class Probe:
    """The least slack of some constraints, with the point (in the scale of the instance), and what is proved.

    names : of the constraints. weights : the largest multiplier of each; inf where the solver gives none.
    proof : that the constraints cannot hold together, or None.
    """

    names: tuple[str, ...]
    slack: float
    point: Mapping[str, Array]
    proof: Proof | None
    weights: Mapping[str, float]


def conflict(instance: Instance, clock: Clock) -> Probe | None:
    """All constraints with one slack or, where fewer are proved to conflict by themselves, those."""
    whole = probe(instance, [c.name for c in instance.program.constraints if not is_rank(c)], clock)
    if whole is None or whole.proof is None:
        return whole
    least = LEAST_WEIGHT * max((w for w in whole.weights.values() if np.isfinite(w)), default=0.0)
    fewer = probe(instance, [n for n in whole.names if whole.weights[n] >= least], clock, REACH_OF_PROOF)
    return whole if fewer is None or fewer.proof is None else replace(fewer, point=whole.point)


def probe(
    instance: Instance, names: Collection[str], clock: Clock, reach: float = LEAST_REACH
) -> Probe | None:
    """The least slack with which the constraints named hold together; None when no point was found.

    The first proof that holds up to ``reach`` times the size of the point ends it; else the best counts that
    holds up to ``LEAST_REACH``.
    """
    best: Probe | None = None
    sizes, furthest = instance.sizes(), 0.0
    for point in _elastic_points(instance, names, clock):
        if SLACK.id not in point.variables:
            continue
        slack = float(point.variables[SLACK.id])
        values = {
            d.name: point.variables.get(d.name, np.zeros(d.shape(sizes))) for d in instance.program.choose
        }
        size = max([1.0, *(float(np.abs(v).max(initial=0.0)) for v in values.values())])
        proof = prove(point.vectors) if point.vectors is not None else None
        held = min(proof.reach, proof.radius / size) if proof is not None else 0.0
        if held < max(LEAST_REACH, furthest):
            proof = best.proof if best is not None else None
        furthest = max(furthest, held)
        best = Probe(tuple(names), slack, values, proof, {n: _weight(point, n) for n in names})
        if slack <= LEAST_SLACK or furthest >= reach:
            break
    return best


def _weight(point: Point, name: str) -> float:
    parts = [part for part in (name, f"{name} above") if part in point.multipliers]
    return max((float(np.abs(point.multipliers[part]).max(initial=0.0)) for part in parts), default=np.inf)


def _elastic_points(instance: Instance, names: Collection[str], clock: Clock) -> Iterator[Point]:
    """Points of the constraints named, where each gives way by the slack, which is minimized."""
    kept = [c for c in instance.program.constraints if c.name in names]
    if not kept:
        return
    parts = [relaxed(instance, c) for c in kept]
    units = {name: d for _, units in parts for name, d in units.items()}
    # Nothing that is missed on both sides can be tightened.
    least = 0.0 if any(c.relation.op == "==" for c in kept) else -MOST_TIGHTENED
    bounded = Constraint("least slack", Relation(SLACK, ">=", Number(least, HERE), HERE), HERE)
    yield from points(
        instance,
        clock,
        [*(c for lines, _ in parts for c in lines), bounded],
        givens=(*instance.program.givens, *units.values()),
        choose=(*instance.program.choose, Declaration(SLACK.id, "scalar", (), HERE)),
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
        units = {unit: Declaration(unit, "psd", (dim, dim), HERE, dim_spans=(HERE, HERE))}
        return [Constraint(c.name, Relation(small, "<<", raised, HERE), HERE, c.family)], units
    for limit in (small, large):
        kind = infer(limit, scope)
        is_limit = family is None and kind.is_constant and not kind.is_matrix
        if is_limit and np.all(evaluate(limit, instance.env)):
            size = Apply("abs", (limit,), HERE)
            small, large = Apply("div", (small, size), HERE), Apply("div", (large, size), HERE)
            break
    sides = [(c.name, small, large), (f"{c.name} above", large, small)][: 1 + (r.op == "==")]
    return [
        Constraint(name, Relation(one, "<=", Apply("add", (other, SLACK), HERE), HERE), HERE, family)
        for name, one, other in sides
    ], {}


def points(
    instance: Instance, clock: Clock, constraints: Sequence[Constraint], **parts: Any
) -> Iterator[Point]:
    """Points of the program with other constraints (and other ``parts``); none when no solver can take it.

    Nothing of the program rests on the point: no meaning, repair or certificate.
    """
    whole = instance.program
    changed = Program(
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
        checked = check(replace(changed, **parts))
        sizes = instance.sizes()
        units = {
            d.name: np.eye(d.dims[0].value(sizes))
            for d in checked.program.givens
            if d.name not in instance.env
        }
        bound = replace(instance, checked=checked, env=MappingProxyType({**instance.env, **units}))
        row = conic_solver(bound, None)
    except (ProgramError, SolverError, TooLargeError):  # it does not check so; none has the cones, or fits
        return
    if not clock.is_over:
        yield from run(row, lower(bound), Options(tolerance=ELASTIC_GAP), clock)
