"""Forms of constraints that are faster to hand over: a family as one vector, a 2 x 2 block as entries."""

from __future__ import annotations

from mmopt.language.families import vectorised
from mmopt.language.tree import Block, Expr

__all__ = ["two_by_two", "vectorised"]


def two_by_two(expr: Expr) -> tuple[Expr, Expr, Expr] | None:
    """Entries a, b, c of ``[[a, b], [b, c]]``, when the block has that form."""
    if isinstance(expr, Block) and len(expr.rows) == 2 and len(expr.rows[0]) == 2:
        (a, b), (again, c) = expr.rows
        if b == again:
            return a, b, c
    return None
