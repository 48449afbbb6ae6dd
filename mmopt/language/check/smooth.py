"""What a program of class smooth has to satisfy: every atom on what is chosen has a gradient."""

from __future__ import annotations

from mmopt.language.atoms.table import ATOMS
from mmopt.language.check.infer import Scope, infer
from mmopt.language.syntax.tree import Apply, Constraint, Expr, walk

__all__ = ["check_smooth", "check_smooth_line"]


def check_smooth(expr: Expr, scope: Scope) -> None:
    """Raise a :class:`~mmopt.errors.ProgramError` at the first atom on what is chosen without a gradient."""
    for node in walk(expr):
        if not isinstance(node, Apply) or ATOMS[node.atom].takes_dim or ATOMS[node.atom].gradient:
            continue
        if not infer(node, scope).is_constant:
            able = ", ".join(sorted(name for name, atom in ATOMS.items() if atom.gradient))
            message = f"'{node.atom}' has no gradient, and a smooth program is searched by gradients"
            scope.source.fail(node.span, message, f"these have one: {able}")


def check_smooth_line(c: Constraint, scope: Scope) -> None:
    """The same for both sides of a constraint, which compares entries (a psd matrix is declared so)."""
    if c.relation.op in (">>", "<<"):
        message = f"'{c.name}': a smooth program compares entries, not matrices"
        scope.source.fail(c.relation.span, message, "declare the variable psd")
    for side in (c.relation.left, c.relation.right):
        check_smooth(side, scope)
