"""An explanation as a LaTeX document with tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from mmopt.language.print import GREEK, Formula, Sentence, latex_text
from mmopt.report.explain.explained_facts import Facts, NodeFacts
from mmopt.report.explain.explanation import (
    Block,
    Excerpt,
    Listing,
    Paragraph,
    Prose,
    Tree,
    arranged,
)
from mmopt.report.table_style import Table

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
TAIL = r"\end{document}"

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
# Shares of the line by the number of columns: the last one has the long texts.
WIDTHS = {
    2: ("0.14", "0.8"),
    3: ("0.12", "0.33", "0.47"),
    4: ("0.2", "0.15", "0.15", "0.4"),
    5: ("0.1", "0.17", "0.1", "0.2", "0.34"),
}
WIDEST_NODE = 44  # characters of a formula in a tree; a longer one has dots for its arguments
COLOURS = {"constant": "gray", "affine": "blue", "convex": "green!50!black", "concave": "violet"}


def as_latex(e: Facts) -> str:
    """The whole document."""
    parts = [HEAD]
    for section in arranged(e):
        parts += [rf"\{TITLES[min(section.level, 3)]}{{{text(section.title)}}}", *map(_block, section.blocks)]
    parts.append(TAIL)
    return "\n".join(parts)


def text(words: str) -> str:
    """Words with every special character escaped."""
    # Letters of Western languages are in the font, nothing else beyond ASCII is; two hyphens are no
    # dash, two of "<", ">", "," or "'" no quotes.
    return "".join(
        SIGNS.get(char) or (latex_text(char) if ord(char) < 0x180 else f"[U+{ord(char):04X}]")
        for char in re.sub(r"([-<>,'])(?=\1)", "\\1\0", words)
    )


def _words(words: Sentence) -> str:
    return "".join(text(p) if isinstance(p, str) else f"${_full_size(p)}$" for p in words)


def _cell(value: object) -> str:
    return _words(value) if isinstance(value, tuple) else text(str(value))


def _block(block: Block) -> str:
    match block:
        case Paragraph(words=(formula,), tone="") if not isinstance(formula, str):
            return rf"\[ {_full_size(formula)} \]"
        case Paragraph(words, tone):
            written = _words(words)
            styles = {"strong": r"\medskip\textbf{%s}", "loud": r"\textcolor{red}{%s}"}
            return styles.get(tone, "%s").replace("%s", written) + "\n"
        case Prose(words):
            return _words(words) + "\n"
        case Excerpt(excerpt):
            lines = [rf"\texttt{{{text(row).replace(' ', '~')}}}" for row in excerpt.split("\n")]
            return "\\\\\n".join(lines) + "\n"
        case Listing(lines):
            listed = ((text(s.label), _displayed(s.formula), _words(s.words)) for s in lines)
            return _longtable(("0.1", "0.6", "0.22"), (), listed)
        case Table(header, table, right):
            rows = (tuple(map(_cell, row)) for row in table)
            numbers = [i for i, name in enumerate(header) if name in right]
            return _longtable(WIDTHS[len(header)], tuple(map(text, header)), rows, numbers)
        case Tree(node):
            names = ("expression", "shape", "sign", "curvature", "rule")
            return _longtable(("0.4", "0.09", "0.06", "0.12", "0.24"), names, _nodes(node, 0))


def _displayed(formula: Formula) -> str:
    """A formula in a row of a table, as large as a formula on a line of its own."""
    return rf"$\displaystyle {_full_size(formula)}$"


def _full_size(formula: Formula) -> str:
    """A formula with fractions inside fractions as large as outer ones, and letters beyond ASCII as text."""
    latex = re.sub("[^\0-\x7f]+", lambda letters: rf"\text{{{text(letters.group())}}}", formula.latex)
    return latex.replace(r"\frac", r"\dfrac")


def _longtable(
    widths: tuple[str, ...],
    header: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    right: Collection[int] = (),
) -> str:
    columns = ""
    for i, width in enumerate(widths):
        side = "raggedleft" if i in right else "raggedright"
        columns += rf">{{\{side}\arraybackslash}}p{{{width}\linewidth}}"
    heads = " & ".join(rf"\textit{{{name}}}" for name in header)
    lines = [
        rf"\begin{{longtable}}[l]{{{columns}}}",
        *[heads + r" \\ \hline \noalign{\smallskip} \endhead"] * any(header),
        # An empty group keeps a bracket at the start of a row from being read as an option of the line break.
        *("{}" + " & ".join(row) + r" \\" for row in rows),
    ]
    return "\n".join([*lines, r"\end{longtable}", ""])


def _nodes(node: NodeFacts, depth: int) -> Iterator[tuple[str, ...]]:
    curved = COLOURS.get(node.curvature, "red")
    word = node.curvature + (" ⪯" if node.order else "")
    mark = r"\textcolor{red}{$\Rightarrow$} " if node.blamed else ""
    fits = len(node.formula.plain) <= WIDEST_NODE - 2 * depth
    yield (
        rf"\hspace*{{{1.2 * depth:.1f}em}}{mark}" + _displayed(node.formula if fits else node.short),
        text(node.shape),
        text(node.sign),
        rf"\textcolor{{{curved}}}{{{text(word)}}}",
        text(node.rule),
    )
    for part in node.parts:
        yield from _nodes(part, depth + 1)
