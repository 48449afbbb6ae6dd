"""An explanation as text in a terminal, with rich."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from mmopt.language.print.prose_formulas import plain_words
from mmopt.report.explain.explained_facts import Facts, NodeFacts, Sentence
from mmopt.report.explain.explanation import (
    UNBROKEN_COLUMNS,
    Block,
    Excerpt,
    Listing,
    Paragraph,
    Prose,
    Table,
    Tree,
    arranged,
)
from mmopt.report.program_tables import program_listing, wrapped
from mmopt.report.table_style import bold, cell, pairs_table, paragraphs, rows_table

__all__ = ["as_text", "renderables"]

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
    """What to print, in order, for a screen of so many columns; strings are wrapped already."""
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
            return _table(block)
        case Tree(node):
            # The nodes below each other, what is known of each in columns beside.
            columns = ("expression", "shape", "sign", "curvature", "rule")
            widest = max(24, (width - 34) // 2)
            rows = (_known(prefix, inner, widest - len(prefix)) for prefix, inner in _rows(node, "", ""))
            return rows_table(columns, rows, whole=columns[:4])


def _words(words: Sentence, style: str, width: int) -> Text:
    """A sentence; one formula by itself, perhaps after a name, is broken as formulas are."""
    text = plain_words(words)
    formula = words[-1]
    if not isinstance(formula, str) and len(words) <= 2 and len(text) > width:
        before = len(text) - len(formula.plain)
        text = text[:before] + ("\n" + " " * before).join(wrapped(formula.plain, width - before))
    return cell(text, style)


def _table(block: Table) -> RenderableType:
    if not any(block.header):
        return pairs_table((plain_words(name), plain_words(text)) for name, text in block.rows)
    rows = ([bold(plain_words(name)), *map(plain_words, rest)] for name, *rest in block.rows)
    return rows_table(block.header, rows, [block.header[i] for i in block.right], whole=UNBROKEN_COLUMNS)


def _known(prefix: str, node: NodeFacts, room: int) -> tuple[str | Text, ...]:
    label = next((f.plain for f in (node.formula, node.short) if len(f.plain) <= room), "")
    label = label or node.short.plain[: max(1, room - 1)] + "…"
    known = node.curvature + (" ⪯" if node.order else "")
    if node.curvature not in COLOURS:
        known = "neither"
    if node.blamed:
        bad = "bold red"
        rule = cell(f"<-- HERE: {node.rule}", bad)
        return cell(prefix + label, bad), node.shape, node.sign, cell(known, bad), rule
    return prefix + label, node.shape, node.sign, cell(known, COLOURS.get(node.curvature, "red")), node.rule


def _rows(node: NodeFacts, prefix: str, below: str) -> Iterator[tuple[str, NodeFacts]]:
    yield prefix, node
    for i, part in enumerate(node.parts):
        last = i == len(node.parts) - 1
        yield from _rows(part, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))
