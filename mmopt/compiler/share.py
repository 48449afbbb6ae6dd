"""What the lets and requirements of a program compute more than once is computed once.

Exact: the syntax tree is equal, so the number is. Only products with a pseudo-inverse are shared, such as the
``W @ pinv(Q)`` of the weighting programs; all else costs less than it would to remember it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from mmopt.language.syntax.program import Program
from mmopt.language.syntax.tree import Apply, Assignment, Constraint, Expr, Index, Name, rewrite, walk

__all__ = ["Shared", "share"]


@dataclass(frozen=True)
class Shared:
    """Lets in order, then requirements; ``passing`` are names of lets that only these use."""

    lets: tuple[Assignment, ...]
    requires: tuple[Constraint, ...]
    passing: frozenset[str]


def share(program: Program) -> Shared:
    """The lets and requirements with each repeated product under a name of its own."""
    exprs = [*(let.expr for let in program.lets), *(c.relation.left for c in program.requires)]
    counts = Counter(node for expr in exprs for node in walk(expr) if _is_costly(node))
    names: dict[Expr, str] = {}
    lets: list[Assignment] = []

    def named(node: Expr) -> Expr | None:
        if counts[node] < 2 or not _is_costly(node):
            return None
        if node not in names:
            # A part that occurs elsewhere too gets its own name first.
            inner = rewrite(node, lambda e: named(e) if counts[e] > counts[node] else None)
            names[node] = f"shared {len(names) + 1}"  # no name of a program has a space
            lets.append(Assignment(names[node], inner, node.span))
        return Name(names[node], node.span)

    for let in program.lets:
        expr = rewrite(let.expr, named)  # puts what it shares in front
        lets.append(replace(let, expr=expr))
    requires = tuple(
        replace(c, relation=replace(c.relation, left=rewrite(c.relation.left, named)))
        for c in program.requires
    )
    return Shared(tuple(lets), requires, frozenset(names.values()))


def _is_costly(node: Expr) -> bool:
    if not isinstance(node, Apply) or any(isinstance(e, Index) for e in walk(node)):
        return False  # an index may belong to a family
    if node.atom == "pinv":
        return True
    return node.atom == "matmul" and any(_is_costly(factor) for factor in node.args)
