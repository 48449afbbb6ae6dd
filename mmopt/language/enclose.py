"""Evaluate an expression with a proved error bound (see ``balls``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from mmopt.errors import ProgramError
from mmopt.language import balls, by_component
from mmopt.language.atoms import ATOMS
from mmopt.language.balls import Ball
from mmopt.language.evaluate import Env, entry, evaluate, inverse_at, is_row
from mmopt.language.inverse_balls import sandwich, sandwich_diagonal
from mmopt.language.nuclear_ball import GUESS, nuclear
from mmopt.language.products import is_identity
from mmopt.language.tree import Apply, Block, Expr, Index, Name, Number, chain

__all__ = ["evaluate_ball"]

# Rows taken at a time where only the diagonal of a product is asked for.
HEIGHT = 512


@dataclass(frozen=True)
class _Scaling:
    """A diagonal matrix by its diagonal (see ``products``)."""

    entries: Ball


def evaluate_ball(expr: Expr, env: Env) -> Ball:
    """The value with its error bound; names count as exact.

    ``env`` may hold what is nearly the polar factor of a nuclear norm (``nuclear_ball.GUESS``).

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
            inner = _ball(base, env)
            return Ball(np.asarray(entry(inner.mid, expr, env)), np.asarray(entry(inner.rad, expr, env)))
        case Block(rows=rows):
            return balls.block([[(_ball(e, env), is_row(e, env)) for e in row] for row in rows])
        case Apply(atom="diag" | "trace", args=(Apply(atom="matmul"),)):
            return _diagonal(expr, env)
        case Apply(atom="matmul"):
            return _whole(_product(expr, env))
        case Apply(atom="nuclear", args=(inner,)) if GUESS in env:
            return nuclear(_ball(inner, env), env[GUESS])
        case _:
            pass
    assert isinstance(expr, Apply)
    atom = ATOMS[expr.atom]
    if atom.ball is None:
        raise ProgramError(f"'{expr.atom}' has no error bound", hint="move it into 'let'")
    if atom.takes_dim:
        return atom.ball(evaluate(expr.args[0], env))
    return atom.ball(*(_ball(a, env) for a in expr.args), **dict(expr.options))


def _factor(expr: Expr, env: Env) -> Ball | _Scaling:
    """A factor of a product, or a product."""
    match expr:
        case Apply(atom="matmul"):
            return _product(expr, env)
        case Apply(atom="diag", args=(inner,)) if not (isinstance(inner, Apply) and inner.atom == "matmul"):
            value = _ball(inner, env)
            return _Scaling(value) if value.mid.ndim == 1 else balls.diag(value)
        case _:
            return _ball(expr, env)


def _times(left: Ball | _Scaling, right: Ball | _Scaling) -> Ball | _Scaling:
    """The matrix product."""
    if isinstance(left, _Scaling):
        if isinstance(right, _Scaling):
            return _Scaling(balls.mul(left.entries, right.entries))
        return balls.mul(left.entries if right.mid.ndim == 1 else _column(left.entries), right)
    if isinstance(right, _Scaling):
        return balls.mul(left, right.entries)
    if left.mid.ndim == right.mid.ndim == 2:
        if right.is_exact and is_identity(right.mid):
            return left
        if left.is_exact and is_identity(left.mid):
            return right
    return balls.matmul(left, right)


def _column(a: Ball) -> Ball:
    return Ball(a.mid[:, None], a.rad[:, None])


def _whole(a: Ball | _Scaling) -> Ball:
    return balls.diag(a.entries) if isinstance(a, _Scaling) else a


def _product(expr: Apply, env: Env) -> Ball | _Scaling:
    """A product; around one inverse it is solved."""
    factors = chain(expr)
    at = inverse_at(factors)
    if at is not None and 0 < at < len(factors) - 1:
        return sandwich(*_around(factors, at, env))
    return _times(_factor(expr.args[0], env), _factor(expr.args[1], env))


def _diagonal(expr: Apply, env: Env) -> Ball:
    """``diag`` or ``trace`` of a product; of matrices without forming the product."""
    product = expr.args[0]
    assert isinstance(product, Apply)
    factors = chain(product)
    at = inverse_at(factors)
    left: Ball | _Scaling
    right: Ball | _Scaling
    if at is not None and 0 < at < len(factors) - 1:
        left, matrix, right = _around(factors, at, env)
        if left.mid.ndim == right.mid.ndim == 2:
            entries = sandwich_diagonal(left, matrix, right)
            return entries if expr.atom == "diag" else balls.total(entries)
        whole = sandwich(left, matrix, right)
    else:
        left, right = (_factor(a, env) for a in product.args)
        if isinstance(left, Ball) and isinstance(right, Ball) and left.mid.ndim == right.mid.ndim == 2:
            entries = _diagonal_of_product(left, right)
            return entries if expr.atom == "diag" else balls.total(entries)
        whole = _whole(_times(left, right))
    return balls.diag(whole) if expr.atom == "diag" else balls.trace(whole)


def _around(factors: list[Expr], at: int, env: Env) -> tuple[Ball, Ball, Ball]:
    """What stands before the inverse, the matrix that is inverted, and what stands behind."""
    inverse = factors[at]
    assert isinstance(inverse, Apply)
    left, right = (
        _whole(reduce(_times, (_factor(f, env) for f in side))) for side in (factors[:at], factors[at + 1 :])
    )
    return left, _ball(inverse.args[0], env), right


def _diagonal_of_product(left: Ball, right: Ball) -> Ball:
    turned = balls.transpose(right)
    found = []
    for start in range(0, len(left.mid), HEIGHT):
        here = slice(start, start + HEIGHT)
        a, b = (Ball(side.mid[here], side.rad[here]) for side in (left, turned))
        found.append(balls.total(balls.mul(a, b), axis=1))
    return Ball(np.concatenate([b.mid for b in found]), np.concatenate([b.rad for b in found]))
