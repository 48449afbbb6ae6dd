"""Where the nodes of a checked program stand in its text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from mmopt.errors import Location
from mmopt.language import Program
from mmopt.language.check.whole_program import split_lets
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Entries,
    Expr,
    Name,
    Number,
    Relation,
    Span,
    children,
    walk,
)

_BRACKET = re.compile(r"[()\[\]]")
_GOES_ON = re.compile(r"[ \t]*[^ \t\n]")


class Places:
    """The places of nodes in the text of the program as written.

    A ``width`` counts the characters of the file from line and column on: a line break is one, and
    indentation and comments in between count too. The text at a place reads as the node, with every let put
    in and joint atoms taken as one (``expand``). A node of a let has the place of the let's text.
    """

    def __init__(self, written: Program) -> None:
        self.source, lines = written.source, written.source.lines
        # No expression has a text in quotes, so '#' begins a comment.
        self.text = "\n".join(line.partition("#")[0].ljust(len(line)) for line in lines)
        self.starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self.lets = {let.name: let.expr for let in split_lets(written)[1]}
        self.lines = {c.name: c.relation for c in written.constraints}
        self.nodes: dict[Span, list[Expr]] = {}
        objective: Expr | None = written.objective  # a procedure has none
        sides = [side for r in self.lines.values() for side in (r.left, r.right)]
        for whole in (*self.lets.values(), *sides, *[objective] * (objective is not None)):
            for node in (whole, *self._inside(whole)):
                self.nodes.setdefault(node.span, []).append(node)

    def _inside(self, whole: Expr) -> Iterator[Expr]:
        """The nodes below it that have a text of their own: ``max(a, b, c)`` is two nodes with one text."""
        for node in walk(whole):
            for part in children(node):
                if part.span != node.span or self._end(part) != self._end(node):
                    yield part

    def of(self, expr: Expr) -> Location | None:
        """The place of a node of a line; None for one that is not written there."""
        node = next((n for n in self.nodes.get(expr.span, ()) if self._is_text_of(n, expr)), None)
        return None if node is None else self._place(node)

    def of_line(self, name: str) -> Location | None:
        """The place of a constraint's relation; None for another line."""
        return self._place(self.lines[name]) if name in self.lines else None

    def _place(self, node: Expr | Relation) -> Location:
        """The place of a node as written."""
        return replace(self.source.locate(node.span), width=self._end(node) - self._start(node))

    def _is_text_of(self, written: Expr, expr: Expr) -> bool:
        """Whether a node is the written one: the same operation on parts that stand where its parts stand."""
        if isinstance(expr, Name | Number) or type(written) is not type(expr):
            return written == expr
        same = getattr(written, "atom", "") == getattr(expr, "atom", "")
        return same and self._spans(written) == self._spans(expr)

    def _spans(self, expr: Expr) -> Sequence[Span]:
        """The spans of the parts, those of lets where their text is."""
        out = []
        for part in children(expr):
            while isinstance(part, Name) and part.id in self.lets:
                part = self.lets[part.id]
            out.append(part.span)
        return out

    def _start(self, node: Expr | Relation) -> int:
        """The character at which a node begins."""
        return self.starts[node.span.line - 1] + node.span.column - 1

    def _end(self, node: Expr | Relation) -> int:
        """The character after a node, of which a span knows the first line only."""
        start = self._start(node)
        end = own = start + node.span.width
        has_clauses = isinstance(node, Entries)
        if not has_clauses and _GOES_ON.match(self.text, end):
            return end  # on the same line
        parts = (node.left, node.right) if isinstance(node, Relation) else children(node)
        inner = max(map(self._end, parts), default=start)
        end = inner if has_clauses else max(own, inner)
        brackets = _BRACKET.findall(self.text, start, end)
        depth = sum(1 if b in "([" else -1 for b in brackets)
        for bracket in _BRACKET.finditer(self.text, end):
            if depth <= 0 and not has_clauses:
                break
            depth += 1 if bracket[0] in "([" else -1
            if depth < 0:  # the one around the clauses
                return len(self.text[: bracket.start()].rstrip())
            end = bracket.end()
        is_turned = isinstance(node, Apply) and node.atom == "transpose" and own <= inner
        return self.text.index("T", end) + 1 if is_turned else end
