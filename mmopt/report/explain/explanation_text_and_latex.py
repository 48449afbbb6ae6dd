"""An explanation arranged, printed in a terminal, and as a LaTeX document.

An arranged explanation is sections of paragraphs, tables and trees, the same for every output. rich prints
them in a terminal; LaTeX has tables for all of them.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.text import Text

from mmopt.errors import counted
from mmopt.language.typeset import GREEK, Formula, Sentence, latex_text, plain_words
from mmopt.report.explain.explained_facts import Compiled, Facts, LineFacts, NodeFacts, SolvedFacts, Statement
from mmopt.report.program_tables_and_forecasts import (
    Sizes,
    cones_table,
    program_listing,
    solvers_table,
    wrapped,
)
from mmopt.report.table_style import Row, Table, bold, cell, figure, pairs_table, paragraphs, rows_table


@dataclass(frozen=True)
class Paragraph:
    """Words with formulas between them; ``tone`` is "" or "strong" (a heading) or "loud" (a mistake)."""

    words: Sentence
    tone: str = ""


@dataclass(frozen=True)
class Prose:
    """Text of the program file with its formulas; an empty line ends a paragraph."""

    words: Sentence


@dataclass(frozen=True)
class Excerpt:
    """Text of the program file as it is: a line with a caret below it; with a title, shown on a click."""

    text: str
    title: str = ""


@dataclass(frozen=True)
class Listing:
    """Lines of a program: label, formula, words."""

    lines: tuple[Statement, ...]


@dataclass(frozen=True)
class Tree:
    """An expression with the types of all its nodes."""

    node: NodeFacts


Block = Paragraph | Prose | Excerpt | Listing | Table | Tree


@dataclass(frozen=True)
class DocumentSection:
    """A section; its ``level`` is 1 for the whole document, 2 for a part of it, more inside a part."""

    title: str
    blocks: tuple[Block, ...]
    level: int


# Columns of names and sizes, which are never broken: other columns are wrapped.
UNBROKEN_COLUMNS = ("line", "given", "asked", "from", "shape", "constraint", "solver", "cone", "quantity")
LEGEND = (
    "Each node has its shape, what is known of its sign, its curvature in what is chosen, and the rule that "
    "gives it. 'convex ⪯' is curved in the order of psd matrices; without the mark a matrix is curved entry "
    "by entry."
)


def arranged(e: Facts) -> Iterator[DocumentSection]:
    """The sections of an explanation, in the order in which one reads them."""
    rows = [
        ("program", e.name),
        ("source", e.cite),
        ("class", e.problem_class),
        ("formulation of", e.formulation_of),
    ]
    facts = pairs_table(row for row in rows if row[1])
    yield DocumentSection(e.title or e.name, (facts, *((Prose(e.about),) if e.about else ())), 1)
    yield DocumentSection("The program", (Listing(e.statements),), 2)
    if e.lines:
        fit = all(_fits(n, w) for line in e.lines for n, w in zip(line.sides, line.wanted, strict=True))
        title = "Why it is convex" if fit and not any(line.blamed for line in e.lines) else "Curvature"
        yield DocumentSection(title, tuple(_curvature(e.lines)), 2)
    if e.repair:
        yield DocumentSection("The repair", tuple(Paragraph(words) for words in e.repair), 2)
    bound: list[Paragraph | Prose] = [Paragraph((e.bound.formula,))] if e.bound.formula else []
    bound += [Paragraph(words) for words in e.bound.sentences]
    if e.bound.proof:
        bound += [Paragraph(("Proof",), "strong"), Prose(e.bound.proof)]
    yield DocumentSection("What its author claims" if e.bound.is_claim else "What is proved", tuple(bound), 2)
    yield from _numbers(e, 2)
    for step in e.steps:
        inner = step.explanation
        if inner.name == e.name:
            yield DocumentSection(f"Factor '{step.name}'", (), 2)
        else:
            yield DocumentSection(f"Step '{step.name}': {inner.name}", (Paragraph((inner.title,)),), 2)
            yield DocumentSection("Its program", (Listing(inner.statements),), 3)
        yield from _numbers(inner, 3)


def _numbers(e: Facts, level: int) -> Iterator[DocumentSection]:
    if e.compiled is not None:
        yield from _compiled(e.compiled, level)
    if e.solved is not None:
        yield DocumentSection("At the solution", tuple(_solved(e.solved)), level)


def _curvature(lines: tuple[LineFacts, ...]) -> Iterator[Block]:
    yield Paragraph((LEGEND,))
    for line in lines:
        yield Paragraph((f"{line.name}: ", line.formula), "strong")
        sides = ("left side", "right side") if len(line.sides) > 1 else ("objective",)
        for where, node, wanted in zip(sides, line.sides, line.wanted, strict=True):
            shown: Sentence = () if node.parts else (node.formula, ", ")
            words, tone = _verdict(node, wanted, line)
            yield Paragraph((f"{where}: ", *shown, words), tone)
            if node.parts:
                yield Tree(node)
        if line.blamed:
            hint = f" ({line.blamed.hint})" if line.blamed.hint else ""
            yield Paragraph((f"Not convex: {line.blamed.message}{hint}",), "loud")
            if line.blamed.excerpt:
                yield Excerpt(f"{line.blamed.where}\n{line.blamed.excerpt}")


def _verdict(node: NodeFacts, wanted: str, line: LineFacts) -> tuple[str, str]:
    """The curvature of a side compared with the wanted one, in words; and the tone of these words."""
    fits = _fits(node, wanted)
    if fits and node.blamed:
        order = "in the order of psd matrices" if node.order else "entry by entry"
        return f"{node.curvature} {order}, which is not the order of the relation", "loud"
    if not fits:  # without a blamed node it is a fact, not a mistake
        return (f"{node.curvature}; it has to be {wanted}", "loud") if line.blamed else (node.curvature, "")
    so = "" if node.curvature == wanted else f"so {wanted}, "
    return f"{node.curvature}, {so}as it has to be", ""


def _fits(node: NodeFacts, wanted: str) -> bool:
    return node.curvature in ("constant", "affine", wanted)


def _compiled(c: Compiled, level: int) -> Iterator[DocumentSection]:
    dims = ", ".join(f"{name} = {size:,}" for name, size in c.dims)
    givens = _table(
        ("given", "from", "shape", "figures", "entries"),
        (((g.name,), g.origin, g.shape, g.figures, (g.preview,) if g.preview else "") for g in c.givens),
    )
    yield DocumentSection(
        f"With the workload: {c.workload}",
        (Paragraph((f"Dimensions: {dims}.",)), *[givens] * bool(c.givens)),
        level,
    )
    if c.reductions:
        yield DocumentSection("Reductions", tuple(Paragraph((text,)) for text in c.reductions), level)
    if c.refusal or c.sizes is None:
        yield DocumentSection("What is handed over", (Paragraph((f"{c.refusal}.",)),), level)
        return
    yield DocumentSection("Units", tuple(_units(c)), level)
    handed = _table(
        ("line", "in the program", "handed over as"),
        ((h.name, (h.formula,), tuple(part for how in h.how for part in ("; ", *how))[1:]) for h in c.handed),
    )
    yield DocumentSection("What is handed over", (handed, *_cones(c, c.sizes)), level)
    choice = Paragraph((f"{c.choice}.",), "loud" if c.sizes.refusal is not None else "")
    yield DocumentSection("Who can solve it", (solvers_table(c.sizes), choice), level)


def _units(c: Compiled) -> Iterator[Block]:
    if c.scaled is None:
        yield Paragraph(("The lines of the program agree on no units, so it is solved as given, unscaled.",))
    elif not c.scaled:
        yield Paragraph(("A kernel takes the program by component as it is, unscaled.",))
    else:
        words = (
            "When all queries are multiplied by s and all targets by t, the optimum is multiplied as below. "
            "The compiler uses this to hand over numbers near one, and multiplies back by the factor."
        )
        yield Paragraph((words,))
        rows = (((s.name,), (s.power,), figure(s.factor, 4)) for s in c.scaled)
        yield _table(("quantity", "multiplied by", "factor here"), rows, ("factor here",))


def _cones(c: Compiled, sizes: Sizes) -> Iterator[Block]:
    yield cones_table(sizes)
    words = f"{counted(sizes.variables, 'unknown')}, those that the blocks add included."
    if c.matrix is not None:
        m = c.matrix
        words += (
            f" The constraint matrix for {m.solver}: {m.rows:,} × {m.columns:,} with {m.nonzeros:,} nonzeros"
            f" ({m.nonzeros / max(m.rows * m.columns, 1):.2g} of all entries)."
        )
    elif c.matrix_words:
        words += f" Constraint matrix: {c.matrix_words}."
    yield Paragraph((words,))


def _table(header: Sequence[str], rows: Iterable[Row], right: Collection[str] = ()) -> Table:
    named = ((name if isinstance(name, tuple) else (name,), *rest) for name, *rest in rows)
    return rows_table(header, named, right, whole=UNBROKEN_COLUMNS)


def _solved(solved: SolvedFacts) -> Iterator[Block]:
    yield pairs_table(solved.rows)
    if not solved.lines:
        return
    rows = (
        (
            line.name,
            "-" if line.tight is None else f"{line.tight:,} of {line.count:,}",
            figure(line.total, 5) if line.multipliers else "-",
            f"{line.zero:,} of {line.multipliers:,}" if line.multipliers else "-",
            "; ".join(
                [
                    *(f"{name}: {figure(value, 4)}" for name, value in line.largest),
                    *filter(None, [line.words]),
                ]
            ),
        )
        for line in solved.lines
    )
    numbers = ("tight", "sum", "zero")
    yield _table(("constraint", *numbers, "largest multipliers"), rows, numbers)
    yield Paragraph(
        (
            f"A multiplier says how fast the optimum {solved.moves} when its row is relaxed; where it is "
            "zero the row could be left out, where the row is not tight it is zero, up to what the solver "
            "left.",
        )
    )


COLOURS = {
    "constant": "dim",
    "affine": "cyan",
    "convex": "green",
    "concave": "magenta",
}
LEAST_WIDTH = 60


def as_text(e: Facts, width: int) -> str:
    """Plain text without colours."""
    console = Console(
        width=width, no_color=True, markup=False, highlight=False, emoji=False, force_terminal=False
    )
    with console.capture() as captured:
        for part in renderables(e, width):
            console.print(part, soft_wrap=isinstance(part, str))
    return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


def renderables(e: Facts, width: int) -> Iterator[RenderableType]:
    """The parts to print, in order, for a screen of ``width`` columns; strings are wrapped already."""
    width = max(width, LEAST_WIDTH)
    for section in arranged(e):
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
    match block:
        case Paragraph(words, tone):
            return _words(words, {"loud": "bold red", "strong": "bold"}.get(tone, ""), width)
        case Prose(words):
            return paragraphs(plain_words(words))
        case Excerpt(text):
            return text
        case Listing(lines):
            return program_listing([(s.label, s.formula.plain, plain_words(s.words)) for s in lines], width)
        case Table():
            return block
        case Tree(node):
            # The nodes below each other, their types in further columns.
            columns = ("expression", "shape", "sign", "curvature", "rule")
            widest = max(24, (width - 34) // 2)
            rows = (_node_row(prefix, inner, widest - len(prefix)) for prefix, inner in _rows(node, "", ""))
            return rows_table(columns, rows, whole=columns[:4])


def _words(words: Sentence, style: str, width: int) -> Text:
    """A sentence; a formula by itself, or after a name, is broken as formulas are."""
    text = plain_words(words)
    formula = words[-1]
    if not isinstance(formula, str) and len(words) <= 2 and len(text) > width:
        before = len(text) - len(formula.plain)
        text = text[:before] + ("\n" + " " * before).join(wrapped(formula.plain, width - before))
    return cell(text, style)


def _node_row(prefix: str, node: NodeFacts, room: int) -> Row:
    """A node of a tree in ``room`` columns; the one to blame is loud."""
    label = next((f.plain for f in (node.formula, node.short) if len(f.plain) <= room), "")
    label = prefix + (label or node.short.plain[: max(1, room - 1)] + "…")
    curvature = node.curvature + " ⪯" * bool(node.order) if node.curvature in COLOURS else "neither"
    if node.blamed:
        loud = [cell(text, "bold red") for text in (label, curvature, f"<-- HERE: {node.rule}")]
        return loud[0], node.shape, node.sign, *loud[1:]
    return label, node.shape, node.sign, cell(curvature, COLOURS.get(node.curvature, "red")), node.rule


def _rows(node: NodeFacts, prefix: str, below: str) -> Iterator[tuple[str, NodeFacts]]:
    yield prefix, node
    for i, part in enumerate(node.parts):
        last = i == len(node.parts) - 1
        yield from _rows(part, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))


# -- as a LaTeX document with tables

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
LATEX_COLOURS = {"constant": "gray", "affine": "blue", "convex": "green!50!black", "concave": "violet"}


def as_latex(e: Facts) -> str:
    """The whole document."""
    parts = [HEAD]
    for section in arranged(e):
        parts += [
            rf"\{TITLES[min(section.level, 3)]}{{{latex_escaped(section.title)}}}",
            *map(_latex_block, section.blocks),
        ]
    parts.append(TAIL)
    return "\n".join(parts)


def latex_escaped(words: str) -> str:
    """Words with every special character escaped."""
    # Letters of Western languages are in the font, nothing else beyond ASCII is; two hyphens are no
    # dash, two of "<", ">", "," or "'" no quotes.
    return "".join(
        SIGNS.get(char) or (latex_text(char) if ord(char) < 0x180 else f"[U+{ord(char):04X}]")
        for char in re.sub(r"([-<>,'])(?=\1)", "\\1\0", words)
    )


def _latex_words(words: Sentence) -> str:
    return "".join(latex_escaped(p) if isinstance(p, str) else f"${_full_size(p)}$" for p in words)


def _latex_cell(value: object) -> str:
    return _latex_words(value) if isinstance(value, tuple) else latex_escaped(str(value))


def _latex_block(block: Block) -> str:
    match block:
        case Paragraph(words=(formula,), tone="") if not isinstance(formula, str):
            return rf"\[ {_full_size(formula)} \]"
        case Paragraph(words, tone):
            written = _latex_words(words)
            styles = {"strong": r"\medskip\textbf{%s}", "loud": r"\textcolor{red}{%s}"}
            return styles.get(tone, "%s").replace("%s", written) + "\n"
        case Prose(words):
            return _latex_words(words) + "\n"
        case Excerpt(excerpt):
            lines = [rf"\texttt{{{latex_escaped(row).replace(' ', '~')}}}" for row in excerpt.split("\n")]
            return "\\\\\n".join(lines) + "\n"
        case Listing(lines):
            listed = ((latex_escaped(s.label), _displayed(s.formula), _latex_words(s.words)) for s in lines)
            return _longtable(("0.1", "0.6", "0.22"), (), listed)
        case Table(header, table, right):
            rows = (tuple(map(_latex_cell, row)) for row in table)
            numbers = [i for i, name in enumerate(header) if name in right]
            return _longtable(WIDTHS[len(header)], tuple(map(latex_escaped, header)), rows, numbers)
        case Tree(node):
            names = ("expression", "shape", "sign", "curvature", "rule")
            return _longtable(("0.4", "0.09", "0.06", "0.12", "0.24"), names, _nodes(node, 0))


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
    curved = LATEX_COLOURS.get(node.curvature, "red")
    word = node.curvature + (" ⪯" if node.order else "")
    mark = r"\textcolor{red}{$\Rightarrow$} " if node.blamed else ""
    yield (
        rf"\hspace*{{{1.2 * depth:.1f}em}}{mark}"
        + _displayed(node.formula if (len(node.formula.plain) <= WIDEST_NODE - 2 * depth) else node.short),
        latex_escaped(node.shape),
        latex_escaped(node.sign),
        rf"\textcolor{{{curved}}}{{{latex_escaped(word)}}}",
        latex_escaped(node.rule),
    )
    for part in node.parts:
        yield from _nodes(part, depth + 1)
