"""Scaling: the same program with numbers near one, and the way back, exactly.

First-order solvers need it (`all ranges` over 32 cells: 16,550 iterations as given, 75 scaled). The compiler
does it, so that no program file has to.

It goes by units: how every quantity of a program scales when the workload or the targets are scaled. If W is
multiplied by s, some variables keep their value and some are multiplied by a power of s. Those powers follow
from the lines of the program as units do in physics: both sides of a relation have the same, products add
them, an inverse negates them. Solving for them tells how to scale any program exactly, also a user's new one.
A program whose lines do not agree (``W + 1``) has no such scaling; it is then solved as given, and says so.

What the caller passes is taken as it is, unless some of it is far from one and nothing is read off the
workload. Then everything that is passed gets the units, of those that the lines allow, in which the
logarithms of its sizes are nearest to 0 in the mean square.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.linalg import null_space

from mmopt.compiler.bind import Instance, with_lets
from mmopt.compiler.lines_and_cones import sides_of_blocks
from mmopt.language import (
    ATOMS,
    Apply,
    Block,
    Entries,
    Expr,
    Index,
    Name,
    Number,
    Program,
    is_rank,
    names_in,
    number_of,
    rewrite,
)
from mmopt.numerics import Array, grouped


@dataclass(frozen=True)
class Scaling:
    """Factors: original variable = factor * scaled variable, and so for multipliers and objective.

    scales : those of the queries and of the targets, where the program reads them, from which the factors
        follow.
    """

    variables: Mapping[str, float]
    multipliers: Mapping[str, float | Array]
    objective: float
    scales: Mapping[str, float]

    def undone(
        self, variables: Mapping[str, Array], multipliers: Mapping[str, Array]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Variables and multipliers of the scaled program as those of the original one."""
        return (
            {name: value * self.variables[name] for name, value in variables.items()},
            {n: value * self.multipliers[n] for n, value in multipliers.items() if n in self.multipliers},
        )


def _scales(instance: Instance) -> dict[str, float]:
    """Scales of the queries, for columns of length one, and of the targets, for a privacy cost near one.

    The cost is estimated by its lower bound at uniform multipliers (the certificate of
    ``fitness_for_use``): the covariance and its inverse are then of the same size.
    """
    w = instance.workload
    queries = float(np.sqrt(np.sum(w.root**2) / w.n))
    finite = np.isfinite(w.targets)
    if not finite.any() or not any(d.source == "workload.targets" for d in instance.program.givens):
        return {"queries": queries, "targets": 1.0}
    rows = w.representation[finite] / np.sqrt(w.targets[finite] * finite.sum())[:, None]
    return {
        "queries": queries,
        "targets": queries**2 / (float(np.linalg.norm(rows @ w.basis, "nuc")) ** 2 / w.n),
    }


# A given is scaled where its largest number is as far from one; a smaller part of that counts as 0.
FAR, DUST = 1e3, 1e-12


def units_of(instance: Instance) -> "Units | str":
    """The units of a program at an instance, or the first line that agrees on none (as ``infer_units``).

    A given without a source is a number as it is, or else (limits of a cost, say) has units of its own.
    """
    program = instance.program
    arrays = {p.name for p in program.parameters if p.declared is not None and p.declared.dims}
    numbers = {p.name: float(instance.env[p.name]) for p in program.parameters if p.name not in arrays}
    with_units = instance.passed | arrays
    sizes = {
        d.name: np.abs(instance.env[d.name])
        for d in program.givens
        if d.name in with_units and d.kind != "dim"
    }
    # Solvers drop what is tiny: numbers far apart, with one among them, stay as they are.
    logs = {name: _far_from_one(size) for name, size in sizes.items() if 0 < size.max(initial=0.0) < np.inf}
    reads_workload = any(SOURCE_UNITS.get(d.source) for d in program.givens if d.name not in with_units)
    if not reads_workload and max(map(abs, logs.values()), default=0.0) > np.log(FAR):
        given: dict[str, Degree] = {name: {f"@{name}": 1.0} if name in logs else {} for name in with_units}
        return infer_units(program, given, numbers, logs)
    units = infer_units(program, {name: {} for name in with_units}, numbers)
    if isinstance(units, Units):
        return units
    return infer_units(program, {name: {f"@{name}": 1.0} for name in with_units}, numbers)


def _far_from_one(sizes: Array) -> float:
    """The logarithm of the largest of numbers; 0 where they are far apart, and one is among them."""
    logs = np.log(sizes[sizes > DUST * sizes.max()])
    is_among = logs.max() - logs.min() > 2 * np.log(FAR) and logs.min() < 0 < logs.max()
    return 0.0 if is_among else float(logs.max())


def scale(instance: Instance) -> tuple[Instance, Scaling]:
    """The scaled instance and the way back; factors of one when the units of the program disagree."""
    program = instance.program
    units = units_of(instance)
    if isinstance(units, str):
        one = {d.name: 1.0 for d in program.choose}
        return instance, Scaling(one, {c.name: 1.0 for c in program.constraints}, 1.0, {})
    scales = {**_scales(instance), "numbers": float(np.e)}
    env: dict[str, Any] = dict(instance.env)
    for name, degree in units.givens.items():
        if degree:
            env[name] = env[name] / units.factor(degree, scales)
    lets = {let.name for let in program.lets}
    env = with_lets(instance.checked, {name: value for name, value in env.items() if name not in lets})
    scaled = Instance(instance.checked, instance.workload, MappingProxyType(env), instance.passed)
    objective = units.factor(units.objective, scales)
    variables = {name: units.factor(degree, scales) for name, degree in units.variables.items()}
    lines = {name: objective / units.factor(degree, scales) for name, degree in units.constraints.items()}
    multipliers: dict[str, Any] = dict(lines)
    for c in program.constraints:
        if sides := sides_of_blocks(instance.checked, instance.sizes(), c):
            # A diagonal congruence has scaled the whole: its entries are scaled by the ends of both.
            ends = np.repeat([np.sqrt(lines[f"{c.name}[{i}, {i}]"]) for i in range(len(sides))], sides)
            multipliers[c.name] = np.outer(ends, ends)
    used = {unit for degree in units.givens.values() for unit in degree} - {"numbers"}
    return scaled, Scaling(variables, multipliers, objective, {k: v for k, v in scales.items() if k in used})


#: Powers of the units of a quantity, by name; unknown ones are "?1", "?2" …, or "@X" of a variable X.
#:
#: The unit "numbers" is e: where what is passed is scaled, a power of it is the logarithm of a factor.
Degree = dict[str, float]

# The powers of the queries' scale and of the targets' scale by which sources are multiplied.
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
    "workload.dropped": {},
}


@dataclass(frozen=True)
class Units:
    """Powers of each unit for givens (array parameters too), variables, and the lines.

    A psd block has none: its ends scale differently. Its diagonal blocks do, as ``name[i, i]``.
    """

    givens: Mapping[str, Degree]
    variables: Mapping[str, Degree]
    constraints: Mapping[str, Degree]
    objective: Degree

    def factor(self, degree: Degree, scales: Mapping[str, float]) -> float:
        """The number by which a quantity of this degree is multiplied."""
        return float(np.prod([scales[u] ** power for u, power in degree.items()]))


@dataclass
class _Equations:
    """Linear equations between powers of units: each of ``rows`` is zero, and comes from one of ``lines``.

    values : of parameters, for exponents. passed : givens that have units of their own. names : the degrees
    of names. line : the line that is read.
    """

    values: Mapping[str, float]
    passed: frozenset[str] = frozenset()
    names: dict[str, Degree] = field(default_factory=dict)
    rows: list[Degree] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    line: str = ""
    unknowns: int = 0

    def number(self, expr: Expr) -> Expr | None:
        """The value of a parameter, in an exponent."""
        value = self.values.get(expr.id) if isinstance(expr, Name) else None
        return None if value is None else Number(value, expr.span)

    def unknown(self) -> Degree:
        """A new unknown degree."""
        self.unknowns += 1
        return {f"?{self.unknowns}": 1.0}

    def equal(self, a: Degree, b: Degree) -> None:
        """Enter that two degrees are equal."""
        self.rows.append(_plus(a, (b, -1.0)))
        self.lines.append(self.line)


def _plus(first: Degree, *others: tuple[Degree, float]) -> Degree:
    """The first, and multiples of others: the degree of a product with powers of others."""
    terms = grouped(
        (key, factor * power) for other, factor in ((first, 1.0), *others) for key, power in other.items()
    )
    return {key: power for key, powers in terms.items() if (power := sum(powers))}


def _degree(expr: Expr, eq: _Equations) -> Degree:
    """The degree of an expression; what has to be equal in it is entered in ``eq``.

    LookupError for an atom whose scale is not known.
    """
    match expr:
        case Number(value=value):
            return eq.unknown() if value == 0 else {}
        case Name(id=name):
            return eq.names.get(name, {})
        case Index(base=base):
            return _degree(base, eq)
        case Entries(body=body, where=where):
            for relation in where:  # it compares plain numbers
                for name in names_in(relation.left) | names_in(relation.right):
                    eq.equal(eq.names.get(name, {}), {})
            return _degree(body, eq)
        case Block(rows=rows):
            whole = eq.unknown()
            for entry in [entry for line in rows for entry in line]:
                eq.equal(_degree(entry, eq), whole)
            return whole
        case Apply(atom="pow", args=(a, exponent)):
            if (power := number_of(rewrite(exponent, eq.number))) is None:
                raise LookupError(expr)
            for name in names_in(exponent):
                eq.equal(eq.names.get(name, {}), {})
            return _plus({}, (_degree(a, eq), float(power)))
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
                counts = (names_in(a) for a, power in zip(args, powers, strict=True) if not power)
                for name in eq.passed.intersection(set[str]().union(*counts)):
                    eq.equal(eq.names[name], {})
                # A degree of 0 is not counted: a dimension, or an argument that only picks rows.
                return _plus(
                    {}, *((_degree(a, eq), power) for a, power in zip(args, powers, strict=True) if power)
                )
    raise LookupError(expr)


def _psd_block(block: Block, eq: _Equations) -> list[Degree]:
    """The degrees of the ends of a block that has to be psd: row i of the block is scaled by that of end i.

    A diagonal congruence keeps a matrix psd, so each end scales by itself.
    """
    ends = [eq.unknown() for _ in block.rows]
    for i, line in enumerate(block.rows):
        for j, entry in enumerate(line):
            eq.equal(_degree(entry, eq), _plus(ends[i], (ends[j], 1.0)))
    return ends


def infer_units(
    program: Program,
    sources: Mapping[str, Degree] | None = None,
    parameters: Mapping[str, float] | None = None,
    logs: Mapping[str, float] | None = None,
) -> Units | str:
    """The powers, or the first line (a name, or "objective") that contradicts those before it.

    An atom whose scale is not known counts as a contradiction. ``sources`` gives the degree of givens by name
    where the caller passed them, ``parameters`` their values, which may stand as exponents. ``logs``: of the
    sizes of givens, for the nearest units "numbers"; no lines contradict then.
    """
    eq = _Equations(dict(parameters or {}), frozenset(logs or ()))
    try:
        given, chosen, constraints, objective = _read(program, sources or {}, eq)
    except LookupError:
        return eq.line
    solved = _solve(eq.rows) if logs is None else _nearest(eq.rows, logs)
    if solved is None:
        return next(eq.lines[k] for k in range(len(eq.rows)) if _solve(eq.rows[: k + 1]) is None)

    def filled(degree: Degree) -> Degree:
        """The degree with its unknowns solved for."""
        return _plus({}, *((solved(key), power) for key, power in degree.items()))

    givens, variables, lines = (
        {name: filled(degree) for name, degree in degrees.items()} for degrees in (given, chosen, constraints)
    )
    return Units(givens, variables, lines, filled(objective))


def _read(
    program: Program, sources: Mapping[str, Degree], eq: _Equations
) -> tuple[dict[str, Degree], dict[str, Degree], dict[str, Degree], Degree]:
    """Degrees of givens, variables, constraints and the objective, with their equations in ``eq``."""
    eq.names.update({d.name: dict(SOURCE_UNITS.get(d.source, {})) for d in program.givens})
    eq.names.update(sources)
    given = dict(eq.names)
    chosen = {d.name: {f"@{d.name}": 1.0} for d in program.choose}
    for let in program.lets:
        eq.line = let.name
        eq.names[let.name] = _degree(let.expr, eq)
    eq.names.update(chosen)
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
                constraints[f"{c.name}[{i}, {i}]"] = _plus({}, (end, 2.0))
            continue
        constraints[c.name] = _degree(left, eq)
        eq.equal(constraints[c.name], _degree(right, eq))
    return given, chosen, constraints, objective


def _solve(rows: list[Degree]) -> Callable[[str], Degree] | None:
    """The degree of each unknown (marked ? or @) in the units, by name; None if the rows contradict."""
    keys = sorted({k for row in rows for k in row})
    unknown = [k for k in keys if k[0] in "?@"]
    units = [k for k in keys if k[0] not in "?@"]
    a, b = (np.array([[row.get(k, 0.0) for k in group] for row in rows]) for group in (unknown, units))
    z = np.linalg.lstsq(a, -b, rcond=None)[0] if rows and unknown else np.zeros((len(unknown), len(units)))
    if rows and np.abs(a @ z + b).max(initial=0.0) > 1e-9:
        return None
    table = {
        k: {u: float(np.round(p, 9)) for u, p in zip(units, line, strict=True) if abs(p) > 1e-9}
        for k, line in zip(unknown, z, strict=True)
    }
    return lambda key: table.get(key, {}) if key[0] in "?@" else {key: 1.0}


def _nearest(rows: list[Degree], logs: Mapping[str, float]) -> Callable[[str], Degree]:
    """Powers of "numbers" that solve all rows, nearest to the logarithms of sizes by name, and small."""
    keys = sorted({f"@{name}" for name in logs}.union(*rows))
    free = null_space(np.array([[row.get(k, 0.0) for k in keys] for row in [{}, *rows]]))
    at = [keys.index(f"@{name}") for name in logs]
    powers = dict(
        zip(keys, free @ np.linalg.lstsq(free[at], list(logs.values()), rcond=None)[0], strict=True)
    )
    return lambda key: {"numbers": float(powers[key])} if key in powers else {}
