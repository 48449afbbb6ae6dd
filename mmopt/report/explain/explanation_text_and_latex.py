"""An explanation as text for a terminal, and as a LaTeX document.

Both print the sections of ``explanation_sections.py``: rich prints them in a terminal, with long formulas
broken into lines; LaTeX has tables for all of them.
"""

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from mmopt.language.typeset import GREEK, Formula, Sentence, latex_text, plain_words
from mmopt.report.explain.explained_facts import SHORT_ARGUMENT, Facts, NodeFacts
from mmopt.report.explain.explanation_sections import (
    Block,
    Excerpt,
    Listing,
    Paragraph,
    Prose,
    Tree,
    arranged,
)
from mmopt.report.program_tables_and_forecasts import highlighted
from mmopt.report.table_style import Table, bold, cell, paragraphs, rows_table

TERMINAL_COLOURS = {
    "constant": "dim",
    "affine": "cyan",
    "convex": "green",
    "concave": "magenta",
}
TREE_COLUMNS = ("expression", "shape", "sign", "curvature", "rule")
LEAST_WIDTH = 60  # columns: on a narrower screen lines are this long all the same


def captured(parts: Iterable[RenderableType], width: int) -> str:
    """The parts as plain text without colours; strings are wrapped already."""
    console = Console(
        width=width, no_color=True, markup=False, highlight=False, emoji=False, force_terminal=False
    )
    with console.capture() as captured:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str) or bool(getattr(part, "no_wrap", False)))
    return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


def renderables(facts: Facts, width: int) -> Iterator[RenderableType]:
    """The parts to print, in order, for a screen of ``width`` columns; strings are wrapped already."""
    width = max(width, LEAST_WIDTH)
    for section in arranged(facts):
        if section.level > 1:
            yield ""
        rule = {1: "=", 2: "-"}.get(section.level, "")
        yield bold(section.title + (f"\n{rule * len(section.title)}" if rule else ""))
        parts: list[RenderableType] = []
        for block in section.blocks:
            is_strong = isinstance(block, Paragraph) and block.tone == "strong"
            after = [] if isinstance(block, Paragraph) else [""]
            parts += [*[""] * is_strong, _block(block, width), *after]
        yield from parts[:-1] if parts and parts[-1] == "" else parts


def _block(block: Block, width: int) -> RenderableType:
    """The form of a block that rich prints, on a screen of ``width`` columns."""
    match block:
        case Paragraph(words, tone):
            return _words(words, {"loud": "bold red", "strong": "bold"}.get(tone, ""), width)
        case Prose(words):
            return paragraphs(plain_words(words))
        case Excerpt(text, title):
            return highlighted(text) if title else text
        case Listing(lines):
            return program_listing([(s.label, s.formula.plain, plain_words(s.words)) for s in lines], width)
        case Table():
            return block
        case Tree(node):
            # The nodes below each other, their types in further columns.
            widest = max(24, (width - 34) // 2)
            free = [_node_row(*row, widest, width) for row in _rows(node, "", "")]
            longest = [max(map(len, column)) for column in zip(TREE_COLUMNS, *free, strict=True)]
            room = max(width - sum(longest[:4]) - 2 * 4, 8)
            rows = (_node_row(*row, widest, room) for row in _rows(node, "", ""))
            return rows_table(TREE_COLUMNS, rows, whole=TREE_COLUMNS[:4])


def _words(words: Sentence, style: str, width: int) -> RenderableType:
    """A sentence; a formula by itself, or after a name, is broken as formulas are."""
    text = plain_words(words)
    formula = words[-1]
    if not isinstance(formula, str) and len(words) <= 2 and len(text) > width:
        before = len(text) - len(formula.plain)
        text = text[:before] + ("\n" + " " * before).join(wrapped(formula.plain, width - before))
    return cell(text, style)


def _node_row(
    prefix: str, below: str, node: NodeFacts, widest: int, rule_width: int
) -> tuple[Text | str, ...]:
    """A node of a tree, ``below`` under it while its rule goes on; the one to blame is loud."""
    room = max(widest - len(prefix), SHORT_ARGUMENT)
    label = next((f.plain for f in (node.formula, node.short) if len(f.plain) <= room), "")
    label = prefix + (label or node.short.plain[: room - 1] + "…")
    rule = textwrap.wrap(f"<-- HERE: {node.words}" if node.blamed else node.words, rule_width)
    label += f"\n{below}" * (len(rule) - 1)
    curvature = node.curvature + " ⪯" * bool(node.order) if node.curvature in TERMINAL_COLOURS else "neither"
    if node.blamed:
        loud = [cell(text, "bold red") for text in (label, curvature, "\n".join(rule))]
        return loud[0], node.shape, node.sign, *loud[1:]
    return (
        label,
        node.shape,
        node.sign,
        cell(curvature, TERMINAL_COLOURS.get(node.curvature, "red")),
        "\n".join(rule),
    )


def _rows(node: NodeFacts, prefix: str, below: str) -> Iterator[tuple[str, str, NodeFacts]]:
    """The nodes of a tree from the top, each with the lines to its left and under it.

    ``below``: the lines to the left of its parts.
    """
    yield prefix, below + "│" * bool(node.parts), node
    for i, part in enumerate(node.parts):
        last = i == len(node.parts) - 1
        yield from _rows(part, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))


# -- long formulas in lines of a given width, broken where one would break them by hand

OPEN, CLOSE = "([{", ")]}"
# Signs before which, and after which, a line may break: the smaller the number, the better.
BEFORE = {"≤": 0, "≥": 0, "=": 0, "⪰": 0, "⪯": 0, "←": 0, "∀": 0, "+": 1, "−": 1, "/": 2, "∘": 2, "·": 2}
AFTER = {";": 1, ",": 2}
INDENT = 4  # columns, of the further lines of a formula
LEAST_WIDTH_OF_WORDS = 24  # columns for words beside a formula; with fewer they are below it


def wrapped(formula: str, width: int) -> list[str]:
    """Lines of at most ``width`` characters, those after the first indented.

    A break is at a space, outermost brackets first, then before a relation, a sum, a product.
    """
    lines: list[str] = []
    indent = ""
    while len(formula) > width - len(indent) and (at := _break(formula, width - len(indent))) is not None:
        lines.append(indent + formula[:at].rstrip())
        formula, indent = formula[at:].lstrip(), " " * INDENT
    return [*lines, indent + formula]


def _break(text: str, room: int) -> int | None:
    """The best space at which to break; the first one beyond the room when there is none within it."""
    places: list[tuple[int, int, int]] = []
    depth, begins = 0, len(text) - len(text.lstrip())
    for i, char in enumerate(text):
        if i > room and places:
            break
        depth += (char in OPEN) - (char in CLOSE)
        if char == " " and i > begins:
            places.append((i, depth, min(BEFORE.get(text[i + 1 : i + 2], 3), AFTER.get(text[i - 1], 3))))
    fitting = [p for p in places if p[0] <= room]
    if not fitting:
        return places[0][0] if places else None
    # A very short first line is worse than a break inside brackets.
    return min([p for p in fitting if p[0] >= room // 3] or fitting, key=lambda p: (p[1], p[2], -p[0]))[0]


def program_listing(lines: Sequence[tuple[str, str, str]], width: int) -> str:
    """Lines of a program (label, formula, words) within ``width`` columns, the words beside the formulas."""
    left = max(len(label) for label, _, _ in lines) + 2
    room = width - left
    widest = room - LEAST_WIDTH_OF_WORDS - 3
    column = max((len(f) for _, f, words in lines if words and len(f) <= widest), default=0) + 3
    out: list[str] = []
    for label, formula, words in lines:
        rows = wrapped(formula, room)
        below = [" " * left + row for row in rows[1:]]
        if words and len(rows) == 1 and len(formula) + 3 <= column:
            first, *more = textwrap.wrap(words, room - column)
            rows = [f"{formula:<{column}}{first}"]
            below = [" " * (left + column) + row for row in more]
        elif words:
            below += [" " * (left + INDENT) + row for row in textwrap.wrap(words, room - INDENT)]
        out += [f"{label:<{left}}{rows[0]}", *below]
    return "\n".join(row.rstrip() for row in out)


# -- as a LaTeX document

HEAD = r"""\documentclass[a4paper,landscape,fleqn]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{amsmath,amssymb,array,longtable,xcolor}
\usepackage[margin=18mm]{geometry}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\renewcommand{\arraystretch}{1.15}
\raggedright
\begin{document}
"""

# Characters of texts for which plain LaTeX has no letter.
SIGNS = {
    **{letter: rf"\ensuremath{{\{name}}}" for name, letter in GREEK.items()},
    "λ": r"\ensuremath{\lambda}",
    "`": r"\textasciigrave{}",
    "\0": "{}",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
    "⪰": r"\ensuremath{\succeq}",
    "⪯": r"\ensuremath{\preceq}",
    "≈": r"\ensuremath{\approx}",
    "∞": r"\ensuremath{\infty}",
    "×": r"\ensuremath{\times}",
    "·": r"\ensuremath{\cdot}",
    "∘": r"\ensuremath{\circ}",
    "∗": r"\ensuremath{*}",
    "−": r"\ensuremath{-}",
    "←": r"\ensuremath{\leftarrow}",
    "∀": r"\ensuremath{\forall}",
    "∈": r"\ensuremath{\in}",
    "√": r"\ensuremath{\surd}",
    "‖": r"\ensuremath{\|}",
    "ᵀ": r"\ensuremath{^{\mathsf T}}",
    "⁻": r"\ensuremath{^{-}}",
    "⁺": r"\ensuremath{^{+}}",
    "²": r"\ensuremath{^{2}}",
    "½": r"\ensuremath{^{1/2}}",
    "¹": r"\ensuremath{^{1}}",
    "…": r"\dots{}",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "–": "--",
    "—": "---",
}
TITLES = {1: "section*", 2: "subsection*", 3: "subsubsection*"}
# Shares of the line by the number of a table's columns: the last one has the long texts.
WIDTHS = {
    2: ("0.14", "0.8"),
    3: ("0.12", "0.33", "0.47"),
    4: ("0.2", "0.15", "0.15", "0.4"),
    5: ("0.1", "0.17", "0.1", "0.2", "0.34"),
}
WIDEST_NODE = 44  # characters of a formula in a tree; a longer one has dots for its arguments
LATEX_COLOURS = {"constant": "gray", "affine": "blue", "convex": "green!50!black", "concave": "violet"}


def as_latex(facts: Facts) -> str:
    """The whole LaTeX document."""
    parts = (
        part
        for section in arranged(facts)
        for part in (
            rf"\{TITLES[min(section.level, 3)]}{{{latex_escaped(section.title)}}}",
            *map(_latex_block, section.blocks),
        )
    )
    return "\n".join([HEAD, *parts, r"\end{document}"])


def latex_escaped(words: str) -> str:
    """Words with every special character escaped."""
    # Letters of Western languages are in the font, nothing else beyond ASCII is; two hyphens are no
    # dash, two of "<", ">", "," or "'" no quotes.
    return "".join(
        SIGNS.get(char) or (latex_text(char) if ord(char) < 0x180 else f"[U+{ord(char):04X}]")
        for char in re.sub(r"([-<>,'])(?=\1)", "\\1\0", words)
    )


def _latex_words(words: Sentence) -> str:
    """A sentence, its formulas set as such."""
    return "".join(latex_escaped(p) if isinstance(p, str) else f"${_full_size(p)}$" for p in words)


def _latex_block(block: Block) -> str:
    """A block in LaTeX; a paragraph of one formula stands on a line of its own."""
    match block:
        case Paragraph(words=(formula,), tone="") if not isinstance(formula, str):
            return rf"\[ {_full_size(formula)} \]"
        case Paragraph(words, tone):
            written = _latex_words(words)
            styles = {"strong": r"\medskip\textbf{%s}", "loud": r"\textcolor{red}{%s}"}
            return styles.get(tone, "%s").replace("%s", written) + "\n"
        case Prose(words):
            return _latex_words(words) + "\n"
        case Excerpt(excerpt, title):
            if title:
                return ""
            lines = [rf"\texttt{{{latex_escaped(row).replace(' ', '~')}}}" for row in excerpt.split("\n")]
            return "\\\\\n".join(lines) + "\n"
        case Listing(lines):
            listed = ((latex_escaped(s.label), _displayed(s.formula), _latex_words(s.words)) for s in lines)
            return _longtable(("0.1", "0.6", "0.22"), (), listed)
        case Table(header, table, right):
            sentences = ([x if isinstance(x, tuple) else (str(x),) for x in row] for row in table)
            rows = (tuple(map(_latex_words, row)) for row in sentences)
            numbers = [i for i, name in enumerate(header) if name in right]
            return _longtable(WIDTHS[len(header)], tuple(map(latex_escaped, header)), rows, numbers)
        case Tree(node):
            return _longtable(("0.4", "0.09", "0.06", "0.12", "0.24"), TREE_COLUMNS, _nodes(node, 0))


def _displayed(formula: Formula) -> str:
    """A formula in a row of a table, as large as a formula on a line of its own."""
    return rf"$\displaystyle {_full_size(formula)}$"


def _full_size(formula: Formula) -> str:
    """A formula with fractions inside fractions as large as outer ones, and letters beyond ASCII as text."""
    latex = re.sub(
        "[^\0-\x7f]+", lambda letters: rf"\text{{{latex_escaped(letters.group())}}}", formula.latex
    )
    return latex.replace(r"\frac", r"\dfrac")


def _longtable(
    widths: tuple[str, ...],
    header: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    right: Collection[int] = (),
) -> str:
    """A table that may go over several pages.

    widths : of the columns, shares of the line. right : numbers of columns that are set to the right.
    """
    sides = ("raggedleft" if i in right else "raggedright" for i in range(len(widths)))
    columns = "".join(
        rf">{{\{side}\arraybackslash}}p{{{width}\linewidth}}"
        for side, width in zip(sides, widths, strict=True)
    )
    heads = " & ".join(rf"\textit{{{name}}}" for name in header)
    lines = [
        rf"\begin{{longtable}}[l]{{{columns}}}",
        *[heads + r" \\ \hline \noalign{\smallskip} \endhead"] * any(header),
        # An empty group keeps a bracket at the start of a row from being read as an option of the line break.
        *("{}" + " & ".join(row) + r" \\" for row in rows),
    ]
    return "\n".join([*lines, r"\end{longtable}", ""])


def _nodes(node: NodeFacts, depth: int) -> Iterator[tuple[str, ...]]:
    """The rows of a tree, those of a node's parts below its own and indented by ``depth``."""
    curved = LATEX_COLOURS.get(node.curvature, "red")
    word = node.curvature + (" ⪯" if node.order else "")
    mark = r"\textcolor{red}{$\Rightarrow$} " if node.blamed else ""
    yield (
        rf"\hspace*{{{1.2 * depth:.1f}em}}{mark}"
        + _displayed(node.formula if (len(node.formula.plain) <= WIDEST_NODE - 2 * depth) else node.short),
        latex_escaped(node.shape),
        latex_escaped(node.sign),
        rf"\textcolor{{{curved}}}{{{latex_escaped(word)}}}",
        latex_escaped(node.words),
    )
    for part in node.parts:
        yield from _nodes(part, depth + 1)
