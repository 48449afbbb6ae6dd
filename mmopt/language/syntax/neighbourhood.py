"""The section ``neighbours``: the set of tables that the guarantee of a program is for, in its words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from mmopt.errors import suggest
from mmopt.language.syntax.parse_expression import parse_expr
from mmopt.language.syntax.parse_statements import split_at
from mmopt.language.syntax.source_text import Text
from mmopt.language.syntax.syntax_tree import Expr, Span

__all__ = ["Kind", "Neighbourhood", "neighbourhood"]

Kind = Literal["add-remove", "replace-one", "rows", "participation"]
WORDS: tuple[Kind, ...] = get_args(Kind)
FORMS = (
    "write add-remove, replace-one, rows k (of one person), or participation separation b at most k "
    "(steps of one person)"
)


@dataclass(frozen=True)
class Neighbourhood:
    """The set, with its numbers: k of ``rows k``, or b and k of ``participation separation b at most k``."""

    kind: Kind
    numbers: tuple[Expr, ...] = ()
    span: Span = field(default=Span(1, 1), compare=False, repr=False)


def neighbourhood(text: Text) -> Neighbourhood:
    """``add-remove``, ``replace-one``, ``rows k`` or ``participation separation b at most k``."""
    words = "".join(text.text.split())
    for kind in WORDS[:2]:
        if words == kind:
            return Neighbourhood(kind, (), text.place)
    first = text.tokens[0]
    rest = text.cut(first.end, text.end)
    if first.text == "rows" and rest.text:
        return Neighbourhood("rows", (parse_expr(rest),), text.place)
    if first.text == "participation":
        before, numbers = split_at(rest, "separation")
        apart, limit = (before, None) if numbers is None else split_at(numbers, "at")
        if not before.text and limit is not None and limit.text.startswith("most"):
            most = limit.cut(limit.tokens[0].end, limit.end)
            return Neighbourhood("participation", (parse_expr(apart), parse_expr(most)), text.place)
        text.fail(
            "a participation says how far apart two steps of one person are, and how many there are at most",
            "write: participation separation b at most k",
        )
    if first.text == "rows":
        text.fail("'rows' says how many rows of one person there are at most", "write: rows k")
    near = suggest(words, WORDS)
    text.fail(f"there are no neighbours '{text.text}'", near if near.startswith("did") else FORMS)
