"""Evaluate an expression with numbers: plainly in numpy, or with a proved error bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mmopt.errors import ProgramError
from mmopt.language import balls, by_component, numeric
from mmopt.language.atoms import ATOMS
from mmopt.language.balls import Ball
from mmopt.language.families import ENTRYWISE
from mmopt.language.rank import is_rank, rank_residual
from mmopt.language.tree import Apply, Block, Constraint, Expr, Index, Name, Number, chain

__all__ = ["ENTRYWISE", "Env", "evaluate", "evaluate_ball", "excess", "is_row", "violation", "worst"]

Env = Mapping[str, Any]


def is_row(expr: Expr, env: Env) -> bool:
    """Whether a vector expression lies: a slice ``W[j, :]``, the transpose of a column (as the rules say)."""
    match expr:
        case Index(base=base, items=(None,)):
            return is_row(base, env)
        case Index(items=(first, _)):
            return first is not None
        case Apply(atom="transpose", args=(inner,)):
            return not is_row(inner, env)
        case Apply(atom="matmul", args=(_, right)):
            return np.ndim(evaluate(right, env)) == 2
        case Apply(atom=atom, args=args) if atom in ENTRYWISE:
            return any(is_row(a, env) for a in args)
        case _:
            return False


def _index(value: Any, expr: Index, env: Env) -> Any:
    items = tuple(slice(None) if i is None else int(evaluate(i, env)) for i in expr.items)
    return value[items]


def _inverse_at(factors: list[Expr]) -> int | None:
    at = [i for i, f in enumerate(factors) if isinstance(f, Apply) and f.atom == "inv"]
    return at[0] if len(at) == 1 else None


def evaluate(expr: Expr, env: Env) -> Any:
    """The value of an expression as a float or an array.

    ``env`` holds arrays for names and whole numbers for dimensions. A product around one ``inv`` is
    solved, never inverted, so that the closed convex extension holds (see ``numeric.solve``). With values
    that split into components (``mmopt.components``) in ``env`` see ``by_component``.
    """
    # 1 / 0 is infinite and 0 / 0 no number, without a warning: both are seen in the result.
    with np.errstate(all="ignore"):
        return by_component.plainly(expr, env) if by_component.splits(env) else _value(expr, env)


def _value(expr: Expr, env: Env) -> Any:
    match expr:
        case Number(value=value):
            return value
        case Name(id=name):
            return env[name]
        case Index(base=base):
            return _index(evaluate(base, env), expr, env)
        case Block(rows=rows):
            return numeric.block([[(evaluate(e, env), is_row(e, env)) for e in row] for row in rows])
        case Apply(atom="matmul"):
            factors = chain(expr)
            at = _inverse_at(factors)
            if at is not None:
                return _solved(factors, at, env)
        case _:
            pass
    assert isinstance(expr, Apply)
    args = [evaluate(a, env) for a in expr.args]
    return ATOMS[expr.atom].numpy(*args, **dict(expr.options))


def _product(factors: list[Expr], env: Env) -> Any:
    value = evaluate(factors[0], env)
    for f in factors[1:]:
        value = value @ evaluate(f, env)
    return value


def _solved(factors: list[Expr], at: int, env: Env) -> Any:
    inverse = factors[at]
    assert isinstance(inverse, Apply)
    matrix = evaluate(inverse.args[0], env)
    if at + 1 < len(factors):
        right = numeric.solve(matrix, _product(factors[at + 1 :], env))
        left = _product(factors[:at], env) if at else None
        if left is None or not np.isfinite(right).all():
            return right if left is None else np.full(np.shape(left @ np.zeros_like(right)), np.inf)
        return left @ right
    return numeric.solve(matrix.T, _product(factors[:at], env).T).T


def evaluate_ball(expr: Expr, env: Env) -> Ball:
    """The value with its error bound; names count as exact.

    Raises :class:`~mmopt.errors.ProgramError` for an atom that only prepares data (it has no error
    bound, so it belongs into ``let``, which is evaluated once).
    """
    with np.errstate(all="ignore"):
        return by_component.with_bound(expr, env) if by_component.splits(env) else _ball(expr, env)


def _ball(expr: Expr, env: Env) -> Ball:
    match expr:
        case Number(value=value):
            return balls.exact(value)
        case Name(id=name):
            return balls.exact(env[name])
        case Index(base=base):
            inner = evaluate_ball(base, env)
            return Ball(np.asarray(_index(inner.mid, expr, env)), np.asarray(_index(inner.rad, expr, env)))
        case Block(rows=rows):
            read = [[(evaluate_ball(e, env), is_row(e, env)) for e in row] for row in rows]
            return balls.block(read)
        case Apply(atom="matmul"):
            factors = chain(expr)
            at = _inverse_at(factors)
            if at is not None and 0 < at < len(factors) - 1:
                return _sandwich(factors, at, env)
        case _:
            pass
    assert isinstance(expr, Apply)
    atom = ATOMS[expr.atom]
    if atom.ball is None:
        raise ProgramError(f"'{expr.atom}' has no error bound", hint="move it into 'let'")
    if atom.takes_dim:
        return atom.ball(evaluate(expr.args[0], env))
    return atom.ball(*(evaluate_ball(a, env) for a in expr.args), **dict(expr.options))


def _ball_product(factors: list[Expr], env: Env) -> Ball:
    value = evaluate_ball(factors[0], env)
    for f in factors[1:]:
        value = balls.matmul(value, evaluate_ball(f, env))
    return value


def _sandwich(factors: list[Expr], at: int, env: Env) -> Ball:
    inverse = factors[at]
    assert isinstance(inverse, Apply)
    matrix = evaluate_ball(inverse.args[0], env)
    return balls.sandwich(_ball_product(factors[:at], env), matrix, _ball_product(factors[at + 1 :], env))


def violation(constraint: Constraint, env: Env) -> float:
    """By how much a constraint is violated, relative to the size of its sides; 0 when it holds.

    For ``>>`` it is the most negative eigenvalue of the difference, for a rank the first singular value
    beyond it.
    """
    return max(worst(constraint, env)[0], 0.0)


def worst(constraint: Constraint, env: Env) -> tuple[float, tuple[int, ...]]:
    """The violation where it is largest, and where: the index of the family, then the entry.

    A negative violation is what is to spare. Scalar and psd relations have no entry.
    """
    found: tuple[float, tuple[int, ...]] = (-np.inf, ())
    for amount, size, entry in _offs(constraint, env):
        found = max(found, (amount / size, entry), key=lambda pair: pair[0])
    return found


def excess(constraint: Constraint, env: Env) -> float:
    """By how much a constraint is violated where that is most, in the units of its sides; 0 when it holds."""
    return max(0.0, *(amount for amount, _, _ in _offs(constraint, env)))


def _offs(constraint: Constraint, env: Env) -> Iterator[tuple[float, float, tuple[int, ...]]]:
    """The largest violation of each relation, the size of its sides, and where."""
    if by_component.splits(env):
        yield from by_component.offs(constraint, env)
        return
    for place, inner in _each(constraint, env):
        amount, size, entry = _off(constraint, inner)
        yield amount, size, (*place, *entry)


def _each(constraint: Constraint, env: Env) -> Iterator[tuple[tuple[int, ...], Env]]:
    """The environment of each relation of a family, with its index; one without an index otherwise."""
    if constraint.family is None:
        yield (), env
        return
    for index in range(constraint.family.dim.value(env)):
        yield (index,), {**env, constraint.family.index: index}


def _off(constraint: Constraint, env: Env) -> tuple[float, float, tuple[int, ...]]:
    """The largest violation (negative: to spare), the size of the sides, and where."""
    relation = constraint.relation
    if is_rank(constraint):
        assert isinstance(relation.left, Apply)
        matrix = np.asarray(evaluate(relation.left.args[0], env), dtype=float)
        rank = int(evaluate(relation.right, env))
        return (rank_residual(matrix, rank) if np.isfinite(matrix).all() else float("inf")), 1.0, ()
    left = np.asarray(evaluate(relation.left, env), dtype=float)
    right = np.asarray(evaluate(relation.right, env), dtype=float)
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return float("inf"), 1.0, ()
    scale = max(float(np.abs(left).max(initial=0.0)), float(np.abs(right).max(initial=0.0)), 1e-300)
    if relation.op in ("<<", ">>"):
        gap = (left - right if relation.op == ">>" else right - left) * np.ones(left.shape)
        return -float(numeric.eigh(gap)[0][0]), scale, ()
    over = left - right if relation.op == "<=" else right - left
    if relation.op == "==":
        over = np.abs(over)
    if over.size == 0:
        return 0.0, scale, ()
    at = np.unravel_index(int(np.argmax(over)), over.shape)
    return float(over[at]), scale, tuple(int(i) for i in at)
