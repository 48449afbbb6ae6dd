"""Evaluate an expression with numbers, plainly in numpy (with a proved error bound: see ``enclose``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from mmopt.errors import OptionError
from mmopt.language.atoms.table import ATOMS
from mmopt.language.check.families import ENTRYWISE
from mmopt.language.evaluate import by_component
from mmopt.language.evaluate.memo import Memo
from mmopt.language.syntax.tree import Apply, Block, Expr, Index, Name, Number, chain
from mmopt.limits import require_time
from mmopt.numerics import numpy_forms
from mmopt.numerics.numpy_forms import Array
from mmopt.numerics.products import Scaling, diagonal_of_product, times, whole

__all__ = ["Env", "entry", "evaluate", "inverse_at", "is_row", "positions"]

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


def entry(value: Any, expr: Index, env: Env) -> Any:
    """The entry, row or column of a value that an index expression names."""
    return value[positions(expr, np.shape(value), env)]


def positions(expr: Index, shape: tuple[int, ...], env: Env) -> tuple[int | slice, ...]:
    """What an index expression says of an array of a shape; OptionError for an entry that is not there."""
    found: list[int | slice] = []
    for item, size in zip(expr.items, shape, strict=True):
        at = 0.0 if item is None else float(evaluate(item, env))
        if not 0 <= at < size:
            raise OptionError(f"an index is {at:g}, expected 0 to {size - 1}")
        found.append(slice(None) if item is None else int(at))
    return tuple(found)


def inverse_at(factors: list[Expr]) -> int | None:
    """Where the one inverse of a product stands; None for none and for several."""
    at = [i for i, f in enumerate(factors) if isinstance(f, Apply) and f.atom == "inv"]
    return at[0] if len(at) == 1 else None


def evaluate(expr: Expr, env: Env, memo: Memo | None = None) -> Any:
    """The value of an expression as a float or an array.

    ``env`` holds arrays for names and whole numbers for dimensions. A product around one ``inv`` is
    solved, never inverted, so that the closed convex extension holds (see ``numeric.solve``). Where only
    the diagonal of a product is asked for, only that is formed; a ``memo`` keeps it. With values that split
    into components (``mmopt.numerics.components``) in ``env`` see ``by_component``.
    """
    # 1 / 0 is infinite and 0 / 0 no number, without a warning: both are seen in the result.
    with np.errstate(all="ignore"):
        return by_component.plainly(expr, env) if by_component.splits(env) else _value(expr, env, memo)


def _value(expr: Expr, env: Env, memo: Memo | None) -> Any:
    require_time()
    match expr:
        case Number(value=value):
            return value
        case Name(id=name):
            value = env[name]
            return float(value) if isinstance(value, int) else value  # numpy's whole numbers wrap around
        case Index(base=base):
            return entry(_value(base, env, memo), expr, env)
        case Block(rows=rows):
            return numpy_forms.block([[(_value(e, env, memo), is_row(e, env)) for e in row] for row in rows])
        case Apply(atom="diag" | "trace", args=(Apply(atom="matmul"),)):
            if memo is None:
                return _diagonal(expr, env, memo)
            return memo.value(expr, env, lambda: _diagonal(expr, env, memo))
        case Apply(atom="matmul"):
            return whole(_product(expr, env, memo))
        case _:
            pass
    assert isinstance(expr, Apply)
    args = [_value(a, env, memo) for a in expr.args]
    return ATOMS[expr.atom].numpy(*args, **dict(expr.options))


def _factor(expr: Expr, env: Env, memo: Memo | None) -> Array | Scaling:
    """A factor of a product, or a product."""
    match expr:
        case Apply(atom="matmul"):
            return _product(expr, env, memo)
        case Apply(atom="diag", args=(inner,)) if not (isinstance(inner, Apply) and inner.atom == "matmul"):
            value = np.asarray(_value(inner, env, memo), dtype=float)
            return Scaling(value) if value.ndim == 1 else numpy_forms.diag(value)
        case _:
            return np.asarray(_value(expr, env, memo), dtype=float)


def _product(expr: Apply, env: Env, memo: Memo | None) -> Array | Scaling:
    """A product; around one inverse it is solved."""
    factors = chain(expr)
    at = inverse_at(factors)
    if at is None:
        return times(_factor(expr.args[0], env, memo), _factor(expr.args[1], env, memo))
    if at == len(factors) - 1:
        matrix, before = _inverted(factors[at], env, memo), whole(_joined(factors[:at], env, memo))
        return numpy_forms.solve(matrix.T, before.T).T
    solved = _solved(factors, at, env, memo)
    if at == 0:
        return solved
    left = _joined(factors[:at], env, memo)
    if not np.isfinite(solved).all():
        return np.full(np.shape(whole(times(left, np.zeros_like(solved)))), np.inf)
    return times(left, solved)


def _diagonal(expr: Apply, env: Env, memo: Memo | None) -> Any:
    """``diag`` or ``trace`` of a product; of matrices without forming the product."""
    product = expr.args[0]
    assert isinstance(product, Apply)
    factors = chain(product)
    at = inverse_at(factors)
    left: Array | Scaling
    right: Array | Scaling
    if at is None:
        left, right = (_factor(a, env, memo) for a in product.args)
    elif 0 < at < len(factors) - 1:
        left, right = _joined(factors[:at], env, memo), _solved(factors, at, env, memo)
        if left.ndim == right.ndim == 2 and not np.isfinite(right).all():
            entries = np.full(left.shape[0], np.inf)
            return entries if expr.atom == "diag" else np.inf
    else:
        return ATOMS[expr.atom].numpy(whole(_product(product, env, memo)))
    if left.ndim < 2 or right.ndim < 2:
        return ATOMS[expr.atom].numpy(whole(times(left, right)))
    entries = diagonal_of_product(left, right)
    return entries if expr.atom == "diag" else entries.sum()


def _joined(factors: list[Expr], env: Env, memo: Memo | None) -> Array | Scaling:
    """The product of factors without an inverse; from the right where that ends in a vector."""
    values = [_factor(f, env, memo) for f in factors]
    is_vector = isinstance(values[-1], np.ndarray) and values[-1].ndim == 1
    return reduce(lambda a, b: times(b, a), values[::-1]) if is_vector else reduce(times, values)


def _inverted(expr: Expr, env: Env, memo: Memo | None) -> Array:
    """The matrix whose inverse the factor is."""
    assert isinstance(expr, Apply)
    return np.asarray(_value(expr.args[0], env, memo), dtype=float)


def _solved(factors: list[Expr], at: int, env: Env, memo: Memo | None) -> Array:
    """From the inverse to the end of the product."""
    return numpy_forms.solve(_inverted(factors[at], env, memo), whole(_joined(factors[at + 1 :], env, memo)))
