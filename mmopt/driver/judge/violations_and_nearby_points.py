"""Constraints that a point misses, by how much, and nearby points that keep them.

A point is made to keep its declarations (``as_declared``); a ``Violation`` says which line it misses, where
and by how much. Near a point that misses lines of a user's program by little, ``nearby_points`` gives points
at which they hold, by Newton's step: the least move by which the missed lines hold to first order. They are
judged like any other point.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.language import (
    ATOMS,
    AXES,
    PARTIAL,
    Apply,
    Constraint,
    Declaration,
    Expr,
    Memo,
    Program,
    Tape,
    mentions,
    names_in,
    psd_deficit,
    splits,
    to_source,
    together_at,
    undefined,
    undefined_in,
    walk,
    worst,
)
from mmopt.numerics import (
    EIGENVALUE_FLOOR,
    EPS,
    Array,
    Split,
    arrays_of,
    as_value,
    asymmetry,
    each_array,
    floored,
    is_definite,
    is_finite,
    is_structured,
    psd_floor,
    symmetric_part,
)
from mmopt.workloads.domain import cell_label, join

MOST_SHOWN_MISS = 1e100  # a larger one is a division by next to nothing
SYMMETRIC = ("psd", "symmetric")  # kinds of square matrices that are equal to their transpose
# Relative to the largest entry: a given point may be so far from symmetric by rounding.
ROUNDED_APART = 1e-8
# These are not defined for a singular matrix, or have no slope there.
NEED_NONSINGULAR = frozenset({"inv", "root", "logdet", "factor"})
# Times the rows (plus 4) and the trace: an eigenvalue that Cholesky's algorithm proves to be positive.
SEMIDEFINITE_FLOOR = 8 * EPS


def _axis(instance: Instance, c: Constraint) -> str:
    """The thing that the rows of a constraint are, by the source of the first given of their number.

    Rows are those of its family, or the entries of its sides.
    """
    dim = (
        next((t.dims[0] for t in instance.checked.constraints[c.name] if t.is_vector), None)
        if c.family is None
        else c.family.dim
    )
    axes = (
        pair
        for d in instance.program.givens
        if d.name not in instance.passed
        for pair in zip(AXES.get(d.source, ()), d.dims, strict=False)
    )
    return next((axis for axis, given_dim in axes if given_dim == dim), "")


def _label(instance: Instance, axis: str, i: int) -> tuple[str, str]:
    """A noun and the label of one row: ("query", "'age < 25'"), ("cell", "3"), ("entry", "3")."""
    workload = instance.workload
    if axis in ("query", "query with a target"):
        labels = workload.labels()
        i = i if axis == "query" else int(np.flatnonzero(np.isfinite(workload.targets))[i])
        return "query", str(i) if labels[i] == f"query {i}" else f"'{labels[i]}'"
    if axis == "cell":
        domain = workload.domain
        if domain.names == ("cell",):
            return "cell", domain.cell(i)[0]
        pairs = zip(domain.attributes, np.unravel_index(i, domain.shape), strict=True)
        return "cell", f"'{join(tuple(cell_label(a, int(code)) for a, code in pairs))}'"
    return "entry", str(i)


def place(instance: Instance, c: Constraint, entry: tuple[int, ...]) -> str:
    """One entry: " for j = 3 (query 'total')", " (cell 3)", " at entry 3, 1"; nothing for a number.

    By component it is an orbit of cells or queries: " at orbit 3".
    """
    if not entry:
        return ""
    if splits(instance.env):
        return f" at orbit {entry[0]}"
    noun, label = _label(instance, _axis(instance, c), entry[0])
    words = f" ({noun} {label})" if noun != "entry" else ""
    inner = entry[1:] if c.family is not None or words else entry
    text = f" for {c.family.index} = {entry[0]}" if c.family is not None else ""
    return text + (f" at entry {', '.join(map(str, inner))}" if inner else "") + words


@dataclass(frozen=True)
class Violation:
    """The violation of one line of a program at a point.

    name : of the constraint; of the variable for its declaration.
    kind : "constraint", "sign" or "psd".
    amount : the part by which each term of the line has to change for it to hold, 0 where it does.
    entry : where it is: the index of the family, then the entry; () for a number or a matrix inequality.
    undefined : the part of the line that has no value there, in words.
    """

    name: str
    kind: str
    amount: float
    entry: tuple[int, ...] = ()
    undefined: str = ""

    def text(self, instance: Instance) -> str:
        """The line in words, with the label of the query or cell."""
        if self.kind == "constraint":
            c = next(c for c in instance.program.constraints if c.name == self.name)
            return f"constraint '{self.name}'{place(instance, c, self.entry)}"
        d = next(d for d in instance.program.choose if d.name == self.name)
        return f"'{self.name}', declared {f'{d.sign} 0' if self.kind == 'sign' else 'psd'},"

    def missed(self, instance: Instance, amount: str = "") -> str:
        """A clause on the miss; ``amount``: its size, in digits."""
        if not np.isfinite(self.amount):
            part = f": {self.undefined}" if self.undefined else ""
            return f"gives {self.text(instance)} no finite value{part}"
        if self.amount > MOST_SHOWN_MISS:
            return f"violates {self.text(instance)}, whose terms are too near 0 for a relative measure"
        return f"violates {self.text(instance)} by {amount or f'{self.amount:.1e}'}, relatively"


def violations(instance: Instance, point: Mapping[str, Any], memo: Memo | None = None) -> list[Violation]:
    """Every constraint and every declaration at a point, the worst first.

    Parameters
    ----------
    point : values by name for the chosen variables; other names are taken from the instance.
    memo : of earlier evaluations for this program.

    Raises
    ------
    numpy.linalg.LinAlgError : a matrix without eigenvalues (entries that are not finite).
    """
    env = {**instance.env, **point}
    with np.errstate(all="ignore"):
        lines = [_line_violation(instance, c, env, memo) for c in instance.program.constraints]
    for d in instance.program.choose:
        value = as_value(env[d.name])
        if d.kind == "psd" and is_finite(value):
            lines.append(Violation(d.name, "psd", _negative_eigenvalue(arrays_of(value))))
        elif d.sign and not isinstance(value, Split):
            lines.append(_negative_entry(d, *arrays_of(value)))
    return sorted(lines, key=lambda v: -v.amount)


def _line_violation(
    instance: Instance, c: Constraint, env: Mapping[str, Any], memo: Memo | None
) -> Violation:
    if words := undefined_part(instance, env, c):
        return Violation(c.name, "constraint", np.inf, (), words)
    return Violation(
        c.name, "constraint", *worst(c, env, frozenset(d.name for d in instance.program.choose), memo)
    )


def undefined_part(instance: Instance, env: Mapping[str, Any], c: Constraint | None = None) -> str:
    """The part of a line, or of the objective, without a value at a point, in words; "" if there is none."""
    sides = (instance.program.objective,) if c is None else (c.relation.left, c.relation.right)
    # Whether an atom has no value at some numbers.
    if not any(isinstance(part, Apply) and part.atom in PARTIAL for side in sides for part in walk(side)):
        return ""
    chosen = {d.name for d in instance.program.choose}
    first = undefined(sides[0], env, chosen) if c is None else undefined_in(c, env, chosen)
    if first is None:
        return ""
    at = f" at entry {', '.join(map(str, first[1]))}" if first[1] else ""
    return f"'{to_source(first[0])}' has none{at}"


def asymmetric(instance: Instance, point: Mapping[str, Any]) -> str:
    """In words, a variable that is declared symmetric and is not, and where; "" if there is none.

    Rounding does not count: the symmetric part is used.
    """
    offs = (
        (d, asymmetry(part, ROUNDED_APART))
        for d in instance.program.choose
        if d.kind in SYMMETRIC
        for part in arrays_of(point[d.name])
    )
    return next((f"'{d.name}' is declared {d.kind} and {off}" for d, off in offs if off), "")


def worst_line(
    instance: Instance, point: Mapping[str, Any], names: Collection[str] | None = None
) -> Violation | None:
    """The line (of those named) that a point misses the most; None when it keeps all, or is no point."""
    try:
        lines = violations(instance, point)
    except np.linalg.LinAlgError:
        return None
    return next((v for v in lines if v.amount > 0 and (names is None or v.name in names)), None)


def _negative_eigenvalue(parts: Sequence[Array]) -> float:
    """The part by which matrices miss being psd, relative to their diagonals; 0 where all are definite."""
    symmetric = [symmetric_part(part) for part in parts]
    return (
        0.0
        if all(map(is_definite, symmetric))
        else psd_deficit(symmetric, [np.abs(np.diagonal(part)) for part in symmetric])
    )


def _negative_entry(d: Declaration, value: np.ndarray[Any, Any]) -> Violation:
    """The violation of a declared sign: 1, all of the entry, at the least one."""
    if not np.isfinite(value).all():
        return Violation(d.name, "sign", float("inf"))
    if value.size == 0 or not (value <= 0.0 if d.sign == ">" else value < 0.0).any():
        return Violation(d.name, "sign", 0.0)
    return Violation(
        d.name, "sign", 1.0, tuple(int(i) for i in np.unravel_index(int(np.argmin(value)), value.shape))
    )


def as_declared(d: Declaration, value: Any, program: Program) -> Any:
    """The value made to keep its declaration: symmetric, psd, or clipped to its sign.

    Psd matrices that the program inverts, and ``> 0``, get a floor relative to their largest eigenvalue or
    entry; its cost shows in the objective. Others are clipped: a floor would miss ``diag(X) == 1``.
    """
    if d.kind == "psd":
        if isinstance(value, Split) or is_inverted(d.name, program):
            return floored(value)
        return psd_floor(
            value,
            max(float(np.trace(value)), 0.0)
            * min(SEMIDEFINITE_FLOOR * (len(value) + 4) / EIGENVALUE_FLOOR, 1.0),
        )
    if isinstance(value, Split):
        return value
    if d.kind == "symmetric":
        return np.asarray((value + value.T) / 2)
    return each_array(value, partial(_clipped_to_sign, d)) if d.sign else value


def is_inverted(name: str, program: Program) -> bool:
    """Whether a program needs a nonsingular matrix here, or has a repair, which may invert it."""
    written: list[Expr | None] = [program.objective]
    written += [] if program.meaning.kind == "none" else [program.meaning.expr]
    written += [side for c in program.constraints for side in (c.relation.left, c.relation.right)]
    return bool(program.repair) or any(
        isinstance(part, Apply) and part.atom in NEED_NONSINGULAR and mentions(part, name)
        for expr in written
        for part in (walk(expr) if expr is not None else ())
    )


def _clipped_to_sign(d: Declaration, value: Array) -> Array:
    """The value with entries of the wrong sign at 0; for ``> 0`` at a small part of the largest entry."""
    floor = EIGENVALUE_FLOOR * (float(np.max(value, initial=0.0)) or 1.0) if d.sign == ">" else 0.0
    return np.asarray(np.maximum(value, floor))


RANGE_IF_MISSED = {
    "==": (-np.inf, np.inf),
    "<=": (0.0, np.inf),
    ">=": (-np.inf, 0.0),
}  # range of left - right if missed
# An entry may be moved by this part of its variable, or of one where that is smaller
MOST_MOVED_ENTRY = 1e-4
# So small a part may be meant as zero, the least first: what is meant may be small itself.
DUST = (1e-12, 1e-8, MOST_MOVED_ENTRY)
MOST_NEWTON_STEPS = 6
MOST_TAPES = 500  # of a family that has no form for all indices at once
MOST_DERIVATIVES = 10**6  # entries of the matrix of a step
# A step aims this far beyond an inequality: a part of its miss, and for each number in it a part of the size
# of its terms, so that it holds after rounding.
INSIDE, ROUNDED = 1e-3, 4 * EPS


def nearby_points(instance: Instance, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Points nearby at which missed lines may hold, of arrays that are finite and not by component.

    After the steps, tiny entries are set to zero: sides that are both zero are equal, tiny ones may differ.
    """
    if any(is_structured(v) or not np.isfinite(v).all() for v in values.values()):
        return
    yield from (_without_dust(pulled, EPS) for pulled in _newton_points(instance, values))
    yield from (_without_dust(values, part) for part in DUST)


def _without_dust(values: Mapping[str, Any], dust: float) -> dict[str, Any]:
    """The values, with entries of at most this part of their variable's size at 0."""
    return {n: np.where(np.abs(v) <= dust * _size(v), 0.0, v) for n, v in values.items()}


def _size(value: Array) -> float:
    """The largest entry of a variable, or 1 where that is more."""
    return max(1.0, float(np.abs(value).max(initial=0.0)))


def _newton_points(instance: Instance, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The points after each step towards one at which all lines hold, while they are near.

    A line that was missed once is held from then on; variables with a sign move in proportion to entries.
    """
    kinds, tapes = {d.name: d for d in instance.program.choose}, list(_recorded_lines(instance, values))
    point = {n: np.asarray(v, dtype=float) for n, v in values.items()}
    weights = {
        n: np.abs(v) if kinds[n].sign and v.any() else np.full(v.shape, _size(v)) for n, v in point.items()
    }
    aims: dict[tuple[int, int], float] = {}  # by line and entry: how far beyond it a step aims
    for _ in range(MOST_NEWTON_STEPS):
        rows, over = [], []
        for number, (op, tape) in enumerate(tapes):
            value, pull = tape.run(point)
            flat = np.ravel(value)
            missed = np.abs(np.clip(flat, *RANGE_IF_MISSED[op]))
            for at in np.flatnonzero(missed).tolist():
                aims.setdefault((number, at), 0.0 if op == "==" else INSIDE * float(missed[at]))
            sign = -1.0 if op == ">=" else 1.0
            for at in sorted(at for line, at in aims if line == number):
                if len(aims) * sum(v.size for v in point.values()) > MOST_DERIVATIVES:
                    return
                more = pull(np.reshape(sign * np.eye(1, flat.size, at), np.shape(value)))
                each = [
                    np.ravel(weights[n] * more[n]) if n in more else np.zeros(v.size)
                    for n, v in point.items()
                ]
                rows.append(np.concatenate(each))
                beyond = sign * float(flat[at]) + aims[number, at]
                if op != "==":
                    beyond += ROUNDED * len(rows[-1]) * float(np.abs(rows[-1]).sum())
                over.append(beyond if op == "==" else max(beyond, 0.0))
        matrix = np.array(rows)
        if not (any(over) and np.isfinite(matrix).all() and np.isfinite(over).all()):
            return
        sizes = np.maximum(np.abs(matrix).max(axis=1), EPS)
        step = np.linalg.lstsq(matrix / sizes[:, None], np.array(over) / sizes)[0]
        ends = np.cumsum([v.size for v in point.values()])[:-1]
        for (n, v), part in zip(list(point.items()), np.split(step, ends), strict=True):
            moved = v - weights[n] * np.reshape(part, v.shape)
            point[n] = np.maximum(moved, 0.0) if kinds[n].sign else moved
        if any(
            np.abs(point[n] - values[n]).max(initial=0.0) > MOST_MOVED_ENTRY * _size(values[n]) for n in point
        ):
            return
        yield dict(point)


def _recorded_lines(instance: Instance, values: Mapping[str, Any]) -> Iterator[tuple[str, Tape]]:
    """Left minus right of every line of numbers that has derivatives; one for each index of a family."""
    env, chosen = {**instance.env, **values}, list(values)
    for c in instance.program.constraints:
        written = Apply("sub", (c.relation.left, c.relation.right), c.span)
        parts = (part for part in walk(written) if not names_in(part).isdisjoint(chosen))
        atoms = {part.atom for part in parts if isinstance(part, Apply)}
        if c.relation.op not in RANGE_IF_MISSED or any(ATOMS[atom].gradient is None for atom in atoms):
            continue
        if c.family is None:
            yield c.relation.op, Tape(written, env, chosen)
            continue
        whole, count = together_at(c, env), c.family.dim.value(env)
        if whole is not None:
            yield c.relation.op, Tape(Apply("sub", (whole[0].left, whole[0].right), c.span), env, chosen)
        elif count <= MOST_TAPES:
            indices = ({c.family.index: i} for i in range(count))
            yield from ((c.relation.op, Tape(written, {**env, **index}, chosen)) for index in indices)
