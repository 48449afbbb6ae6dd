"""The sections of a program, and the statements in them, before any of them is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mmopt.errors import suggest
from mmopt.language.syntax.source import Source, Text
from mmopt.language.syntax.tree import Span

__all__ = ["SECTIONS", "Section", "split_sections", "statements_below"]

# In the order in which a program is best read; a section may stand only once.
SECTIONS = (
    "program",
    "title",
    "source",
    "class",
    "language",
    "formulation of",
    "about",
    "given",
    "parameter",
    "require",
    "let",
    "choose",
    "minimize",
    "maximize",
    "subject to",
    "steps",
    "start",
    "repair",
    "value",
    "strategy",
    "covariance",
    "from strategy",
    "certificate",
    "bound",
    "proof",
)
LONGER = "a longer statement goes on in open brackets, or in lines indented deeper"
PROSE = ("about", "proof")

# A string, a comment, or a bracket. A quote that is not closed takes the rest of its line along, and
# the tokens complain about it.
_PIECE = re.compile(r""""(?:[^"\\]|\\.)*(?:"|\\?$)|'(?:[^'\\]|\\.)*(?:'|\\?$)|#.*|[()\[\]{}]""")


@dataclass(frozen=True)
class Section:
    """A section: its statements, and the span of its name."""

    name: str
    source: Source
    statements: tuple[Text, ...]
    span: Span

    def single(self) -> Text:
        """The one statement of this section."""
        if not self.statements:
            self.source.fail(self.span, f"section '{self.name}' is empty")
        if len(self.statements) > 1:
            second = self.statements[1]
            second.fail(f"section '{self.name}' takes one statement; this is a second", hint=LONGER)
        return self.statements[0]


def split_sections(source: Source) -> list[Section]:
    """The sections in the order of the text."""
    found: list[Section] = []
    current: tuple[str, Text, Span] | None = None
    body: list[tuple[int, str]] = []

    def close() -> None:
        if current is None:
            return
        name, head, span = current
        if any(section.name == name for section in found):
            source.fail(span, f"section '{name}' stands here a second time", "put both parts together")
        statements = _prose(source, head, body) if name in PROSE else _statements(source, head, body)
        found.append(Section(name, source, statements, span))

    for number, line in enumerate(source.lines, 1):
        bare = line.rstrip()
        if not bare.strip() or bare.lstrip().startswith("#"):
            body.append((number, ""))
            continue
        if bare[0] in " \t":
            if current is None:
                source.fail(Span(number, 1, len(bare)), "an indented line before any section")
            body.append((number, bare))
            continue
        name = _section_name(source, number, bare)
        close()
        rest = bare[len(name) :].lstrip(":")
        column = len(bare) - len(rest.lstrip()) + 1
        current = (name, Text(source, rest.strip(), number, column), Span(number, 1, len(name)))
        body = []
    close()
    return found


def _section_name(source: Source, number: int, line: str) -> str:
    for name in SECTIONS:
        if re.match(re.escape(name) + r"(?=[\s:]|$)", line):
            return name
    if line[0].isspace():
        message = f"this line begins with the character U+{ord(line[0]):04X}"
        source.fail(Span(number, 1), message, "indent with plain spaces")
    word = line.split()[0].rstrip(":")
    hint = suggest(" ".join(line.split()[:2]).rstrip(":"), SECTIONS)
    if "did you mean" not in hint:
        hint = suggest(word, SECTIONS)
    if not hint.startswith("did") and re.match(r"\w+\s*[:=]|\W", line):
        hint = "a statement inside a section is indented"
    source.fail(Span(number, 1, len(word)), f"there is no section '{word}'", hint)


def _prose(source: Source, head: Text, body: Sequence[tuple[int, str]]) -> tuple[Text, ...]:
    text = "\n".join([head.text, *(line.strip() for _, line in body)]).strip()
    return (Text(source, text, head.line, head.column),) if text else ()


def statements_below(text: Text, start: int) -> tuple[Text, ...]:
    """The statements of a block inside a statement: what follows ``text[start]``, line by line."""
    first, *rest = text.text[start:].split("\n")
    span = text.span(start)
    body = [(span.line + i, line) for i, line in enumerate(rest, 1)]
    column = span.column + len(first) - len(first.lstrip())
    return _statements(text.source, Text(text.source, first.strip(), span.line, column), body)


def _statements(source: Source, head: Text, body: Sequence[tuple[int, str]]) -> tuple[Text, ...]:
    """Lines put together: a statement goes on while a bracket is open or the lines are indented deeper."""
    kept, depth = _scan(head.text)
    found = [Text(source, kept, head.line, head.column)] if kept else []
    indent: str | None = None
    first = head.line
    for number, line in body:
        bare = line.lstrip()
        kept, change = _scan(line)
        if not bare or not kept.strip():
            continue
        margin = line[: len(line) - len(bare)]
        indent = margin if indent is None else indent
        deeper = margin.startswith(indent) and len(margin) > len(indent)
        if depth <= 0 and not margin.startswith(indent) and not indent.startswith(margin):
            source.fail(
                Span(number, 1, len(margin)), "this line mixes tabs and spaces", "indent with spaces only"
            )
        if found and (depth > 0 or (deeper and first != head.line)):
            last = found[-1]
            missing = number - last.line - last.text.count("\n")
            found[-1] = Text(source, last.text + "\n" * missing + kept, last.line, last.column)
            found[-1].limit()
        else:
            found.append(Text(source, kept.strip(), number, len(margin) + 1))
            depth = 0
            first = number
        depth = max(0, depth + change)
    return tuple(found)


def _scan(line: str) -> tuple[str, int]:
    """The line without its comment, and how many more brackets it opens than closes."""
    depth = 0
    for match in _PIECE.finditer(line):
        piece = match.group()
        if piece[0] == "#":
            return line[: match.start()].rstrip(), depth
        depth += (piece in "([{") - (piece in ")]}")
    return line.rstrip(), depth
