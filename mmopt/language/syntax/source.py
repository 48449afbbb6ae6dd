"""The text of a program: its lines, positions in it, and statements as tokens.

The tokens are our own: Python's tokenizer gives other tokens and other errors from version to version.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import NoReturn

from mmopt.errors import Location, ProgramError
from mmopt.language.syntax.tree import Span

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_LENGTH",
    "RELATIONS",
    "Source",
    "Text",
    "Token",
    "plain",
]

MAX_BYTES = 200_000
MAX_LENGTH = 4_000  # characters of one statement
MAX_DEPTH = 40  # brackets inside brackets

RELATIONS = ("<=", ">=", "==", ">>", "<<", "<", ">", "!=", "=")
PAIRS = {"(": ")", "[": "]", "{": "}"}

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\n]+)
    | (?P<name>[^\W\d]\w*)
    | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<operator>\*\*|//|:=|->|<=|>=|==|!=|<<|>>|[-+*/%@&|^~<>=()\[\]{},:.;!?$`\\])
    """,
    re.VERBOSE,
)

# What comes along when a formula is copied from a paper or a word processor.
LOOK_ALIKES = {
    "−": "-",
    "–": "-",
    "≤": "<=",
    "≥": ">=",
    "⪰": ">>",
    "⪯": "<<",
    "×": "*",
    "·": "*",
    "∘": "*",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "²": "**2",
    "√": "sqrt(…)",
    "∑": "sum(…)",
    "‖": "nuclear(…)",
    "⁻": "inv(…)",
    "\u00a0": "a plain space",
}


def plain(name: str) -> str:
    """A name in the form in which Python's grammar compares names (Unicode NFKC)."""
    return unicodedata.normalize("NFKC", name)


@dataclass(frozen=True)
class Source:
    """A whole program text and the name under which errors speak of it."""

    file: str
    lines: tuple[str, ...]

    def fail(self, span: Span, message: str, hint: str = "") -> NoReturn:
        """Raise a :class:`~mmopt.errors.ProgramError` at the span."""
        raise ProgramError(message, where=self.locate(span), hint=hint)

    def locate(self, span: Span) -> Location:
        """The location, with its line, for a message."""
        text = self.lines[span.line - 1] if 0 < span.line <= len(self.lines) else ""
        return Location(self.file, span.line, span.column, text, span.width)


@dataclass(frozen=True)
class Token:
    """A token of a statement: its text, where it starts, and how many brackets are around it."""

    kind: str  # "name", "number", "string" or "operator"
    text: str
    start: int
    depth: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True)
class Text:
    """A statement without comments, perhaps over several lines, that knows where each character stands."""

    source: Source
    text: str
    line: int
    column: int  # 1-based column of the first character

    def span(self, start: int, end: int | None = None) -> Span:
        """The span of ``text[start:end]``, as far as it lies on its first line."""
        before = self.text[:start]
        row = before.count("\n")
        column = start - (before.rfind("\n") + 1) + (self.column if row == 0 else 1)
        piece = self.text[start:end] if end is not None else self.text[start : start + 1]
        return Span(self.line + row, column, max(1, len(piece.split("\n")[0].rstrip())))

    def cut(self, start: int, end: int | None = None) -> Text:
        """The stripped part ``text[start:end]``."""
        piece = self.text[start:end]
        start += len(piece) - len(piece.lstrip())
        span = self.span(start)
        return Text(self.source, piece.strip(), span.line, span.column)

    def fail(self, message: str, start: int = 0, end: int | None = None, hint: str = "") -> NoReturn:
        """Raise a :class:`~mmopt.errors.ProgramError` at ``text[start:end]`` (to the end by default)."""
        self.source.fail(self.span(start, len(self.text) if end is None else end), message, hint)

    def fail_at(self, token: Token, message: str, hint: str = "") -> NoReturn:
        """Raise a :class:`~mmopt.errors.ProgramError` at a token."""
        self.fail(message, token.start, token.end, hint)

    def limit(self) -> None:
        """Refuse a statement that is too long."""
        if len(self.text) > MAX_LENGTH:
            message = f"a statement of more than {MAX_LENGTH} characters"
            self.fail(message, 0, 1, "split it with 'let'; data are given with --given NAME=FILE")

    def tokens(self) -> list[Token]:
        """The tokens, each with the depth of brackets around it; brackets and quotes are closed."""
        self.limit()
        found: list[Token] = []
        opened: list[Token] = []
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None or (match.lastgroup == "name" and not match.group().isidentifier()):
                self._strange(at, match.group() if match else "")
            at = match.end()
            if match.lastgroup == "space":
                continue
            token = Token(str(match.lastgroup), match.group(), match.start(), len(opened))
            if token.text in PAIRS.values():
                token = self._close(token, opened)
            found.append(token)
            if token.text in PAIRS:
                opened.append(token)
                if len(opened) > MAX_DEPTH:
                    self.fail_at(
                        token, f"more than {MAX_DEPTH} brackets inside each other", "split it with 'let'"
                    )
        if opened:
            last = opened[-1]
            self.fail_at(
                last, f"this '{last.text}' is not closed", f"its partner '{PAIRS[last.text]}' is missing"
            )
        return found

    def _close(self, token: Token, opened: list[Token]) -> Token:
        if not opened:
            self.fail_at(token, f"this '{token.text}' closes nothing", "no bracket is open here")
        start = opened.pop()
        if PAIRS[start.text] != token.text:
            message = f"this '{token.text}' meets an open '{start.text}'"
            self.fail_at(token, message, f"'{PAIRS[start.text]}' closes it")
        return Token(token.kind, token.text, token.start, len(opened))

    def _strange(self, at: int, name: str) -> NoReturn:
        """A character that no token begins with, or a name with one inside."""
        at += max((i for i in range(1, len(name)) if name[:i].isidentifier()), default=0)
        char = self.text[at]
        if char in "\"'":
            self.fail(
                "this quote is not closed", at, at + 1, "a text in quotes ends on the line on which it begins"
            )
        shown = f"'{char}'" if char.isprintable() else f"U+{ord(char):04X}"
        hint = f"write {LOOK_ALIKES[char]}" if char in LOOK_ALIKES else ""
        self.fail(f"the character {shown} has no meaning here", at, at + 1, hint)
