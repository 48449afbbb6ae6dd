"""An explanation as one HTML page, and formulas in MathML.

MathML is made of the LaTeX that ``mmopt.language.typeset`` and the pages of the site write: browsers print it
without any help from outside. Trees open and close; the page loads nothing.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from itertools import zip_longest

from mmopt.language.typeset import GREEK, Sentence
from mmopt.report.explain.explained_facts import Facts, NodeFacts
from mmopt.report.explain.explanation_sections import (
    Block,
    Excerpt,
    Listing,
    Paragraph,
    Prose,
    Tree,
    arranged,
)
from mmopt.report.table_style import Table

SYMBOLS = {
    "approx": "≈",
    "bigotimes": "⨂",
    "cdot": "·",
    "circ": "∘",
    "dots": "…",
    "forall": "∀",
    "ge": "≥",
    "in": "∈",
    "infty": "∞",
    "int": "∫",
    "langle": "⟨",
    "ldots": "…",
    "le": "≤",
    "leftarrow": "←",
    "Longleftrightarrow": "⟺",
    "lvert": "|",
    "mapsto": "↦",
    "ne": "≠",
    "notin": "∉",
    "otimes": "⊗",
    "partial": "∂",
    "pm": "±",
    "preceq": "⪯",
    "prec": "≺",
    "prod": "∏",
    "propto": "∝",
    "rangle": "⟩",
    "rvert": "|",
    "setminus": "∖",
    "subseteq": "⊆",
    "succ": "≻",
    "succeq": "⪰",
    "sum": "∑",
    "times": "×",
    "to": "→",
    "|": "‖",
}
# GREEK lacks lambda, which is no name in Python. ell, too, is printed as a letter.
LETTERS_OF_GREEK = {**GREEK, "lambda": "λ", "varepsilon": "ε", "varphi": "φ", "ell": "ℓ"}
SPACES = {",": "0.17em", " ": "0.33em", ";": "0.28em", "quad": "1em", "qquad": "2em"}
FUNCTIONS = ("cos", "cosh", "det", "exp", "inf", "lim", "ln", "log", "max", "min", "sin", "sinh", "sup")
# Alphabets, for the letters that are printed in them.
LETTERS = {"mathbb": {"R": "ℝ", "S": "𝕊"}, "mathbf": {"1": "𝟏"}}
UPRIGHT = ("mathrm", "mathsf")
UPRIGHT_MARK = ' mathvariant="normal"'
FENCE = '<mo fence="true" stretchy="true" lspace="0em" rspace="0em">'
SIZED_FENCE = '<mo stretchy="true" minsize="1.8em" maxsize="1.8em" lspace="0em" rspace="0em">'
BRACKET_SIZES = ("big", "Big", "bigl", "bigr", "Bigl", "Bigr")
ENVIRONMENTS = {
    "bmatrix": ("[", "]"),
    "pmatrix": ("(", ")"),
    **dict.fromkeys(("aligned", "align", "align*", "split"), (".", ".")),
}
ESCAPED = {",": " ", "textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~"}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\s+|.", re.DOTALL)
_THIN = '<mspace width="0.17em"/>'
# The name of a function with what is below or above it; signs; what a number or a letter may end with.
_FUNCTION = re.compile(r"(?:<m\w+>)?<m[io][^>]*>[a-zA-Z]{2,}</m[io]>")
_LIMITS = re.compile(r"<mo>[∑∏⨂]</mo>|<mo [^>]*>(?:min|max|inf|sup|lim)</mo>")
_OPERATOR = re.compile(r"<mo[ >]")
_SIGN = re.compile(r"<mo>([+−±])</mo>")
_CLOSING = re.compile(r"<mo[^>]*>[)\]}|‖!′]</mo>")


class LatexError(ValueError):
    """LaTeX that cannot be printed as MathML."""


def mathml(latex: str, display: str = "") -> str:
    """A ``<math>`` element.

    display : "inline" or "block"; "" is as large as a block, in a line.

    Raises
    ------
    LatexError : braces that do not match, a command that is not known, an argument that is missing.
    """
    reader = _LatexReader(_TOKEN.findall(latex))
    inner = reader.row(())
    if reader.peek():
        raise LatexError("braces that do not match")
    # A formula that begins with a relation goes on after a space: no room before that.
    inner = re.sub(r"^<mo>", '<mo lspace="0em">', inner)
    size = f'display="{display}"' if display else 'displaystyle="true"'
    return f"<math {size}><mrow>{inner}</mrow></math>"


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
        """The next token that is no space; the reader is behind it then."""
        token = self.peek()
        self.at += 1
        return token

    def row(self, ends: tuple[str, ...]) -> str:
        """Everything up to one of the ends, which is not taken."""
        items: list[str] = []
        while self.peek() and self.peek() not in (*ends, "}"):
            if self.peek() in "^_":
                items.append(self.scripts(items.pop() if items else "<mrow></mrow>"))
            else:
                items.append(self.atom())
        if ends and not self.peek():
            raise LatexError("braces that do not match")
        return "".join(map(_spaced, ["", *items], items))

    def scripts(self, base: str) -> str:
        """A base with what is below it, above it, or both; sums and maxima in a line have it beside them."""
        scripts: dict[str, str] = {}
        while self.peek() in ("^", "_") and self.peek() not in scripts:
            kind = self.take()
            scripts[kind] = self.atom()
        tags = ("munder", "mover", "munderover") if _LIMITS.fullmatch(base) else ("msub", "msup", "msubsup")
        tag = tags[2 if len(scripts) > 1 else int("^" in scripts)]
        return f"<{tag}>{base}{''.join(scripts[kind] for kind in '_^' if kind in scripts)}</{tag}>"

    def atom(self) -> str:
        """One symbol, group or command with its arguments."""
        token = self.take()
        if token in ("", "}"):
            raise LatexError("an argument is missing")
        if token == "&":
            raise LatexError("a '&' outside of a table")
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
        return _operator({"-": "−", "*": "∗", "'": "′"}.get(token, token))

    def command(self, name: str) -> str:
        """A command with its arguments; LatexError for one that is not known."""
        match name:
            case "left":
                return self.fenced()
            case "frac" | "tfrac" | "dfrac":
                return f"<mfrac>{self.full_size()}{self.full_size()}</mfrac>"
            case "sqrt":
                return f"<msqrt>{self.atom()}</msqrt>"
            case "hat":
                return f'<mover accent="true">{self.atom()}<mo>^</mo></mover>'
            case "begin":
                return self.table()
            case "text":
                return f"<mtext>{self.letters()}</mtext>"
            case "operatorname":
                return _upright(self.letters())
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
        if name in BRACKET_SIZES:
            return f"{SIZED_FENCE}{escape(self.delimiter())}</mo>"
        if name in SYMBOLS:
            return _operator(SYMBOLS[name])
        if name in FUNCTIONS:
            return _upright(name)
        if len(name) > 1 or name.isalpha():
            raise LatexError(f"'\\{name}' is not known")
        return _operator(name)

    def full_size(self) -> str:
        """A part of a fraction as large as the fraction is, so that one inside another can be read."""
        return f'<mrow displaystyle="true">{self.atom()}</mrow>'

    def fenced(self) -> str:
        """The group from ``\\left`` to ``\\right``, between its brackets."""
        left = self.delimiter()
        inner = self.row((r"\right",))
        self.take()
        # Browsers leave room around fences that may grow, even where they do not.
        is_tall = "<mfrac>" in inner or "<mtable>" in inner
        return f"<mrow>{_fence(left, is_tall)}{inner}{_fence(self.delimiter(), is_tall)}</mrow>"

    def delimiter(self) -> str:
        """The bracket after ``\\left``, ``\\right`` or a size."""
        token = self.take()
        return SYMBOLS.get(token[1:], token[1:]) if token.startswith("\\") else token

    def letters(self) -> str:
        """The text of a group, spaces kept, or one letter."""
        if self.peek() != "{":
            return escape(self.take())
        self.take()
        start, depth = self.at, 1
        while depth and self.at < len(self.tokens):
            depth += (self.tokens[self.at] == "{") - (self.tokens[self.at] == "}")
            self.at += 1
        inner = self.tokens[start : self.at - (not depth)]
        return escape("".join(_letter(token) for token in inner if token not in ("{", "}")))

    def table(self) -> str:
        """A matrix or lines: rows by ``\\\\``, columns by ``&``."""
        environment = self.letters()
        if environment not in ENVIRONMENTS:
            raise LatexError(f"the environment '{environment}' is not known")
        left, right = ENVIRONMENTS[environment]
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
        return f"<mrow>{_fence(left)}<mtable>{body}</mtable>{_fence(right)}</mrow>"


def _fence(delimiter: str, is_tall: bool = True) -> str:
    """A bracket, stretched where it is tall; nothing for a dot."""
    if delimiter == ".":
        return ""
    return f"{FENCE}{escape(delimiter)}</mo>" if is_tall else _operator(delimiter)


def _upright(name: str) -> str:
    """The name of a function; browsers print several letters upright."""
    if name in ("min", "max", "inf", "sup", "lim"):
        return f'<mo movablelimits="true" lspace="0em" rspace="0em">{name}</mo>'
    return f"<mi{UPRIGHT_MARK * (len(name) == 1)}>{name}</mi>"


def _spaced(before: str, item: str) -> str:
    """An item of a row with the space that it needs after the one before it.

    A function keeps a little room, but not to the bracket that follows; a sign after a relation or an opening
    bracket is that of what follows.
    """
    is_bracket = _OPERATOR.match(item.removeprefix("<mrow>"))
    if _FUNCTION.match(before) and not (is_bracket or item.startswith("<mspace")):
        return _THIN + item
    if _FUNCTION.match(item) and before and not (_OPERATOR.match(before) or before.startswith("<mspace")):
        return _THIN + item
    if _OPERATOR.match(before) and not (_CLOSING.match(before) or _FUNCTION.match(before)):
        return _SIGN.sub(r'<mo form="prefix">\1</mo>', item)
    return item


def _letter(token: str) -> str:
    """A token of a text: an escaped character as itself."""
    name = token[1:]
    return ESCAPED.get(name, name) if name and token.startswith("\\") else token


def _operator(text: str) -> str:
    """A sign, relation or bracket."""
    # Brackets are stretched only where the source stretches them; a colon is no relation here.
    mark = ' stretchy="false" lspace="0em" rspace="0em"' if text in "()[]⟨⟩|‖{}:/" else ""
    return f"<mo{mark}>{escape(text)}</mo>"


# Text and background are those of the page around it, a notebook or a browser in light or dark mode; other
# colours are mixed with that of the text. A class name that is repeated three times has priority over
# JupyterLab's rules for tables (to the right, striped).
STYLE = """
.mmopt-explain { --faint: color-mix(in srgb, currentcolor 68%, transparent);
  --line: color-mix(in srgb, currentcolor 20%, transparent);
  --bad: color-mix(in srgb, #e5352b 80%, currentcolor);
  --constant: var(--faint); --affine: color-mix(in srgb, #1f7aeb 75%, currentcolor);
  --convex: color-mix(in srgb, #229a41 75%, currentcolor);
  --concave: color-mix(in srgb, #9259e8 75%, currentcolor);
  max-width: 60rem; text-align: left; line-height: 1.5; scrollbar-color: var(--faint) transparent; }
.mmopt-explain h1 { font-size: 1.6em; line-height: 1.2; }
.mmopt-explain h2 { font-size: 1.25em; margin-top: 2em;
  padding-bottom: .2em; border-bottom: 1px solid var(--line); }
.mmopt-explain h3 { font-size: 1.05em; }
.mmopt-explain p { overflow-x: auto; overflow-y: hidden; }
.mmopt-explain math { font-size: 1.1em; }
.mmopt-explain table { border-collapse: collapse; display: block; overflow-x: auto; margin: .8em 0;
  font-size: 1em; }
.mmopt-explain.mmopt-explain.mmopt-explain :is(tr, th, td) { padding: .25em 1em .25em 0; text-align: left;
  vertical-align: top; background: none; border: none; line-height: 1.5; font-size: 1em; }
.mmopt-explain tbody th { white-space: nowrap; }
.mmopt-explain thead th { color: var(--faint); font-weight: normal; }
.mmopt-explain.mmopt-explain.mmopt-explain thead tr { border-bottom: 1px solid var(--line); }
.mmopt-explain .program th { color: var(--faint); font-weight: normal; white-space: nowrap; }
.mmopt-explain .program td + td { color: var(--faint); }
.mmopt-explain.mmopt-explain.mmopt-explain .program :is(th, td) { vertical-align: baseline; }
.mmopt-explain.mmopt-explain.mmopt-explain .number { text-align: right; white-space: nowrap; }
.mmopt-explain :is(.whole, .inner) { white-space: nowrap; }
.mmopt-explain.mmopt-explain.mmopt-explain .inner { padding-left: 1em; }
.mmopt-explain pre { overflow-x: auto; color: inherit; background: none; font-family: monospace; }
.mmopt-explain .strong { font-weight: 600; margin-bottom: .2em; }
.mmopt-explain .loud { color: var(--bad); font-weight: 600; }
.mmopt-explain .tree, .mmopt-explain .tree ul { list-style: none; margin: 0; padding-left: 1.4em; }
.mmopt-explain .tree ul { border-left: 1px solid var(--line); margin-left: .3em; }
.mmopt-explain .tree { padding-left: 0; overflow-x: auto; }
.mmopt-explain .tree li { margin: .3em 0; }
.mmopt-explain summary { cursor: pointer; }
.mmopt-explain .words { white-space: pre-wrap; }
.mmopt-explain .badge { border: 1px solid currentcolor; border-radius: 1em; padding: 0 .6em; font-size: .8em;
  margin-left: .6em; white-space: nowrap; }
.mmopt-explain .constant { color: var(--constant); } .mmopt-explain .affine { color: var(--affine); }
.mmopt-explain .convex { color: var(--convex); } .mmopt-explain .concave { color: var(--concave); }
.mmopt-explain .neither { color: var(--bad); }
.mmopt-explain .known { font-size: .85em; margin: 0 .4em; }
.mmopt-explain .rule { font-size: .85em; color: var(--faint); }
.mmopt-explain .blamed > details > summary, .mmopt-explain li.blamed { outline: 2px solid var(--bad);
  outline-offset: -2px; }
.mmopt-explain li.blamed:has(> details) { outline: none; }
@media (max-width: 40rem) { .mmopt-explain tbody :is(th, .inner) { white-space: normal; }
  .mmopt-explain .program :is(tbody, tr, th, td) { display: block; }
  .mmopt-explain.mmopt-explain.mmopt-explain .program :is(th, td) { padding: 0; overflow-x: auto;
  overflow-y: hidden; }
  .mmopt-explain .program :is(th, td):empty { display: none; }
  .mmopt-explain.mmopt-explain.mmopt-explain .program tr { padding: .3em 0; } }
@media print { .mmopt-explain section { break-inside: avoid; } }
"""
PAGE_STYLE = (
    ":root { color-scheme: light dark; } body { margin: 0 auto; max-width: 60rem; padding: 1rem; "
    "font: 16px system-ui, sans-serif; }"
)


def page(title: str, body: str, style: str = "") -> str:
    """A whole HTML page: it loads and runs nothing.

    title : taken literally. body : HTML. style : CSS beside that of every page.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{PAGE_STYLE}{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>"
    )


def as_fragment(facts: Facts) -> str:
    """The contents of the page with its style, for notebooks."""
    return article(
        [
            part
            for section in arranged(facts)
            for part in (
                "<section>",
                f"<h{section.level}>{escape(section.title)}</h{section.level}>",
                *map(_block, section.blocks),
                "</section>",
            )
        ]
    )


def fragment(blocks: Iterable[Block], *, is_styled: bool = True) -> str:
    """Blocks one below the other; with their style for notebooks."""
    return article(map(_block, blocks), is_styled)


def article(parts: Iterable[str], is_styled: bool = True) -> str:
    """HTML elements inside the element that ``STYLE`` is for."""
    style = [f"<style>{STYLE}</style>"] * is_styled
    return "\n".join([*style, '<article class="mmopt-explain">', *parts, "</article>"])


def _words(words: Sentence) -> str:
    """A sentence, its formulas in MathML."""
    return "".join(escape(p) if isinstance(p, str) else mathml(p.latex) for p in words)


def _block(block: Block) -> str:
    """A block as an HTML element."""
    match block:
        case Paragraph(words, tone):
            kind = f' class="{tone}"' if tone else ""
            return f"<p{kind}>{_words(words)}</p>"
        case Prose(words):
            return "\n".join(f"<p>{piece}</p>" for piece in _words(words).split("\n\n") if piece.strip())
        case Excerpt(text, title):
            shown = f"<pre>{escape(text)}</pre>"
            return f"<details><summary>{escape(title)}</summary>{shown}</details>" if title else shown
        case Listing(lines):
            rows = "\n".join(
                f"<tr><th>{escape(s.label)}</th><td>{mathml(s.formula.latex)}</td><td>{_words(s.words)}</td></tr>"
                for s in lines
            )
            return f'<table class="program">\n{rows}\n</table>'
        case Table():
            return _table(block)
        case Tree(node):
            return f'<ul class="tree">{_node(node)}</ul>'


def _table(table: Table) -> str:
    """A table, its title above it."""
    lines = [f'<p class="strong">{escape(table.title)}</p>'] * bool(table.title)
    heads = "".join(f"<th{_side(name, table)}>{escape(name)}</th>" for name in table.header)
    lines += ["<table>", *[f"<thead><tr>{heads}</tr></thead>"] * any(table.header)]
    for row in table.rows:
        filled = zip_longest(table.header, row, fillvalue="")
        cells = [f"<td{_side(name, table)}>{_cell(value)}</td>" for name, value in filled]
        if str(row[0]).startswith("  "):  # a row of a group, whose name is above
            cells[0] = f'<td class="inner">{_cell(row[0])}</td>'
        elif table.first_names_row:
            cells[0] = f"<th{cells[0][3:-5]}</th>"
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table>"])


def _cell(value: object) -> str:
    """A cell of a table: a sentence (a tuple), or a value as text."""
    return _words(value if isinstance(value, tuple) else (str(value),))


def _side(column: str, table: Table) -> str:
    """The class attribute of a column's cells: numbers stand on the right, other columns may be unbroken."""
    if column in table.right:
        return ' class="number"'
    return ' class="whole"' if column in table.whole else ""


def _node(node: NodeFacts) -> str:
    """A node with its parts below it; constant nodes are closed, blamed ones are marked."""
    word = node.curvature.split()[0]
    mark = " ⪯" if node.order else ""
    shape = ", ".join(filter(None, [node.shape, node.sign]))
    line = (
        f'{mathml(node.formula.latex)} <span class="badge {word}">{escape(node.curvature)}{mark}</span> '
        f'<span class="known">{escape(shape)}</span> <span class="rule">{escape(node.words)}</span>'
    )
    kind = ' class="blamed"' if node.blamed else ""
    if not node.parts:
        return f"<li{kind}>{line}</li>"
    opened = "" if node.curvature == "constant" else " open"
    inside = "".join(map(_node, node.parts))
    return f"<li{kind}><details{opened}><summary>{line}</summary><ul>{inside}</ul></details></li>"
