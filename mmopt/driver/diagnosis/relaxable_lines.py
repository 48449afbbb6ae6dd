"""The lines of a bound program, each of which may be kept, left out in part, or let give way.

Every given, parameter and let becomes a number, so that lines may be taken apart row by row. A declared
sign, and a declaration as psd, count as lines where the rest of the program does without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from mmopt.compiler import Instance
from mmopt.compiler.to_cones import line
from mmopt.errors import ProgramError
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
)
from mmopt.language.syntax.to_text import to_source
from mmopt.numerics.matrix_functions import Array

__all__ = ["HERE", "Ground", "RelaxableLine", "array_given", "demoted", "ground"]

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
