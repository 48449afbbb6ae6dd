"""Evaluate an expression with a proved error bound (see ``balls``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from mmopt.errors import ProgramError
from mmopt.language.atoms.table import ATOMS
from mmopt.language.evaluate import by_component
from mmopt.language.evaluate.plain import Env, entry, evaluate, inverse_at, is_row
from mmopt.language.syntax.tree import Apply, Block, Expr, Index, Name, Number, chain
from mmopt.numerics import balls
from mmopt.numerics.ball_inverse import sandwich, sandwich_diagonal
from mmopt.numerics.ball_nuclear import GUESS, nuclear
from mmopt.numerics.balls import Ball
from mmopt.numerics.numpy_forms import Array, used_rows
from mmopt.numerics.products import is_identity
from mmopt.numerics.pseudoinverse import has_rank

__all__ = ["evaluate_ball"]

# Rows taken at a time where only the diagonal of a product is asked for.
HEIGHT = 512


@dataclass(frozen=True)
class _Scaling:
    """A diagonal matrix by its diagonal (see ``products``)."""

    entries: Ball


@dataclass(frozen=True)
class _Scaled:
    """A matrix between diagonal ones, which is formed only once; exact, or within one radius for each row."""

    matrix: Array
    rows: Ball | None
    columns: Ball | None
    radii: Array | None = None

    def form(self) -> Ball:
        return balls.scaled(self.matrix, self.rows, self.columns, self.radii)


_Term = Ball | _Scaling | _Scaled


def evaluate_ball(expr: Expr, env: Env) -> Ball:
    """The value with its error bound; names count as exact, but for those that ``env`` has a ball of.

    ``env`` may hold what is nearly the polar factor of a nuclear norm (``nuclear_ball.GUESS``).

    Raises :class:`~mmopt.errors.ProgramError` for an atom without an error bound, which only prepares data.
    """
    with np.errstate(all="ignore"):
        return by_component.with_bound(expr, env) if by_component.splits(env) else _ball(expr, env)


def _ball(expr: Expr, env: Env) -> Ball:
    match expr:
        case Number(value=value):
            return balls.exact(value)
        case Name(id=name):
            value = balls.named(name, env)
            return value if isinstance(value, Ball) else balls.exact(value)
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
        # What is chosen by numbers is chosen by those that a let has, plainly.
        case Apply(atom="used_rows", args=(rows, amount)):
            inner, own = _ball(rows, env), evaluate(amount, env)
            return Ball(used_rows(inner.mid, own), used_rows(inner.rad, own))
        case Apply(atom="row_basis", args=(inner,)):
            found = evaluate(expr, env)
            # What is dropped by a tolerance may count: nothing is known then.
            is_whole = has_rank(np.asarray(evaluate(inner, env)), len(found))
            return balls.exact(found) if is_whole else balls.unknown(found)
        case Apply(atom="support"):
            return balls.exact(evaluate(expr, env))
        case _:
            pass
    assert isinstance(expr, Apply)
    atom = ATOMS[expr.atom]
    if atom.ball is None:
        raise ProgramError(f"'{expr.atom}' has no error bound", hint="move it into 'let'")
    if atom.takes_dim:
        return atom.ball(evaluate(expr.args[0], env))
    return atom.ball(*(_ball(a, env) for a in expr.args), **dict(expr.options))


def _factor(expr: Expr, env: Env) -> _Term:
    """A factor of a product, or a product."""
    match expr:
        case Apply(atom="matmul"):
            return _product(expr, env)
        case Apply(atom="diag", args=(inner,)) if not (isinstance(inner, Apply) and inner.atom == "matmul"):
            value = _ball(inner, env)
            return _Scaling(value) if value.mid.ndim == 1 else balls.diag(value)
        case _:
            return _ball(expr, env)


def _times(left: _Term, right: _Term) -> _Term:
    """The matrix product."""
    match left, right:
        case _Scaling(), _Scaling():
            return _Scaling(balls.mul(left.entries, right.entries))
        case _Scaling(), Ball() if right.mid.ndim == 1:
            return balls.mul(left.entries, right)
        case Ball(), _Scaling() if left.mid.ndim == 1:
            return balls.mul(left, right.entries)
        case _Scaling(), Ball() if right.is_exact:
            return _Scaled(right.mid, left.entries, None)
        case Ball(), _Scaling() if left.is_exact:
            return _Scaled(left.mid, None, right.entries)
        case _Scaling(), _Scaled(rows=None):
            return replace(right, rows=left.entries)
        case _Scaled(columns=None), _Scaling():
            return replace(left, columns=right.entries)
        case _Scaling(), _:
            return balls.mul(_column(left.entries), _whole(right))
        case _, _Scaling():
            return balls.mul(_whole(left), right.entries)
    for one, other in ((left, right), (right, left)):
        is_plain = isinstance(one, Ball) and one.is_exact and is_identity(one.mid)
        if is_plain and not (isinstance(other, Ball) and other.mid.ndim != 2):
            return other
    match left, right:
        case _Scaled(matrix=matrix, columns=None, radii=None), Ball() if (
            right.is_exact and right.mid.ndim == 2
        ):
            return _Scaled(matrix @ right.mid, left.rows, None, balls.product_radii(matrix, right.mid))
    return balls.matmul(_whole(left), _whole(right))


def _column(a: Ball) -> Ball:
    return Ball(a.mid[:, None], a.rad[:, None])


def _whole(a: _Term) -> Ball:
    if isinstance(a, _Scaled):
        return a.form()
    return balls.diag(a.entries) if isinstance(a, _Scaling) else a


def _product(expr: Apply, env: Env) -> _Term:
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
    left: _Term
    right: _Term
    if at is not None and 0 < at < len(factors) - 1:
        left, matrix, right = _around(factors, at, env)
        if left.mid.ndim == right.mid.ndim == 2:
            entries = sandwich_diagonal(left, matrix, right)
            return entries if expr.atom == "diag" else balls.total(entries)
        whole = sandwich(left, matrix, right)
    else:
        left, right = (_factor(a, env) for a in product.args)
        left, right = (a.form() if isinstance(a, _Scaled) else a for a in (left, right))
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
