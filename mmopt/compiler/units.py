"""Units: how every quantity of a program scales when the workload or the targets are scaled.

If W is multiplied by s, some variables keep their value and some are multiplied by a power of s.
Those powers follow from the lines of the program as units do in physics: both sides of a relation have
the same, products add them, an inverse negates them. Solving for them tells the compiler how to
scale any program exactly, also one that a user wrote this morning. A program whose lines do not
agree (``W + 1``) has no such scaling; it is then solved as given, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mmopt.language import ATOMS
from mmopt.language.check.rank import is_rank
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.tree import Apply, Block, Expr, Index, Name, Number, constant, rewrite

__all__ = ["SOURCE_UNITS", "Units", "first_disagreement", "infer_units"]

Degree = dict[str, float]

# What is multiplied by which power of the queries' scale and of the targets' scale.
SOURCE_UNITS: Mapping[str, Degree] = {
    "workload.matrix": {"queries": 1},
    "workload.root": {"queries": 1},
    "workload.gram": {"queries": 2},
    "workload.weights": {},
    "workload.targets": {"targets": 1},
    "workload.basis": {},
    "workload.representation": {"queries": 1},
    "workload.eigenqueries": {},
    "workload.eigenvalues": {"queries": 2},
}


@dataclass(frozen=True)
class Units:
    """Powers of each unit for what is given (array parameters too), what is chosen, and the lines.

    A psd block has none: its ends scale differently. Its diagonal blocks do, as ``name[i, i]``.
    """

    givens: Mapping[str, Degree]
    variables: Mapping[str, Degree]
    constraints: Mapping[str, Degree]
    objective: Degree

    def factor(self, degree: Degree, scales: Mapping[str, float]) -> float:
        """The number by which something of this degree is multiplied."""
        return float(np.prod([scales[u] ** power for u, power in degree.items()]))


@dataclass
class _Equations:
    names: dict[str, Degree]
    values: Mapping[str, float] = field(default_factory=dict)  # of parameters, for exponents
    rows: list[Degree] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    line: str = ""
    fresh: int = 0

    def number(self, expr: Expr) -> Expr | None:
        """The value of a parameter, in an exponent."""
        known = self.values.get(expr.id) if isinstance(expr, Name) else None
        return None if known is None else Number(known, expr.span)

    def unknown(self) -> Degree:
        self.fresh += 1
        return {f"?{self.fresh}": 1.0}

    def equal(self, a: Degree, b: Degree) -> None:
        self.rows.append(_plus(a, b, -1.0))
        self.lines.append(self.line)


def _plus(a: Degree, b: Degree, factor: float = 1.0) -> Degree:
    out = dict(a)
    for key, power in b.items():
        out[key] = out.get(key, 0.0) + factor * power
    return {k: p for k, p in out.items() if p}


def _times(a: Degree, factor: float) -> Degree:
    return {k: p * factor for k, p in a.items()}


def _degree(expr: Expr, eq: _Equations) -> Degree:
    match expr:
        case Number(value=value):
            return eq.unknown() if value == 0 else {}
        case Name(id=name):
            return eq.names.get(name, {})
        case Index(base=base):
            return _degree(base, eq)
        case Block(rows=rows):
            entries = [_degree(entry, eq) for line in rows for entry in line]
            whole = eq.unknown()
            for entry in entries:
                eq.equal(entry, whole)
            return whole
        case Apply(atom="pow", args=(a, exponent)):
            power = constant(rewrite(exponent, eq.number))
            if power is None:
                raise LookupError(expr)
            return _times(_degree(a, eq), power)
        case Apply(atom=atom, args=args) if ATOMS[atom].alike:
            first = _degree(args[0], eq)
            for other in args[1:]:
                eq.equal(first, _degree(other, eq))
            return first
        case Apply(atom=atom, args=args) if ATOMS[atom].unitless:
            for a in args:
                eq.equal(_degree(a, eq), {})
            return {}
        case Apply(atom=atom, args=args):
            powers = ATOMS[atom].degrees
            if powers is not None:
                out: Degree = {}
                for a, power in zip(args, powers, strict=True):
                    # A degree of 0 is not looked at: a dimension, or what only picks rows.
                    out = _plus(out, _degree(a, eq), power) if power else out
                return out
    raise LookupError(expr)


def _psd_block(block: Block, eq: _Equations) -> list[Degree]:
    """A block that has to be psd: a diagonal congruence keeps that, so each end scales by itself."""
    ends = [eq.unknown() for _ in block.rows]
    for i, line in enumerate(block.rows):
        for j, entry in enumerate(line):
            eq.equal(_degree(entry, eq), _plus(ends[i], ends[j]))
    return ends


def infer_units(
    program: Program,
    sources: Mapping[str, Degree] | None = None,
    parameters: Mapping[str, float] | None = None,
) -> Units | None:
    """The powers, or None when the lines of the program do not agree on any.

    ``sources`` gives the degree of givens by name where the caller passed them, ``parameters`` their
    values, which may stand as exponents.
    """
    eq = _Equations({}, dict(parameters or {}))
    try:
        given, own, objective, constraints = _read(program, sources or {}, eq)
    except LookupError:
        return None
    solved = _solve(eq.rows)
    if solved is None:
        return None

    def filled(degree: Degree) -> Degree:
        out: Degree = {}
        for key, power in degree.items():
            out = _plus(out, solved(key), power)
        return out

    return Units(
        {name: filled(degree) for name, degree in given.items()},
        {name: filled(degree) for name, degree in own.items()},
        {name: filled(degree) for name, degree in constraints.items()},
        filled(objective),
    )


def first_disagreement(
    program: Program,
    sources: Mapping[str, Degree] | None = None,
    parameters: Mapping[str, float] | None = None,
) -> str:
    """The first line (a name, or "objective") that contradicts those before it; "" when all agree.

    An atom whose scale is not known counts as a contradiction. The arguments are those of ``infer_units``.
    """
    eq = _Equations({}, dict(parameters or {}))
    try:
        _read(program, sources or {}, eq)
    except LookupError:
        return eq.line
    agree = (k for k in range(len(eq.rows)) if _solve(eq.rows[: k + 1]) is None)
    return next((eq.lines[k] for k in agree), "")


def _read(
    program: Program, sources: Mapping[str, Degree], eq: _Equations
) -> tuple[dict[str, Degree], dict[str, Degree], Degree, dict[str, Degree]]:
    """Degrees of givens, variables, objective and constraints, with their equations in ``eq``."""
    eq.names.update({d.name: dict(SOURCE_UNITS.get(d.source, {})) for d in program.givens})
    eq.names.update(sources)
    given = dict(eq.names)
    own = {d.name: {f"@{d.name}": 1.0} for d in program.choose}
    for let in program.lets:
        eq.line = let.name
        eq.names[let.name] = _degree(let.expr, eq)
    eq.names.update(own)
    eq.line = "objective"
    objective = _degree(program.objective, eq)
    constraints: dict[str, Degree] = {}
    for c in program.constraints:
        eq.line = c.name
        left, right = c.relation.left, c.relation.right
        if is_rank(c):  # the same in every scale
            continue
        if isinstance(left, Block) and c.relation.op == ">>" and isinstance(right, Number):
            # A multiplier of block (i, i) is one of an inequality between entries of that block.
            for i, end in enumerate(_psd_block(left, eq)):
                constraints[f"{c.name}[{i}, {i}]"] = _times(end, 2.0)
            continue
        constraints[c.name] = _degree(left, eq)
        eq.equal(constraints[c.name], _degree(right, eq))
    return given, own, objective, constraints


def _solve(rows: list[Degree]) -> Callable[[str], Degree] | None:
    """Solve for the unknowns (marked ? or @) in terms of the units; None if the rows contradict."""
    keys = sorted({k for row in rows for k in row})
    unknown = [k for k in keys if k[0] in "?@"]
    units = [k for k in keys if k[0] not in "?@"]
    if rows:
        a = np.array([[row.get(k, 0.0) for k in unknown] for row in rows]).reshape(len(rows), len(unknown))
        b = -np.array([[row.get(k, 0.0) for k in units] for row in rows]).reshape(len(rows), len(units))
        z = np.linalg.lstsq(a, b, rcond=None)[0] if unknown else np.zeros((0, len(units)))
        if np.abs(a @ z - b).max(initial=0.0) > 1e-9:
            return None
    else:
        z = np.zeros((0, 0))
    table = {
        k: {u: float(np.round(p, 9)) for u, p in zip(units, line, strict=True) if abs(p) > 1e-9}
        for k, line in zip(unknown, z, strict=True)
    }
    return lambda key: table.get(key, {}) if key[0] in "?@" else {key: 1.0}
