"""Which line of a program cannot be evaluated on values that split into components, by its form alone."""

from __future__ import annotations

from collections.abc import Iterator

from mmopt.language.atoms.table import ATOMS
from mmopt.language.check.families import vectorised
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.tree import Apply, Block, Expr, Index, walk

__all__ = ["without_form"]


def without_form(program: Program) -> str:
    """What has no form by components, in words with its line; "" when all of it has one.

    Looked at is what a solve evaluates: lets, objective, constraints, repair, certificate and meaning. A line
    that passes may still be refused where it is evaluated, for what its arguments turn out to be.
    """
    for name, expr in _lines(program):
        if expr is None:
            return f"the family '{name}' is not one vector inequality"
        for node in walk(expr):
            if isinstance(node, Index):
                return f"an index in '{name}'"
            if isinstance(node, Block):
                return f"the block matrix in '{name}'"
            if isinstance(node, Apply) and (ATOMS[node.atom].by_component is None or node.options):
                return f"'{node.atom}' in '{name}'"
    return ""


def _lines(program: Program) -> Iterator[tuple[str, Expr | None]]:
    for let in program.lets:
        yield let.name, let.expr
    if program.objective is not None:
        yield "the objective", program.objective
    for c in program.constraints:
        for side in (c.relation.left, c.relation.right):
            yield c.name, side if c.family is None else vectorised(side, c.family.index)
    for assignment in program.repair:
        yield f"repair of {assignment.name}", assignment.expr
    if program.certificate is not None:
        yield "the certificate", program.certificate.expr
        for m in program.certificate.multipliers:
            if m.start is not None:
                yield f"the start of {m.key}", m.start
    if program.meaning is not None:
        yield program.meaning.kind, program.meaning.expr
