"""Values of the lines of a program at a point, at fifty digits: its tree is read, and nothing else of mmopt.

Atoms mean what ``language/atom_cases.py`` says. Values are arb or object arrays of these.
"""

import operator
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from flint import arb, arb_mat

from mmopt.language.syntax.program import Program
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Block,
    Constraint,
    Entries,
    Expr,
    Index,
    Name,
    Number,
    Relation,
)
from tests.language.atom_cases import MEANINGS, arbs

Env = Mapping[str, Any]


def value(expr: Expr, env: Env) -> Any:
    """The value of an expression; ``env`` has floats or arrays for every name."""
    match expr:
        case Number(value=number):
            return arb(number)
        case Name(id=name):
            return arbs(env[name])
        case Index(base=base, items=items):
            at = tuple(slice(None) if i is None else int(float(value(i, env))) for i in items)
            return value(base, env)[at]
        case Block(rows=rows):
            whole = np.block([[_part(e, env) for e in row] for row in rows])
            entries = [e for row in rows for e in row]
            is_column = len(entries) == len(rows) > 1 and not any(_lies(e) for e in entries)
            return whole[:, 0] if is_column and all(np.ndim(value(e, env)) < 2 for e in entries) else whole
        case Entries():
            return _array(expr, env)
    assert isinstance(expr, Apply)
    if expr.atom == "pow":
        base, exponent = expr.args[0], float(value(expr.args[1], env))
        return MEANINGS["pow"](value(base, env), exponent)
    return MEANINGS[expr.atom](*(value(a, env) for a in expr.args), **dict(expr.options))


HOLDS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq}
HOLDS["!="] = operator.ne


def _array(expr: Entries, env: Env) -> Any:
    """The numbers for all indices, 0 where a condition fails."""
    shape = tuple(f.dim.value({k: v for k, v in env.items() if isinstance(v, int)}) for f in expr.families)
    found = np.full(shape, arb(0), dtype=object)

    def holds(r: Relation, inner: Env) -> bool:
        return bool(HOLDS[r.op](float(value(r.left, inner)), float(value(r.right, inner))))

    for at in np.ndindex(shape):
        inner = {**env, **{f.index: float(i) for f, i in zip(expr.families, at, strict=True)}}
        if all(holds(r, inner) for r in expr.where):
            found[at] = value(expr.body, inner)
    return found


def _lies(expr: Expr) -> bool:
    """Whether a vector is written as a row."""
    match expr:
        case Apply(atom="transpose", args=(inner,)):
            return not _lies(inner)
        case Index(items=(first, _)):
            return first is not None
        case _:
            return False


def _part(expr: Expr, env: Env) -> Any:
    found = np.asarray(value(expr, env), dtype=object)
    if found.ndim == 1:
        return found.reshape(1, -1) if _lies(expr) else found.reshape(-1, 1)
    return found.reshape(1, 1) if found.ndim == 0 else found


def _entries(difference: Any) -> list[arb]:
    return list(np.asarray(difference, dtype=object).ravel())


def lines_of(
    program: Program, env: Env, sizes: Mapping[str, int]
) -> Iterator[tuple[str, list[arb] | arb_mat]]:
    """Each line by its name: numbers that should be >= 0, or a matrix that should be psd."""
    for c in program.constraints:
        count = 1 if c.family is None else c.family.dim.value(sizes)
        for i in range(count):
            inner = env if c.family is None else {**env, c.family.index: float(i)}
            yield from _line(c, inner)


def _line(c: Constraint, env: Env) -> Iterator[tuple[str, list[arb] | arb_mat]]:
    r = c.relation
    left, right = value(r.left, env), value(r.right, env)
    large, small = (left, right) if r.op in (">=", ">>") else (right, left)
    if r.op in (">>", "<<"):
        zeros = np.zeros(np.shape(large if np.ndim(large) else small))
        matrix = (large if np.ndim(large) else arbs(zeros)) - (small if np.ndim(small) else arbs(zeros))
        yield c.name, arb_mat([list(row) for row in matrix])
    else:
        yield c.name, _entries(large - small)
        if r.op == "==":
            yield c.name, _entries(small - large)


def objective_of(program: Program, env: Env) -> arb:
    """The minimised objective, or minus the maximised one."""
    assert program.objective is not None
    found = value(program.objective, env)
    return found if program.sense == "minimize" else -found
