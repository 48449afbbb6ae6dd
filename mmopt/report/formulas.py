"""Long formulas in lines of a given width: broken where one would break them by hand."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

__all__ = ["program_listing", "wrapped"]

OPEN, CLOSE = "([{", ")]}"
# What a line may end or begin with, the better the smaller the number.
BEFORE = {"≤": 0, "≥": 0, "=": 0, "⪰": 0, "⪯": 0, "←": 0, "∀": 0, "+": 1, "−": 1, "/": 2, "∘": 2, "·": 2}
AFTER = {";": 1, ",": 2}
INDENT = 4
WORDS = 24  # columns for words beside a formula; with fewer they stand below it


def wrapped(formula: str, width: int) -> list[str]:
    """Lines of at most ``width`` characters, those after the first indented.

    A break stands at a space, outermost brackets first, then before a relation, a sum, a product.
    """
    lines: list[str] = []
    rest = formula
    while True:
        room = width - (INDENT if lines else 0)
        at = _break(rest, room) if len(rest) > room else None
        part = rest if at is None else rest[:at].rstrip()
        lines.append(" " * (INDENT if lines else 0) + part)
        if at is None:
            return lines
        rest = rest[at:].lstrip()


def _break(text: str, room: int) -> int | None:
    """The best space at which to break; one beyond the room when there is none before."""
    places = []
    depth = 0
    for i, char in enumerate(text):
        depth += (char in OPEN) - (char in CLOSE)
        if char == " " and text[:i].strip():
            kind = min(BEFORE.get(text[i + 1 : i + 2], 3), AFTER.get(text[i - 1], 3))
            places.append((i, depth, kind))
    fitting = [p for p in places if p[0] <= room]
    if not fitting:
        return places[0][0] if places else None
    # A very short first line is worse than a break inside brackets.
    late = [p for p in fitting if p[0] >= room // 3] or fitting
    return min(late, key=lambda p: (p[1], p[2], -p[0]))[0]


def program_listing(lines: Sequence[tuple[str, str, str]], width: int) -> str:
    """Lines of a program (label, formula, words) within ``width`` columns, the words beside the formulas."""
    left = max(len(label) for label, _, _ in lines) + 2
    room = width - left
    beside = max((len(f) for _, f, words in lines if words and len(f) <= room - WORDS - 3), default=0) + 3
    out: list[str] = []
    for label, formula, words in lines:
        rows = wrapped(formula, room)
        out.append(f"{label:<{left}}{rows[0]}")
        if words and len(rows) == 1 and len(formula) + 3 <= beside:
            first, *more = textwrap.wrap(words, room - beside)
            out[-1] = f"{label:<{left}}{formula:<{beside}}{first}"
            out += [" " * (left + beside) + row for row in more]
            continue
        out += [" " * left + row for row in rows[1:]]
        if words:
            out += [" " * (left + INDENT) + row for row in textwrap.wrap(words, room - INDENT)]
    return "\n".join(row.rstrip() for row in out)
