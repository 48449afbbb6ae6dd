"""Where the nodes of a checked program stand in its text."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate

from mmopt.errors import Location
from mmopt.language import (
    Apply,
    Expr,
    Name,
    Number,
    Program,
    Relation,
    Span,
    children,
    split_lets,
    walk,
)
from mmopt.numerics.arrays import grouped

TAKEN_AS_ONE = ("matmul", "trace", "log")  # of which the check may make another node


class Places:
    """The places of nodes in the text of the program as written.

    A ``width`` counts the characters of the file from line and column on: a line break is one, and
    indentation and comments in between count too. The text at a place reads as the node (entries ``x for i in
    n`` in brackets), with every let put in and joint atoms taken as one (``expand``). A node of a let has the
    place of the let's text.
    """

    def __init__(self, written: Program) -> None:
        self.source, lines = written.source, written.source.lines
        self.starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self.lets = {let.name: let.expr for let in split_lets(written)[1]}
        self.lines = {c.name: c.relation for c in written.constraints}
        self.objective = written.objective
        wholes = [written.objective, *self.lets.values()]
        wholes += [side for r in self.lines.values() for side in (r.left, r.right)]
        self.nodes = grouped(
            (node.span, node)
            for whole in wholes[written.objective is None :]  # a procedure may have none
            for node in (whole, *self._inside(whole))
        )

    def _inside(self, whole: Expr) -> Iterator[Expr]:
        """The nodes below it that have a text of their own: ``max(a, b, c)`` is two nodes with one text."""
        for node in walk(whole):
            for part in children(node):
                if (part.span, part.span.end) != (node.span, node.span.end):
                    yield part

    def of(self, expr: Expr) -> Location | None:
        """The place of a node of a line; None for one that is not written there."""
        node = next((n for n in self.nodes.get(expr.span, ()) if self._is_text_of(n, expr)), None)
        return None if node is None else self._place(node)

    def of_line(self, name: str) -> Location | None:
        """The place of a constraint's relation, of the objective by the name ""; None for another line."""
        line = self.lines.get(name) if name else self.objective
        return None if line is None else self._place(line)

    def _place(self, node: Expr | Relation) -> Location:
        """The place of a node as written."""
        return replace(self.source.locate(node.span), width=self._width(node.span))

    def _is_text_of(self, written: Expr, expr: Expr) -> bool:
        """Whether a node is the written one: the same operation on parts that stand where its parts stand."""
        if isinstance(expr, Name | Number):
            return written == expr
        pairs = list(zip(map(self._meant, children(written)), children(expr), strict=False))
        return _operation(written) == _operation(expr) and all(
            w.span == e.span and _operation(w) in (_operation(e), *TAKEN_AS_ONE) for w, e in pairs
        )

    def _meant(self, expr: Expr) -> Expr:
        """A part, or what it stands for where it is a let."""
        while isinstance(expr, Name) and expr.id in self.lets:
            expr = self.lets[expr.id]
        return expr

    def _width(self, span: Span) -> int:
        """The number of characters of a span, over all its lines."""
        (line, column), starts = span.end, self.starts
        return starts[line - 1] + column - starts[span.line - 1] - span.column


def _operation(expr: Expr) -> str:
    """The atom of a node, or the kind of another one."""
    return expr.atom if isinstance(expr, Apply) else type(expr).__name__
