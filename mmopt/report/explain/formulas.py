"""Formulas of a program in both prints, and what a type says in a few characters."""

from __future__ import annotations

from mmopt.language.atoms.dims import Dim
from mmopt.language.atoms.types import Type
from mmopt.language.check.infer import Scope
from mmopt.language.print.typeset import latex_name, plain_name, print_expr, print_relation
from mmopt.language.syntax.tree import Apply, Block, Expr, Index, Name, Number, Relation
from mmopt.report.explain.facts import Formula

__all__ = ["formula_of", "name_of", "relation_of", "shape_of", "shortened", "sign_of"]

DOTS = "…"
SHORT = 6  # an argument of so many characters is not worth leaving out


def formula_of(expr: Expr, scope: Scope) -> Formula:
    """An expression in plain text and LaTeX."""
    return Formula(print_expr(expr, scope, "plain"), print_expr(expr, scope, "latex"))


def relation_of(relation: Relation, scope: Scope) -> Formula:
    """A relation in plain text and LaTeX."""
    return Formula(print_relation(relation, scope, "plain"), print_relation(relation, scope, "latex"))


def name_of(name: str) -> Formula:
    """A name as a formula."""
    return Formula(plain_name(name), latex_name(name))


def shortened(expr: Expr, scope: Scope) -> Formula:
    """The formula with dots for its long arguments: what the node itself does."""
    match expr:
        case Apply(atom, args, span, options):
            expr = Apply(atom, tuple(_elided(a, scope) for a in args), span, options)
        case Block(rows, span) if any(_elided(e, scope) is not e for r in rows for e in r):
            expr = Block(tuple(tuple(_elided(e, scope) for e in r) for r in rows), span)
        case Index(base, items, span):
            expr = Index(_elided(base, scope), items, span)
    out = formula_of(expr, scope)
    return Formula(out.plain, out.latex.replace(r"\mathrm{…}", r"\dots").replace(DOTS, r"\dots"))


def _elided(expr: Expr, scope: Scope) -> Expr:
    if isinstance(expr, Name | Number) or len(print_expr(expr, scope, "plain")) <= SHORT:
        return expr
    return Name(DOTS, expr.span)


def _dim(dim: Dim) -> str:
    text = str(dim)
    return "some" if "?" in text else text.replace("*", "")


def shape_of(known: Type) -> str:
    """``number``, ``vector n``, ``row n``, ``r × n``."""
    if known.is_scalar:
        return "number"
    if known.is_vector:
        return f"{'row' if known.is_row else 'vector'} {_dim(known.dims[0])}"
    return f"{_dim(known.dims[0])} × {_dim(known.dims[1])}"


def sign_of(known: Type) -> str:
    """``⪰ 0`` for what is known to be psd, else the sign of all entries, if it is known."""
    if known.psd:
        return "⪰ 0"
    return {1: "≥ 0", -1: "≤ 0"}.get(known.sign, "")
