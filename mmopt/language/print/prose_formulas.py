"""Mathematics between backticks in the words of a program: ``about``, ``proof`` and texts in quotes.

Between backticks stands an expression of the language, or several with relations between them:
``X = A.T @ A``, ``a <= b = c``. A power may also be written ``D^(1/2)``. Beside the names of the program
words may use their own, as on paper: those of one letter, perhaps with a subscript, and Greek ones; one
that is said to equal something has its shape from then on. What cannot be read so is no mathematics and
stays as it is, backticks and all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mmopt.errors import ProgramError
from mmopt.language.check.infer_types import Scope, infer
from mmopt.language.print.typeset import GREEK, SYMBOLS, print_expr
from mmopt.language.syntax.parse_expression import parse_expr
from mmopt.language.syntax.source_text import RELATIONS, Source, Text, Token
from mmopt.language.syntax.syntax_tree import Expr, Name, walk

__all__ = ["Formula", "Sentence", "plain_words", "prose"]

_QUOTED = re.compile(r"`([^`\s](?:[^`]*[^`\s])?)`")
_LOCAL = re.compile(rf"(?:[^\W\d_]|{'|'.join(GREEK)})(?:\d*|_\w+)")


@dataclass(frozen=True)
class Formula:
    """A formula in plain Unicode text and in LaTeX (math mode)."""

    plain: str
    latex: str


# Words with formulas between them.
Sentence = tuple[str | Formula, ...]


def prose(text: str, scope: Scope) -> tuple[Sentence, Scope]:
    """The words with their formulas, line ends kept; and the scope with the names that they define."""
    pieces: list[str | Formula] = []
    at = start = 0
    while quoted := _QUOTED.search(text, start):
        sides = _sides(quoted[1], scope)
        start = quoted.end()
        if sides is None:
            start -= 1  # what would close no formula may open one
            continue
        pieces += [text[at : quoted.start()], *_chain(sides, scope)]
        at = start
        scope = _defined(sides, scope)
    return tuple(piece for piece in (*pieces, text[at:]) if piece), scope


def plain_words(words: Sentence) -> str:
    """A sentence in plain Unicode text."""
    return "".join(piece if isinstance(piece, str) else piece.plain for piece in words)


# The relation before it ("" before the first), and a side.
_Side = tuple[str, Expr]


def _sides(quoted: str, scope: Scope) -> list[_Side] | None:
    """The sides of a formula, or nothing when it is none."""
    written = quoted.replace("^", "**")
    text = Text(Source("", tuple(written.split("\n"))), written, 1, 1)
    try:
        relations: list[Token | None] = [None, *(t for t in text.outer if t.text in RELATIONS)]
        ends = [*(t.start for t in relations[1:] if t), len(written)]
        sides = [
            (token.text if token else "", parse_expr(text.cut(token.end if token else 0, end)))
            for token, end in zip(relations, ends, strict=True)
        ]
    except ProgramError:
        return None
    names = {node.id for _, side in sides for node in walk(side) if isinstance(node, Name)}
    known = {*scope.types, *scope.dims}
    return sides if all(name in known or _LOCAL.fullmatch(name) for name in names) else None


def _chain(sides: list[_Side], scope: Scope) -> Iterator[str | Formula]:
    """A formula for each side with the relation before it: between them a line may end."""
    for relation, side in sides:
        plain, latex = (print_expr(side, scope, style, inline=True) for style in ("plain", "latex"))
        if relation:
            yield " "
            symbol = "==" if relation == "=" else relation
            plain, latex = f"{SYMBOLS['plain'][symbol]} {plain}", f"{SYMBOLS['latex'][symbol]} {latex}"
        yield Formula(plain, latex)


def _defined(sides: list[_Side], scope: Scope) -> Scope:
    """The scope with a name that was not known and equals an expression that is."""
    match sides:
        case [("", Name(id=name)), ("=", value), *_] if name not in {*scope.types, *scope.dims}:
            try:
                return scope.with_types(**{name: infer(value, scope)})
            except ProgramError:
                return scope
    return scope
