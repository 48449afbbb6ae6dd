"""What may follow what in an expression: mistakes found token by token, before Python's parser.

Python's parser reports an error with another text and place from version to version, and reads
some things that have no meaning here (``lambda``, ``a if b else c``); these are refused at the token.
"""

from __future__ import annotations

import keyword

from mmopt.language.syntax.source import RELATIONS, Text, Token

__all__ = ["check_tokens"]

OPERATORS = ("+", "-", "*", "/", "**", "@")
SIGNS = ("+", "-")
PUNCTUATION = ("(", ")", "[", "]", ",", ":", ".")
HINT = "the operators are + - * / ** @ [ ] ( ) and .T"

WORDS = {
    "lambda": ("'lambda' is a word of Python and cannot be a name", "call the multiplier mu, d or p"),
    "for": ("'for' cannot stand inside an expression", "a family of constraints ends with: for j in m"),
    "if": ("'if' cannot stand in an expression", "a program has one meaning for all data"),
    "and": ("'and' cannot stand in an expression", "write two constraints"),
    "or": ("'or' cannot stand in an expression", "write two programs and compare them"),
}
STRANGE = {
    "^": ("'^' is not a power", "write **"),
    "//": ("'//' has no meaning here", "write /"),
    "{": ("'{' has no meaning here", "write ( ) for grouping, [ ] for an index or a block matrix"),
    ";": ("';' has no meaning here", "write one statement a line"),
}


def check_tokens(text: Text, tokens: list[Token]) -> None:
    """Raise a :class:`~mmopt.errors.ProgramError` at the first token that cannot stand where it does."""
    if not tokens:
        text.fail("an expression is missing here", 0, 1)
    for previous, token in zip([None, *tokens], tokens, strict=False):
        _known(text, token)
        if token.text in RELATIONS and not (token.text == "=" and token.depth):
            hint = "write ==" if token.text == "=" else "relations stand under 'subject to' and 'require'"
            text.fail_at(token, f"'{token.text}' stands here where an expression is expected", hint)
        if previous is None or previous.text in ("(", "[", ",", ":", "="):
            if token.text in OPERATORS and token.text not in SIGNS:
                text.fail_at(token, f"nothing stands before '{token.text}'", "write a name or a number there")
            if token.text == "." or (token.text == "," and (previous is None or previous.text != ":")):
                text.fail_at(token, f"nothing stands before '{token.text}'", HINT)
        elif previous.text in OPERATORS and (token.text in (")", "]", ",", ":", ".") or _binary(token)):
            text.fail_at(token, f"nothing stands between '{previous.text}' and '{token.text}'", HINT)
        elif previous.text == "." and token.kind != "name":
            text.fail_at(token, f"'{token.text}' stands after a dot", "the transpose is written X.T")
        elif _ends(previous) and token.kind in ("name", "number", "string"):
            text.fail_at(token, f"an operator is missing before '{token.text}'", HINT)
        if token.text == "," and token.depth == 0:
            text.fail_at(token, "',' cannot stand between two expressions here", "write one statement a line")
    if tokens[-1].text in (*OPERATORS, ".", ":"):
        text.fail_at(tokens[-1], f"nothing stands after '{tokens[-1].text}'", HINT)


def _known(text: Text, token: Token) -> None:
    if token.kind == "string":
        text.fail_at(token, "a text in quotes cannot stand in an expression")
    if token.kind == "name" and (keyword.iskeyword(token.text)):
        word = f"'{token.text}' is a word of Python and has no meaning here"
        message, hint = WORDS.get(token.text, (word, ""))
        text.fail_at(token, message, hint)
    if token.kind == "operator" and token.text not in (*OPERATORS, *RELATIONS, *PUNCTUATION):
        message, hint = STRANGE.get(token.text, (f"'{token.text}' has no meaning here", HINT))
        text.fail_at(token, message, hint)


def _binary(token: Token) -> bool:
    return token.text in OPERATORS and token.text not in SIGNS


def _ends(token: Token) -> bool:
    """Whether an operand can end with this token."""
    return token.kind in ("name", "number", "string") or token.text in (")", "]")
