"""The statements inside a section: declarations, assignments, constraints."""

from __future__ import annotations

import ast
import keyword

from mmopt.errors import suggest
from mmopt.language.atoms.dims import Dim
from mmopt.language.atoms.table import ATOMS, FUNCTIONS
from mmopt.language.syntax.expression import parse_dim, parse_expr, parse_relation
from mmopt.language.syntax.grammar import WORDS
from mmopt.language.syntax.source import Text, Token, plain
from mmopt.language.syntax.tree import (
    Assignment,
    Constraint,
    Declaration,
    Family,
    Multiplier,
    Span,
    Start,
)

__all__ = [
    "KINDS",
    "assignment",
    "constraint",
    "declaration",
    "is_declaration",
    "multipliers",
    "name_of",
    "split_at",
    "start",
    "string_value",
]

# kind -> number of dimensions in its brackets
KINDS = {"scalar": 0, "dim": 0, "vector": 1, "matrix": 2, "psd": 2, "symmetric": 2}
EXAMPLES = {
    "scalar": "alpha: scalar",
    "dim": "k: dim = 2*n",
    "vector": "c: vector[m]",
    "matrix": "W: matrix[m, n]",
    "psd": "X: psd[n, n]",
    "symmetric": "M: symmetric[n, n]",
}
RESERVED = {
    "alternate",
    "dual",
    "for",
    "in",
    "inf",
    "norm",
    "objective",
    "on",
    "repeat",
    "solve",
    "start",
    "until",
}


def split_at(text: Text, word: str) -> tuple[Text, Text | None]:
    """The statement before and after the first ``word`` outside brackets."""
    for token in text.tokens():
        if token.depth == 0 and token.text == word:
            return text.cut(0, token.start), text.cut(token.end)
    return text, None


def string_value(text: Text) -> str:
    """The one string of a statement."""
    tokens = text.tokens()
    if len(tokens) != 1 or tokens[0].kind != "string":
        text.fail('a text in quotes is expected: "…"')
    return _unquote(text, tokens[0])


def _unquote(text: Text, token: Token) -> str:
    try:
        return str(ast.literal_eval(token.text))
    except (SyntaxError, ValueError):
        text.fail_at(token, "this text in quotes cannot be read", "write \\\\ for a backslash")


def name_of(text: Text) -> str:
    """The one name of a text; words of the language and of Python are refused."""
    word = text.text
    if keyword.iskeyword(word):
        hint = WORDS[word][1] if word == "lambda" else ""
        text.fail(f"'{word}' is a word of Python and cannot be a name", hint=hint)
    if not word.isidentifier():
        shown = f"'{word}' is not a name" if word else "a name is missing here"
        text.fail(shown, hint="letters, digits and _, not beginning with a digit")
    if plain(word) in ATOMS or plain(word) in RESERVED:
        text.fail(f"'{word}' is a word of the language and cannot be a name")
    return plain(word)


def is_declaration(text: Text) -> bool:
    """Whether the statement reads ``name: kind …``."""
    tokens = text.tokens()
    return len(tokens) > 1 and tokens[0].kind == "name" and tokens[1].text == ":"


def _parts(text: Text) -> list[Text]:
    """What stands between the commas outside brackets."""
    cuts = [token.start for token in text.tokens() if token.depth == 0 and token.text == ","]
    pieces = [
        text.cut(a, b) for a, b in zip([0, *(c + 1 for c in cuts)], [*cuts, len(text.text)], strict=True)
    ]
    return [piece for piece in pieces if piece.text]


def multipliers(text: Text) -> list[Multiplier]:
    """Declarations with ``from dual(name)`` or ``from expression``, separated by commas."""
    found = []
    for part in _parts(text):
        left, right = split_at(part, "from")
        declared = declaration(left)
        tokens = right.tokens() if right is not None else []
        words = [token.text for token in tokens]
        if right is None:
            found.append(Multiplier(declared))
        elif words[:2] != ["dual", "("]:
            found.append(Multiplier(declared, start=parse_expr(right, FUNCTIONS)))
        elif len(words) in (4, 9) and tokens[2].kind == "name":
            span = right.span(tokens[2].start, tokens[2].end)
            block = _diagonal_block(right, tokens[4:]) if len(words) == 9 else None
            found.append(Multiplier(declared, plain(words[2]), span, block=block))
        else:
            right.fail("a multiplier starts from a constraint", hint="write: from dual(name)")
    return found


def _diagonal_block(text: Text, tokens: list[Token]) -> int:
    """The number i of ``[i, i]``."""
    first, second = tokens[1], tokens[3]
    if (
        [t.text for t in tokens[::2]] != ["[", ",", "]"]
        or first.text != second.text
        or not first.text.isdigit()
    ):
        text.fail("a multiplier of a psd block is one of a diagonal block", hint="write: dual(name)[1, 1]")
    return int(first.text)


def start(text: Text) -> Start:
    """``name: X = expression, Y = expression``, or ``random`` alone."""
    head, rest = split_at(text, ":")
    if rest is None and head.text != "random":
        text.fail("a start has a name and values", hint="write: flat: X = eye(n), or random")
    name = name_of(head)
    values = tuple(assignment(part) for part in _parts(rest)) if rest is not None else ()
    return Start(name, values, text.span(0, len(head.text)))


def declaration(text: Text) -> Declaration:
    """``name: kind[dims] sign = source "doc"``."""
    head, rest = split_at(text, ":")
    if rest is None:
        text.fail("a declaration is expected", hint="write: name: matrix[m, n]")
    name = name_of(head)
    tokens = rest.tokens()
    kind = tokens[0].text if tokens else ""
    if kind not in KINDS:
        shown = f"there is no kind '{kind}'" if kind else "a kind is missing here"
        rest.fail(shown, 0, max(1, len(kind)), suggest(kind, KINDS))
    dims, spans, at = _dims(rest, tokens)
    if len(dims) != KINDS[kind]:
        message = f"'{kind}' takes {_count(KINDS[kind], 'dimension')}, not {len(dims)}"
        rest.fail(message, 0, len(kind), f"for example {EXAMPLES[kind]}")
    sign = source = doc = ""
    source_span: Span | None = None
    while at < len(tokens):
        token = tokens[at]
        if token.text in (">=", ">", "<=", "<") and not sign:
            if token.text not in (">=", ">") or at + 1 >= len(tokens) or tokens[at + 1].text != "0":
                rest.fail_at(token, "a sign is '>= 0' or '> 0'", "other limits are constraints")
            sign, at = token.text, at + 2
        elif token.text == "=" and not source:
            at, source, source_span = _source(rest, tokens, at + 1)
        elif token.kind == "string" and not doc:
            doc, at = _unquote(rest, token), at + 1
        else:
            rest.fail_at(
                token,
                f"'{token.text}' cannot stand here in a declaration",
                'write: name: kind[dimensions] >= 0 = source "what it is"',
            )
    span = text.span(0, len(head.text))
    return Declaration(name, kind, dims, span, sign, source, doc, spans, source_span)


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'s' * (number != 1)}"


def _source(text: Text, tokens: list[Token], at: int) -> tuple[int, str, Span]:
    """``workload.matrix``: the token after it, its name, and where it stands."""
    start = at
    while at < len(tokens) and (tokens[at].kind == "name" or tokens[at].text == "."):
        at += 1
    if at == start:
        text.fail_at(tokens[start - 1], "a source is missing after '='", "for example workload.matrix")
    span = text.span(tokens[start].start, tokens[at - 1].end)
    return at, "".join(t.text for t in tokens[start:at]), span


def _dims(text: Text, tokens: list[Token]) -> tuple[tuple[Dim, ...], tuple[Span, ...], int]:
    """The dimensions in brackets after the kind, where they stand, and the token after them."""
    if len(tokens) < 2 or tokens[1].text != "[":
        return (), (), 1
    end = next(i for i, t in enumerate(tokens) if i > 1 and t.text == "]" and t.depth == 0)
    cuts = [t.start for t in tokens[2:end] if t.text == "," and t.depth == 1]
    starts = [tokens[1].end, *(c + 1 for c in cuts)]
    pieces = [text.cut(a, b) for a, b in zip(starts, [*cuts, tokens[end].start], strict=True)]
    spans = tuple(piece.span(0, len(piece.text)) for piece in pieces)
    return tuple(_dim(piece) for piece in pieces), spans, end + 1


def _dim(text: Text) -> Dim:
    for token in text.tokens():
        if token.kind == "name":
            name_of(text.cut(token.start, token.end))
    return parse_dim(text)


def assignment(text: Text) -> Assignment:
    """``name = expr`` or ``name: kind[dims] = expr``."""
    head, right = split_at(text, "=")
    if right is None:
        text.fail("an assignment is expected", hint="write: name = expression")
    if is_declaration(head):
        declared = declaration(head)
        return Assignment(declared.name, parse_expr(right, FUNCTIONS), declared.span, declared)
    name = name_of(head)
    return Assignment(name, parse_expr(right, FUNCTIONS), text.span(0, len(head.text)))


def constraint(text: Text) -> Constraint:
    """``name: left op right for j in m``; name and clause may be absent."""
    name = ""
    body = text
    if is_declaration(text):
        head, rest = split_at(text, ":")
        name = name_of(head)
        body = rest if rest is not None else text
    relation, clause = split_at(body, "for")
    family = None
    if clause is not None:
        index, dim = split_at(clause, "in")
        if dim is None:
            clause.fail("a family of constraints says over what it runs", hint="write: for j in m")
        if "(" in dim.text:
            dim.fail("a family runs over a dimension", hint="write: for j in m")
        family = Family(name_of(index), _dim(dim), clause.span(0, len(clause.text)))
    span = text.span(0, len(name) if name else len(text.text))
    return Constraint(name, parse_relation(relation, FUNCTIONS), span, family)
