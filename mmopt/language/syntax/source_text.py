"""The text of a program with the places in it: statements as tokens, and what may follow what.

A statement is read as tokens once. The tokens are our own: Python's tokenizer gives other tokens and other
errors from version to version.
"""

import keyword
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, NoReturn

from mmopt.errors import MOST_OTHERS, Location, ProgramError
from mmopt.language.syntax.syntax_tree import Span

MAX_BYTES = 200_000
MAX_LENGTH = 4_000  # characters of one statement
MAX_DEPTH = 40  # brackets inside brackets

RELATIONS = ("<=", ">=", "==", ">>", "<<", "<", ">", "!=", "=")
PAIRS = {"(": ")", "[": "]", "{": "}"}
CLOSING = tuple(PAIRS.values())
OPERATORS = ("+", "-", "*", "/", "**", "@")
SIGNS = ("+", "-")
PUNCTUATION = ("(", ")", "[", "]", ",", ":", ".")
CLAUSE = ("for", "in", "if")
ALLOWED = "the operators are + - * / ** @ [ ] ( ) and .T"

# Words of Python, and operators, that have no meaning: the message, and what to do.
PYTHON_WORDS = {
    "lambda": (
        "'lambda' is a word of Python and cannot be a name",
        "call a weight lam or rho, a multiplier mu, d or p",
    ),
    "for": ("'for' cannot stand inside an expression", "a family of constraints ends with: for j in m"),
    "if": ("'if' cannot stand in an expression", "a program has one meaning for all data"),
    "and": ("'and' cannot stand in an expression", "write two constraints"),
    "forall": ("'forall' is not a word of the language", "a family of constraints ends with: for j in m"),
    "or": (
        "'or' cannot stand in an expression",
        "a choice between constraints is not convex, and all constraints hold together: write two programs "
        "and compare them",
    ),
}
STRANGE_OPERATORS = {
    "^": ("'^' is not a power", "write **"),
    "^T": ("'^' is no transpose", "the transpose is written X.T, an inner product c @ x"),
    "{": ("'{' has no meaning here", "write ( ) for grouping, [ ] for an index or a block matrix"),
    ";": ("';' has no meaning here", "write one statement a line; one matrix on another is [[A], [B]]"),
    "|": ("'|' has no meaning here", "|x| is abs(x), entry by entry, and ||x|| is norm(x)"),
    "\\": (
        "'\\' has no meaning here",
        "choose the x of A \\ b, with A @ x == b as a constraint; for data it is pinv(A) @ b",
    ),
}

_TOKEN = re.compile(
    r"""
    [ \t\n]* (?:
      (?P<name>[^\W\d]\w*)
    | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<operator>\*\*|//|:=|->|<=|>=|==|!=|<<|>>|[-+*/%@&|^~<>=()\[\]{},:.;!?$`\\])
    | (?P<strange>[^ \t\n])
    )""",
    re.VERBOSE,
)

# Characters that come with a formula copied from a paper or a word processor.
LOOK_ALIKES = {
    "−": "-",
    "–": "-",
    "≤": "<=",
    "≥": ">=",
    "⪰": ">>",
    "⪯": "<<",
    "≽": ">>",
    "≼": "<<",
    "⩾": ">=",
    "⩽": "<=",
    "∀": "'for j in m' at the end of the line",
    "∈": "in",
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
    "‖": "norm(…), or nuclear(…) where a star follows",
    "∥": "norm(…)",
    "⁻": "inv(…)",
    "\u00a0": "a plain space",
}


def plain(name: str) -> str:
    """A name in the form in which Python's grammar compares names (Unicode NFKC)."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


@dataclass(frozen=True)
class Source:
    """A whole program text and the name that it has in errors."""

    file: str
    lines: tuple[str, ...]

    def fail(self, span: Span, message: str, hint: str = "") -> NoReturn:
        """Raise a :class:`~mmopt.errors.ProgramError` at the span."""
        raise ProgramError(message, where=self.locate(span), hint=hint)

    def require(self, holds: object, span: Span, message: str, hint: str = "") -> None:
        """``fail`` unless something holds."""
        if not holds:
            self.fail(span, message, hint)

    def locate(self, span: Span) -> Location:
        """The location, with its line, for a message."""
        return Location(
            self.file,
            span.line,
            span.column,
            self.lines[span.line - 1] if 0 < span.line <= len(self.lines) else "",
            span.width,
        )


@dataclass
class Mistakes:
    """The first mistake of each statement of a program; ``broken``: the names that are not defined for it.

    ``is_unsure``: a dimension, or a name, that is not defined may follow from another mistake.
    """

    errors: list[ProgramError] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    is_unsure: bool = False

    @contextmanager
    def noting(self, defines: Iterable[str] = ()) -> Iterator[None]:
        """Note the mistake that ends the block; what the block defines is broken then."""
        try:
            yield
        except ProgramError as error:
            if not (self.is_unsure and error.message.endswith((" is not defined", " is not a dimension"))):
                self.errors.append(error)
            # A name that is taken was meant to be another, which is missing then.
            self.is_unsure |= error.hint.endswith("another name")
            self.broken.update(defines)

    def spare(self, names: Iterable[str]) -> bool:
        """Whether none of the names is broken, nor the result of a broken step."""
        return self.broken.isdisjoint(name.partition(".")[0] for name in names)

    def refuse(self, note: str = "") -> None:
        """Raise the first mistake in the text, with the others, if there are any; a name is missing once.

        ``note`` stands below the last one of several.
        """
        kept: dict[object, list[ProgramError]] = {}
        for error in sorted(self.errors, key=lambda e: (e.where.line, e.where.column) if e.where else (0, 0)):
            is_missing = error.message.endswith(" is not defined")
            kept.setdefault(error.message if is_missing else (error.message, error.where), []).append(error)
        ordered = [same[0] for same in kept.values()]
        for first, *same in kept.values():
            lines = sorted({e.where.line for e in (first, *same) if e.where})[1:]
            if lines:
                also = f"also on line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"
                first.hint = "; ".join(filter(None, [first.hint, also]))
        for last in ordered[: MOST_OTHERS + 1][-1:] if note and len(ordered) > 1 else ():
            last.hint = "\n  ".join(filter(None, [last.hint, note]))
        for first in ordered[:1]:
            first.others = tuple(ordered[1:])
            raise first


class Token(NamedTuple):
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
    """A statement without comments, perhaps over several lines, or a part of it, with its positions.

    The statement is read as tokens once; its parts have slices of the same tokens.
    """

    source: Source
    whole: str
    line: int
    column: int  # 1-based column of the first character of the whole
    start: int = 0
    end: int = MAX_BYTES
    depth: int = 0  # brackets around the part
    whole_tokens: tuple[Token, ...] | None = field(default=None, repr=False)  # of a statement around the part

    @cached_property
    def text(self) -> str:
        """The characters of the part."""
        return self.whole[self.start : self.end]

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens, each with the depth of brackets around it; brackets and quotes are closed."""
        return (
            tuple(_tokens(self))
            if self.whole_tokens is None
            else tuple(t for t in self.whole_tokens if self.start <= t.start < self.end)
        )

    @property
    def outer(self) -> list[Token]:
        """The tokens outside brackets."""
        return [token for token in self.tokens if token.depth == self.depth]

    @property
    def place(self) -> Span:
        """The span of the part."""
        return self.span(self.start, self.end)

    def span(self, start: int, end: int) -> Span:
        """The span of ``whole[start:end]``; its width is that on its first line."""

        def place(at: int) -> tuple[int, int]:
            row, newline = self.whole.count("\n", 0, at), self.whole.rfind("\n", 0, at)
            return self.line + row, at - newline if row else at + self.column

        width = max(1, len(self.whole[start:end].split("\n")[0].rstrip()))
        return Span(*place(start), width, place(end))

    def at(self, token: Token) -> Span:
        """The span of a token."""
        return self.span(token.start, token.end)

    def cut(self, start: int, end: int, depth: int = 0) -> "Text":
        """The part ``whole[start:end]``, without spaces around it, inside so many brackets."""
        piece = self.whole[start:end]
        start += len(piece) - len(piece.lstrip())
        return Text(
            self.source,
            self.whole,
            self.line,
            self.column,
            start,
            start + len(piece.strip()),
            depth,
            self.tokens,
        )

    def fail(self, message: str, hint: str = "") -> NoReturn:
        """Raise a :class:`~mmopt.errors.ProgramError` at the whole part."""
        self.source.fail(self.place, message, hint)

    def require(self, holds: object, message: str, hint: str = "") -> None:
        """``fail`` unless something holds."""
        self.source.require(holds, self.place, message, hint)

    def fail_at(self, token: Token | None, message: str, hint: str = "") -> NoReturn:
        """Raise a :class:`~mmopt.errors.ProgramError` at a token, or the part (the statement, if empty)."""
        first = self.whole_tokens[0].start if self.whole_tokens else self.start
        if token is not None and token.depth == 0 and "\n" in self.whole[first : token.start]:
            goes_on = "indented deeper, this line goes on with the statement above"
            hint = "; ".join(filter(None, [hint, goes_on]))
        where = self if self.text or not self.whole_tokens else self.cut(first, self.whole_tokens[-1].end)
        self.source.fail(self.at(token) if token else where.place, message, hint)

    def limit(self) -> None:
        """Refuse a statement that is too long."""
        if len(self.text) > MAX_LENGTH:
            self.fail_at(
                None,
                f"a statement of more than {MAX_LENGTH} characters",
                "split it with 'let'; data are given with --given NAME=FILE",
            )


def _tokens(text: Text) -> Iterator[Token]:
    """The tokens of a statement, whose brackets and quotes have to be closed."""
    text.limit()
    opened: list[Token] = []
    at = text.start
    while match := _TOKEN.match(text.whole, at, text.end):
        kind = str(match.lastgroup)
        at, word = match.end(), match[kind]
        token = Token(kind, word, at - len(word), len(opened))
        if kind == "strange" or (kind == "name" and not word.isidentifier()):
            _strange(text, token)
        if token.text in CLOSING:
            if not opened:
                text.fail_at(token, f"this '{token.text}' closes nothing", "no bracket is open here")
            last = opened.pop()
            if PAIRS[last.text] != token.text:
                text.fail_at(
                    token,
                    f"this '{token.text}' meets an open '{last.text}'",
                    f"'{PAIRS[last.text]}' closes it",
                )
            token = token._replace(depth=len(opened))
        yield token
        if token.text in PAIRS:
            opened.append(token)
            if len(opened) > MAX_DEPTH:
                text.fail(f"more than {MAX_DEPTH} brackets inside each other", "split it with 'let'")
    if opened:
        last = opened[-1]
        text.fail_at(
            last, f"this '{last.text}' is not closed", f"its partner '{PAIRS[last.text]}' is missing"
        )


def _strange(text: Text, token: Token) -> NoReturn:
    """Refuse a character that no token begins with, or a name with one inside."""
    word = token.text
    inside = max((i for i in range(1, len(word)) if word[:i].isidentifier()), default=0)
    char = word[inside]
    shown = f"'{char}'" if char.isprintable() else f"U+{ord(char):04X}"
    message, hint = f"the character {shown} has no meaning here", ""
    if char in "\"'":
        message, hint = "this quote is not closed", "a text in quotes ends on the line on which it begins"
        if re.match(r"[\w)\]]", text.whole[max(0, token.start + inside - 1) :]):
            message, hint = "a quote is no transpose", "the transpose is written X.T"
    elif char in LOOK_ALIKES:
        hint = f"write {LOOK_ALIKES[char]}"
    text.fail_at(token._replace(text=char, start=token.start + inside), message, hint)


def check_expression(text: Text) -> None:
    """Refuse the first token that is not allowed at its place in an expression."""
    if not text.tokens:
        text.fail_at(None, "an expression is missing here")
    for previous, token in zip([None, *text.tokens], text.tokens, strict=False):
        for is_wrong, message, hint in _mistakes(text, previous, token):
            if is_wrong:
                text.fail_at(token, message, hint)
    last = text.tokens[-1]
    if last.text in (*OPERATORS, ".", ":"):
        text.fail_at(last, f"nothing stands after '{last.text}'", ALLOWED)


def _mistakes(text: Text, previous: Token | None, token: Token) -> Iterator[tuple[bool, str, str]]:
    """Possible mistakes of a token after the previous one: whether it is one, the message, what to do."""
    word, is_outer = token.text, token.depth == text.depth
    if not is_outer and _is_clause(text, token):  # of a sum over entries
        return
    if previous is not None and _is_clause(text, previous) and previous.depth > text.depth:
        previous = None
    of_python = f"'{word}' is a word of Python and has no meaning here"
    is_transpose = previous is not None and _is_operand(previous) and previous.end == token.start
    instead = "the transpose is written X.T" if is_transpose else "write it without quotes"
    yield token.kind == "string", "a text in quotes cannot stand in an expression", instead
    yield token.kind == "name" and keyword.iskeyword(word), *PYTHON_WORDS.get(word, (of_python, ""))
    is_strange = token.kind == "operator" and word not in (*OPERATORS, *RELATIONS, *PUNCTUATION)
    yield (
        is_strange,
        *STRANGE_OPERATORS.get(
            "^T" if re.match(r"\^T\b", text.whole[token.start : token.start + 3]) else word,
            (f"'{word}' has no meaning here", ALLOWED),
        ),
    )
    yield (
        word in RELATIONS and (word != "=" or is_outer),
        f"'{word}' is here where an expression is expected",
        "write ==" if word == "=" else "relations belong under 'subject to' and 'require'",
    )
    is_binary = word in OPERATORS and word not in SIGNS
    if previous is None or previous.text in ("(", "[", ",", ":", "="):
        before = f"nothing stands before '{word}'"
        yield is_binary, before, "write a name or a number there"
        yield (
            word == "." or (word == "," and (previous is None or previous.text != ":")),
            before,
            ALLOWED,
        )
    elif previous.text in OPERATORS:
        ends = word in (")", "]", ",", ":", ".") or is_binary
        yield ends, f"there is nothing between '{previous.text}' and '{word}'", ALLOWED
    elif previous.text == ".":
        dotted = f"{word} is entry by entry: leave the dot out" if word in ("*", "/", "**") else ""
        yield token.kind != "name", f"'{word}' comes after a dot", dotted or "the transpose is written X.T"
    else:
        is_next = _is_operand(previous) and _is_operand(token) and word not in (")", "]")
        word_of = PYTHON_WORDS.get(word) or PYTHON_WORDS.get(previous.text)
        yield (
            is_next,
            *(
                word_of
                or (f"an operator is missing before '{word}'", f"a product is written with * or @; {ALLOWED}")
            ),
        )
    yield (
        word == "," and is_outer,
        "',' cannot stand between two expressions here",
        "write one statement a line",
    )


def _is_clause(text: Text, token: Token) -> bool:
    """Whether a token is a word or a relation of ``for i in n if i != j``, inside round brackets."""
    if token.text not in (*CLAUSE, *RELATIONS):
        return False
    before = [t for t in text.tokens if t.start < token.start]
    if [t.text for t in before if t.depth == token.depth - 1 and t.text in PAIRS][-1:] != ["("]:
        return False
    words = [t.text for t in before if t.depth == token.depth and t.text in CLAUSE]
    return token.text in CLAUSE or (token.text in RELATIONS and token.text != "=" and words[-1:] == ["if"])


def _is_operand(token: Token) -> bool:
    """Whether an operand can end with this token."""
    return token.kind in ("name", "number", "string") or token.text in (")", "]")
