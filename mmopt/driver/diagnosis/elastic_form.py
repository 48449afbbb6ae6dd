"""The elastic form of a program: constraints relaxed by a common slack.

The lines of a bound program, each of which may be kept, left out in part, or let give way.

Every given, parameter and let becomes a number, so that lines may be taken apart row by row. A declared
sign, and a declaration as psd, count as lines where the rest of the program does without them.

The elastic form of a program: lines give way by a common slack, and the least slack is found.

If the least slack is positive the lines cannot hold together, and the multipliers prove it
(``mmopt.solvers.conic_problem``): a feasible point would have slack 0. Whether some line is at fault is seen
by leaving it out; what it takes to make room, by letting it alone give way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from mmopt.compiler import Instance, lower
from mmopt.compiler.to_cones import line
from mmopt.errors import ProgramError, SolverError, TooLargeError
from mmopt.language import Program, check, evaluate
from mmopt.language.atoms.argument_types import Dim, Type
from mmopt.language.check.infer_types import infer
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Constraint,
    Declaration,
    Entries,
    Expr,
    Family,
    Meaning,
    Name,
    Number,
    Relation,
    Span,
    rewrite,
    to_source,
)
from mmopt.numerics.arrays import Array
from mmopt.solvers import Clock, Options, Point, Proof, conic_solver, prove, run

HERE = Span(1, 1)


@dataclass(frozen=True)
class RelaxableLine:
    """A line: a constraint, or what the declaration of a variable promises (``kind`` sign or psd).

    ``count`` rows can be taken apart (0: none); ``index`` is set when each is a relation of its own.
    ``limit`` holds the side that does not depend on what is chosen, and ``unit`` (positive, a number or
    one per row) is the size in which a violation is counted: that of the limit, else 1. ``sides`` has the
    lengths of both sides, 0 for a number.
    """

    key: str
    name: str
    kind: str
    relation: Relation
    count: int
    index: str
    limit: Array | None
    limit_is_right: bool
    unit: Array
    sides: tuple[int, int]

    def at(self, i: int) -> Relation:
        """The relation for one value of the index."""

        def change(e: Expr) -> Expr | None:
            return Number(float(i), e.span) if isinstance(e, Name) and e.id == self.index else None

        r = self.relation
        return replace(r, left=rewrite(r.left, change), right=rewrite(r.right, change))

    @property
    def is_relative(self) -> bool:
        """Whether a violation is counted in multiples of the limit."""
        if self.limit is None or self.relation.op == "==" or not self.limit.any():
            return False
        if self.relation.op in ("<<", ">>"):
            side = self.limit.shape[-1] if self.limit.ndim == 2 else 0
            return bool(side) and np.array_equal(self.limit, self.limit[0, 0] * np.eye(side))
        return bool((self.limit > 0).all() or (self.limit < 0).all())

    @property
    def rises(self) -> bool:
        """Whether the size of the limit grows when the line gives way."""
        assert self.limit is not None
        positive = bool(self.limit.sum() > 0)
        return positive == ((self.relation.op in ("<=", "<<")) == self.limit_is_right)


@dataclass(frozen=True)
class Ground:
    """A program whose names are numbers, without objective and constraints, and its lines by key."""

    base: Program
    instance: Instance
    parts: Mapping[str, RelaxableLine]


def array_given(name: str, value: Array, known: Type | None = None) -> Declaration:
    """The declaration of an array, as strong as its numbers (and its known type) allow."""
    kind = "vector" if value.ndim == 1 else "matrix"
    if known is not None and known.is_matrix:
        kind = "psd" if known.psd else "symmetric" if known.symmetric else "matrix"
    dims = tuple(Dim.of(int(size)) for size in value.shape)
    sign = ">=" if value.min(initial=0.0) >= 0 else ""
    return Declaration(name, kind, dims, HERE, sign, dim_spans=(HERE,) * len(dims))


def ground(instance: Instance) -> Ground:
    """The program of an instance with numbers for names, and its lines.

    Raises :class:`~mmopt.errors.ProgramError` for a program that does not check in this form.
    """
    program, env = instance.program, instance.env
    computed: dict[str, Array] = {}  # matrices whose number of rows only their numbers tell

    def number(e: Expr) -> Expr | None:
        if isinstance(e, Apply) and f"?rows({to_source(e)})" in env:
            computed[to_source(e)] = evaluate(e, env)
            return Name(to_source(e), e.span)
        if isinstance(e, Name) and np.ndim(env.get(e.id, np.zeros(1))) == 0:
            return Number(float(env[e.id]), e.span)
        if isinstance(e, Entries):
            where = tuple(
                replace(r, left=rewrite(r.left, number), right=rewrite(r.right, number)) for r in e.where
            )
            families = tuple(replace(f, dim=fixed([f.dim])[0]) for f in e.families)
            return replace(e, body=rewrite(e.body, number), families=families, where=where)
        return None

    def fixed(dims: Sequence[Dim]) -> tuple[Dim, ...]:
        return tuple(Dim.of(dim.value(env)) for dim in dims)

    def grounded(c: Constraint) -> Constraint:
        r = c.relation
        family = replace(c.family, dim=fixed([c.family.dim])[0]) if c.family else None
        relation = replace(r, left=rewrite(r.left, number), right=rewrite(r.right, number))
        return replace(c, relation=relation, family=family)

    arrays = {n: np.asarray(v, dtype=float) for n, v in env.items() if np.ndim(v)}
    objective, constraints = rewrite(program.objective, number), tuple(map(grounded, program.constraints))
    arrays |= computed
    base = Program(
        name=program.name,
        source=program.source,
        givens=tuple(array_given(n, v, instance.checked.types.get(n)) for n, v in arrays.items()),
        choose=tuple(replace(d, dims=fixed(d.dims)) for d in program.choose),
        sense=program.sense,
        objective=objective,
        constraints=constraints,
        meaning=Meaning("strategy", Apply("eye", (Number(1.0, HERE),), HERE)),
    )
    known = Instance(check(base), instance.workload, MappingProxyType(arrays), frozenset(arrays))
    parts = [_part(known, c) for c in base.constraints]
    parts += [p for d in base.choose for p in _declared(base, d)]
    return Ground(base, known, {p.key: p for p in parts})


def _part(instance: Instance, c: Constraint) -> RelaxableLine:
    decided = line(instance.checked, c)
    index = c.family.index if c.family and (decided.loop or decided.pair) else ""
    relation = c.relation if index or c.family is None else decided.relation
    types = infer(relation.left, decided.scope), infer(relation.right, decided.scope)
    count = _count(c.family if index else None, relation, types)
    limit, is_right = _limit(instance, relation, types, index, count)
    unit = np.ones(())
    if limit is not None and limit.any():
        size = np.abs(limit)
        if relation.op in ("<<", ">>"):
            unit = np.asarray(np.linalg.norm(limit, 2) if limit.ndim == 2 else 1.0)
        elif size.ndim == 1 and relation.op != "==" and ((limit > 0).all() or (limit < 0).all()):
            unit = size
        else:
            unit = np.asarray(size.max())
    sides = tuple(t.dims[0].value({}) if t.dims else 0 for t in types)
    return RelaxableLine(
        c.name, c.name, "constraint", relation, count, index, limit, is_right, unit, (sides[0], sides[1])
    )


def _count(family: Family | None, r: Relation, types: tuple[Type, Type]) -> int:
    if family is not None:
        return family.dim.value({})
    if r.op in ("<<", ">>") or any(t.is_matrix or t.is_row for t in types):
        return 0
    return max((t.dims[0].value({}) for t in types if t.is_vector), default=0)


def _limit(
    instance: Instance, r: Relation, types: tuple[Type, Type], index: str, count: int
) -> tuple[Array | None, bool]:
    """The side that is constant, a number per row where there are rows, and whether it is the right one."""
    for t, e, is_right in ((types[1], r.right, True), (types[0], r.left, False)):
        if not t.is_constant:
            continue
        if index:
            values = [np.asarray(evaluate(e, {**instance.env, index: i})) for i in range(count)]
            return (np.array(values) if t.is_scalar else None), is_right
        value = np.asarray(evaluate(e, instance.env), dtype=float)
        return (np.full(count, float(value)) if count and not value.ndim else value), is_right
    return None, True


def _declared(base: Program, d: Declaration) -> list[RelaxableLine]:
    """What a declaration promises and the rest of the program does not rest on."""
    zero = Number(0.0, HERE)
    promised = [("sign", ">=")] * bool(d.sign) + [("psd", ">>")] * (d.kind == "psd")
    found = []
    for kind, op in promised:
        others = tuple(demoted(x, kind) if x.name == d.name else x for x in base.choose)
        try:
            check(replace(base, choose=others, objective=zero, sense="minimize"))
        except ProgramError:
            continue
        count = d.dims[0].value({}) if d.kind == "vector" else 0
        relation = Relation(Name(d.name, HERE), op, zero, HERE)
        sides = (d.dims[0].value({}) if d.dims else 0, 0)
        key = f"{d.name} {kind}"
        found.append(RelaxableLine(key, d.name, kind, relation, count, "", None, True, np.ones(()), sides))
    return found


def demoted(d: Declaration, kind: str) -> Declaration:
    """The declaration without its sign, or symmetric in place of psd."""
    return replace(d, sign="") if kind == "sign" else replace(d, kind="symmetric")


# The lines that are kept by key, with the rows of each (None: all).
Kept = Mapping[str, tuple[int, ...] | None]

# A proof counts when it holds up to points so many times as large as the elastic one.
LEAST_REACH = 1e6
# How far, relatively, all lines may be tightened: a point inside them keeps them in floats too.
MOST_TIGHTENED = 0.1
ELASTIC_GAP = 1e-8  # handed over as the gap; an interior-point method starts at a hundredth of it
LEAST_SLACK = 1e-9  # a slack below this is none


@dataclass(frozen=True)
class Probe:
    """The least slack found by line, the point (in the scale of the instance), and what is proved.

    ``proof`` says that the lines cannot hold together; ``weights`` has what each row of a line has to do
    with it.
    """

    slack: Mapping[str, float]
    point: Mapping[str, Array]
    proof: Proof | None
    weights: Mapping[str, Array]

    @property
    def is_least(self) -> bool:
        """Whether the sum of the slacks, each one's own, is proved to be the least, to three digits."""
        return self.proof is not None and self.proof.value >= 0.999 * sum(self.slack.values())

    @property
    def size(self) -> float:
        """The largest entry of the point, at least 1."""
        return max([1.0, *(float(np.abs(v).max(initial=0.0)) for v in self.point.values())])


def everything(ground: Ground) -> dict[str, tuple[int, ...] | None]:
    """All lines, whole."""
    return dict.fromkeys(ground.parts)


def _apply(atom: str, *args: Expr) -> Expr:
    return Apply(atom, args, HERE)


class _Builder:
    """Collects the constants and constraints of one elastic program."""

    def __init__(self, ground: Ground) -> None:
        self.env: dict[str, Array] = dict(ground.instance.env)
        self.givens = list(ground.base.givens)
        self.constraints: list[Constraint] = []

    def constant(self, name: str, value: Array, *, psd: bool = False) -> Expr:
        declared = array_given(name, value)
        self.givens.append(replace(declared, kind="psd") if psd else declared)
        self.env[name] = value
        return Name(name, HERE)

    def add(self, name: str, left: Expr, op: str, right: Expr) -> None:
        self.constraints.append(Constraint(name, Relation(left, op, right, HERE), HERE))

    def part(self, part: RelaxableLine, rows: tuple[int, ...] | None, slack: Expr | None) -> None:
        """The line, of which only ``rows`` are kept; it may be missed by ``slack`` times its unit."""
        if part.index:
            for i in range(part.count) if rows is None else rows:
                unit = part.unit if part.unit.ndim == 0 else part.unit[i]
                self.one(f"{part.key} {i}", part.at(i), np.asarray(unit), None, slack, part.sides)
        else:
            self.one(part.key, part.relation, part.unit, rows, slack, part.sides)

    def one(
        self,
        name: str,
        r: Relation,
        unit: Array,
        rows: tuple[int, ...] | None,
        slack: Expr | None,
        sides: tuple[int, int],
    ) -> None:
        if r.op in ("<<", ">>"):
            self.loewner(name, r, unit, slack, max(sides))
            return
        left, right = r.left, r.right
        if rows is not None:
            chosen = self.constant(f"rows of {name}", np.eye(max(sides))[list(rows)])
            left, right = (
                _apply("matmul", chosen, e) if size else e
                for e, size in zip((left, right), sides, strict=True)
            )
            unit = unit[list(rows)] if unit.ndim else unit
        if (unit != 1.0).any():
            per = self.constant(f"unit of {name}", unit) if unit.ndim else Number(float(unit), HERE)
            left, right = _apply("div", left, per), _apply("div", right, per)
        if slack is None:
            self.add(name, left, r.op, right)
        elif r.op == "<=":
            self.add(name, left, "<=", _apply("add", right, slack))
        elif r.op == ">=":
            self.add(name, _apply("add", left, slack), ">=", right)
        else:
            self.add(f"{name} below", left, "<=", _apply("add", right, slack))
            self.add(f"{name} above", right, "<=", _apply("add", left, slack))

    def loewner(self, name: str, r: Relation, unit: Array, slack: Expr | None, side: int) -> None:
        if slack is None:
            self.add(name, r.left, r.op, r.right)
            return
        small, large = (r.left, r.right) if r.op == "<<" else (r.right, r.left)
        room = _apply("mul", slack, self.constant(f"unit of {name}", float(unit) * np.eye(side), psd=True))
        large = room if isinstance(large, Number) else _apply("add", large, room)
        self.add(name, small, "<<", large)


def build(
    ground: Ground, kept: Kept, slack: Mapping[str, str], *, objective: Expr | None = None, box: float = 0.0
) -> Instance:
    """The program of the lines kept, where each of ``slack`` may be missed by the slack named there.

    Its objective is the sum of the slacks, which are at least 0, or -``MOST_TIGHTENED`` when all
    inequalities have the same one. With ``objective`` that is minimized instead, and every entry lies
    within ``box``.
    """
    builder = _Builder(ground)
    choose_: list[Declaration] = []
    for d in ground.base.choose:
        for kind in ("sign", "psd"):
            key = f"{d.name} {kind}"
            if key in ground.parts and (key not in kept or key in slack or kept[key] is not None):
                d = demoted(d, kind)
        choose_.append(d)
        if box:
            builder.add(f"{d.name} box above", Name(d.name, HERE), "<=", Number(box, HERE))
            builder.add(f"{d.name} box below", Name(d.name, HERE), ">=", Number(-box, HERE))
    names = dict.fromkeys(slack.values())
    for key, rows in kept.items():
        part = ground.parts[key]
        if part.kind == "constraint" or key in slack or rows is not None:
            builder.part(part, rows, Name(slack[key], HERE) if key in slack else None)
    tight = len(names) == 1 and all(k in slack and ground.parts[k].relation.op != "==" for k in kept)
    total: Expr = Number(0.0, HERE)
    for name in names:
        choose_.append(Declaration(name, "scalar", (), HERE))
        builder.add(f"least {name}", Name(name, HERE), ">=", Number(-MOST_TIGHTENED if tight else 0.0, HERE))
        total = _apply("add", total, Name(name, HERE))
    program = replace(
        ground.base,
        givens=tuple(builder.givens),
        choose=tuple(choose_),
        constraints=tuple(builder.constraints),
        sense=ground.base.sense if objective is not None else "minimize",
        objective=total if objective is None else objective,
    )
    checked = check(program)
    return Instance(checked, ground.instance.workload, MappingProxyType(builder.env), frozenset(builder.env))


def points(instance: Instance, clock: Clock) -> Iterator[Point]:
    """Points of an elastic program, from the solver that is predicted to do; none when it is too large."""
    try:
        row = conic_solver(instance, None)
    except (SolverError, TooLargeError):  # none has the cones, or none of them fits
        return
    if not clock.is_over:
        yield from run(row, lower(instance), Options(tolerance=ELASTIC_GAP), clock)


def probe(
    ground: Ground,
    kept: Kept,
    clock: Clock,
    loose: Collection[str] | None = None,
    *,
    size: float = 1.0,
    reach: float = LEAST_REACH,
) -> Probe | None:
    """The least slack with which the lines kept hold together; None when no point was found.

    All lines share one slack, or (``loose``) only those named have one, each its own. The first proof that
    holds for points up to ``reach`` times ``size`` ends it; else the best counts that holds up to
    ``LEAST_REACH``.
    """
    if not kept:
        return None
    slack = dict.fromkeys(kept, "slack") if loose is None else {key: f"slack {key}" for key in loose}
    found: Probe | None = None
    for point in points(build(ground, kept, slack), clock):
        if not set(slack.values()) <= set(point.variables):
            continue
        amounts = {key: float(point.variables[name]) for key, name in slack.items()}
        values = {d.name: _value(point, d) for d in ground.base.choose}
        proof = prove(point.vectors) if point.vectors is not None else None
        best = found.proof if found is not None else None
        if proof is None or _reach(proof, size) < max(LEAST_REACH, _reach(best, size)):
            proof = best
        weights = {key: _weights(point, ground.parts[key]) for key in kept if ground.parts[key].count}
        found = Probe(amounts, values, proof, weights)
        if loose is None and (max(amounts.values()) <= LEAST_SLACK or _reach(proof, size) >= reach):
            break
        if loose is not None and found.is_least:
            break
    return found


def _reach(proof: Proof | None, size: float) -> float:
    """Up to how many times the sizes that its coefficients speak of, and ``size``, a proof holds."""
    return min(proof.reach, proof.radius / size) if proof is not None else 0.0


def _weights(point: Point, part: RelaxableLine) -> Array:
    """How much each row of a line weighs in the multipliers; zeros when they are not known."""
    known = point.multipliers
    if part.index:
        rows = [known.get(f"{part.key} {i}") for i in range(part.count)]
        return np.array([0.0 if r is None else float(np.linalg.norm(r)) for r in rows])
    total = np.zeros(part.count)
    for name in (part.key, f"{part.key} below", f"{part.key} above"):
        if name in known and known[name].shape == total.shape:
            total = total + np.abs(known[name])
    return total


def _value(point: Point, d: Declaration) -> Array:
    """The value of a variable; zero when no line of the program has it."""
    known = point.variables.get(d.name)
    return np.zeros([dim.value({}) for dim in d.dims]) if known is None else known
