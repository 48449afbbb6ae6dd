"""Transposes pushed down to the leaves, so that ``(A @ B).T`` and ``B.T @ A.T`` become one tree."""

from __future__ import annotations

from collections.abc import Callable

from mmopt.language.syntax.tree import Apply, Block, Expr, chain

__all__ = ["normal", "product"]

# (f(A, B)).T = f(A.T, B.T)
THROUGH = frozenset({"add", "sub", "neg", "mul", "div", "pow", "abs", "sqrt", "inv", "pinv"})


def product(factors: list[Expr]) -> Expr:
    """The matrix product of the factors, left to right."""
    out = factors[0]
    for f in factors[1:]:
        out = Apply("matmul", (out, f), out.span)
    return out


def normal(expr: Expr, symmetric: Callable[[Expr], bool], *, flip: bool = False) -> Expr:
    """The expression (its transpose when ``flip``) with transposes only at leaves that need one.

    ``symmetric`` says whether an expression equals its transpose: numbers, symmetric matrices.
    """
    match expr:
        case Apply(atom="transpose", args=(inner,)):
            return normal(inner, symmetric, flip=not flip)
        case Apply(atom="matmul"):
            factors = [normal(f, symmetric, flip=flip) for f in chain(expr)]
            return product(factors[::-1] if flip else factors)
        case Apply(atom, args, span, options) if atom in THROUGH:
            return Apply(atom, tuple(normal(a, symmetric, flip=flip) for a in args), span, options)
        case Block(rows, span) if flip:
            turned = zip(*rows, strict=True)
            return Block(tuple(tuple(normal(e, symmetric, flip=True) for e in r) for r in turned), span)
        case Block(rows, span):
            return Block(tuple(tuple(normal(e, symmetric) for e in r) for r in rows), span)
    return Apply("transpose", (expr,), expr.span) if flip and not symmetric(expr) else expr
