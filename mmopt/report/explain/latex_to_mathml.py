"""MathML for the LaTeX that ``typeset`` writes: browsers print it without any help from outside."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from mmopt.language.print.typeset import GREEK

__all__ = ["mathml"]

SYMBOLS = {
    "le": "≤",
    "ge": "≥",
    "succeq": "⪰",
    "preceq": "⪯",
    "in": "∈",
    "forall": "∀",
    "leftarrow": "←",
    "times": "×",
    "cdot": "·",
    "circ": "∘",
    "dots": "…",
    "infty": "∞",
    "ne": "≠",
    "sum": "∑",
    "|": "‖",
    "{": "{",
    "}": "}",
}
LETTERS_OF_GREEK = {**GREEK, "lambda": "λ"}  # no name of a program: a word of Python
SPACES = {",": "0.17em", " ": "0.33em", "quad": "1em"}
# Alphabets, for the letters that are printed in them.
LETTERS = {"mathbb": {"R": "ℝ", "S": "𝕊"}, "mathbf": {"1": "𝟏"}}
UPRIGHT = ("operatorname", "mathrm", "mathsf")
UPRIGHT_MARK = ' mathvariant="normal"'
FENCE = '<mo fence="true" stretchy="true" lspace="0em" rspace="0em">'
ESCAPED = {",": " ", "textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~"}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\s+|.", re.DOTALL)


def mathml(latex: str) -> str:
    """A ``<math>`` element; a command that is not known is printed as its name, as ``\\log`` is."""
    inner = _LatexReader(_TOKEN.findall(latex)).row(())
    # A formula that begins with a relation goes on after a space: no room before that.
    inner = re.sub(r"^<mo>", '<mo lspace="0em">', inner)
    return f'<math displaystyle="true"><mrow>{inner}</mrow></math>'


@dataclass
class _LatexReader:
    """Reads tokens from left to right; ``at`` is the next one."""

    tokens: list[str]
    at: int = 0

    def peek(self) -> str:
        """The next token that is no space, "" at the end."""
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def row(self, ends: tuple[str, ...]) -> str:
        """Everything up to one of the ends, which is left where it is."""
        items: list[str] = []
        while self.peek() and self.peek() not in ends:
            if self.peek() in "^_":
                items.append(self.scripts(items.pop() if items else "<mrow></mrow>"))
            else:
                items.append(self.atom())
        return "".join(items)

    def scripts(self, base: str) -> str:
        """A base with what is below it, above it, or both."""
        found: dict[str, str] = {}
        while self.peek() in ("^", "_") and self.peek() not in found:
            kind = self.take()
            found[kind] = self.atom()
        if len(found) == 2:
            return f"<msubsup>{base}{found['_']}{found['^']}</msubsup>"
        tag = "msup" if "^" in found else "msub"
        return f"<{tag}>{base}{next(iter(found.values()))}</{tag}>"

    def atom(self) -> str:
        """One symbol, group or command with its arguments."""
        token = self.take()
        if token == "{":
            inner = self.row(("}",))
            self.take()
            return f"<mrow>{inner}</mrow>"
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[:1].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        return _operator({"-": "−", "*": "∗"}.get(token, token))

    def command(self, name: str) -> str:
        match name:
            case "left":
                return self.fenced()
            case "frac":
                return f"<mfrac>{self.full_size()}{self.full_size()}</mfrac>"
            case "sqrt":
                return f"<msqrt>{self.atom()}</msqrt>"
            case "begin":
                return self.table()
            case "text":
                return f"<mtext>{self.letters()}</mtext>"
        if name in LETTERS:
            letter = self.letters()
            letter = LETTERS[name].get(letter, letter)
            return f"<mn>{letter}</mn>" if name == "mathbf" else f"<mi>{letter}</mi>"
        if name in UPRIGHT:
            return f"<mi{UPRIGHT_MARK}>{self.letters()}</mi>"
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"/>'
        if name in LETTERS_OF_GREEK:
            # Small letters are slanted, capitals upright, as LaTeX prints them.
            return f"<mi{UPRIGHT_MARK * name[0].isupper()}>{LETTERS_OF_GREEK[name]}</mi>"
        if name in SYMBOLS:
            return _operator(SYMBOLS[name])
        return f"<mi{UPRIGHT_MARK}>{html.escape(name)}</mi>"

    def full_size(self) -> str:
        """A part of a fraction as large as the fraction is, so that one inside another can be read."""
        return f'<mrow displaystyle="true">{self.atom()}</mrow>'

    def fenced(self) -> str:
        left = self.delimiter()
        inner = self.row((r"\right",))
        self.take()
        fences = (left, self.delimiter())
        # Browsers give room to fences that may grow, even where they do not.
        is_tall = "<mfrac>" in inner or "<mtable>" in inner
        written = [
            ("" if f == "." else FENCE + html.escape(f) + "</mo>" if is_tall else _operator(f))
            for f in fences
        ]
        return f"<mrow>{written[0]}{inner}{written[1]}</mrow>"

    def delimiter(self) -> str:
        token = self.take()
        return SYMBOLS.get(token[1:], token[1:]) if token.startswith("\\") else token

    def letters(self) -> str:
        """The text of a group, spaces kept, or one letter."""
        if self.peek() != "{":
            return html.escape(self.take())
        self.take()
        start, depth = self.at, 1
        while depth and self.at < len(self.tokens):
            depth += (self.tokens[self.at] == "{") - (self.tokens[self.at] == "}")
            self.at += 1
        inner = self.tokens[start : self.at - (not depth)]
        return html.escape("".join(_letter(token) for token in inner if token not in ("{", "}")))

    def table(self) -> str:
        """A ``bmatrix``: rows by ``\\\\``, columns by ``&``."""
        self.letters()
        lines: list[list[str]] = [[]]
        while True:
            lines[-1].append(self.row(("&", "\\\\", r"\end")))
            end = self.take()
            if end == "\\\\":
                lines.append([])
            elif end != "&":
                break
        self.letters()
        body = "".join(
            "<mtr>" + "".join(f"<mtd><mrow>{entry}</mrow></mtd>" for entry in line) + "</mtr>"
            for line in lines
        )
        return f"<mrow>{FENCE}[</mo><mtable>{body}</mtable>{FENCE}]</mo></mrow>"


def _letter(token: str) -> str:
    name = token[1:]
    return ESCAPED.get(name, name) if name and token.startswith("\\") else token


def _operator(text: str) -> str:
    # Brackets that the source does not stretch are not to be stretched either; a colon is no relation here.
    mark = ' stretchy="false" lspace="0em" rspace="0em"' if text in "()[]|‖{}:/" else ""
    return f"<mo{mark}>{html.escape(text)}</mo>"
