"""What a repair of a constraint would look like, where its form tells."""

from __future__ import annotations

from mmopt.compiler import Instance
from mmopt.compiler.shape import scope_of
from mmopt.driver.judge.violations import Violation
from mmopt.language import to_source
from mmopt.language.check.families import vectorised
from mmopt.language.check.infer import infer
from mmopt.language.syntax.tree import Apply, Constraint, Expr, Name, Number, mentions

__all__ = ["repair_for"]

USUAL = "X = X / max(diag(X)), which restores diag(X) <= 1"


def repair_for(instance: Instance, line: Violation) -> str:
    """ ", for example: X = X / max(diag(X))"; nothing for a line whose form is another."""
    c = next((c for c in instance.program.constraints if c.name == line.name), None)
    shown = _sketch(instance, c) if c is not None and line.kind == "constraint" else ""
    return f", for example: {shown}" if shown else f" (assignments such as {USUAL})"


def _sketch(instance: Instance, c: Constraint) -> str:
    r = c.relation
    if r.op not in ("<=", ">="):
        return ""
    small, large = (r.left, r.right) if r.op == "<=" else (r.right, r.left)
    if c.family is not None:
        first, second = vectorised(small, c.family.index), vectorised(large, c.family.index)
        if first is None or second is None:
            return ""
        small, large = first, second
    scope = scope_of(instance.checked)
    chosen = [d.name for d in instance.program.choose]
    is_bound = not infer(small, scope).is_constant
    if isinstance(large, Name) and large.id in chosen and is_bound and not mentions(small, large.id):
        fits = infer(large, scope).is_scalar and not infer(small, scope).is_scalar
        return f"{large.id} = {to_source(_max(small) if fits else small)}"
    # Scaling all that the left side mentions keeps the rest of a program of one variable.
    one, other = (small, large) if infer(large, scope).is_constant else (large, small)
    used = [name for name in chosen if mentions(one, name)]
    if len(used) != 1 or not infer(other, scope).is_constant or not infer(one, scope).curvature.is_affine:
        return ""
    name = used[0]
    ratio = one if other == Number(1.0, r.span) else Apply("div", (one, other), r.span)
    if not infer(one, scope).is_scalar or not infer(other, scope).is_scalar:
        ratio = _max(ratio) if one is small else Apply("min", (ratio,), r.span)
    return f"{name} = {to_source(Apply('div', (Name(name, r.span), ratio), r.span))}"


def _max(e: Expr) -> Expr:
    return Apply("max", (e,), e.span)
