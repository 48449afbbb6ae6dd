"""An explanation as text in a terminal, with rich."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from mmopt.report.explain.document import (
    WHOLE,
    Block,
    Excerpt,
    Listing,
    Paragraph,
    Prose,
    Section,
    Table,
    Tree,
    arranged,
)
from mmopt.report.explain.facts import Facts, NodeFacts, Sentence
from mmopt.report.programs import program_listing, wrapped
from mmopt.report.style import cell, new_table, pairs_table, paragraphs

__all__ = ["as_text", "renderables"]

COLOURS = {
    "constant": "dim",
    "affine": "cyan",
    "convex": "green",
    "concave": "magenta",
}
NARROWEST = 60


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
    width = max(width, NARROWEST)
    for position, section in enumerate(arranged(e)):
        if position:
            yield ""
        yield _title(section, first=not position)
        parts = [part for block in section.blocks for part in _block(block, width)]
        yield from parts[:-1] if parts and parts[-1] == "" else parts


def _title(section: Section, *, first: bool) -> Text:
    rule = {1: "=" if first else "-"}.get(section.level, "")
    line = f"\n{rule * len(section.title)}" if rule else ""
    return cell(section.title + line, "bold")


def _block(block: Block, width: int) -> Iterator[RenderableType]:
    match block:
        case Paragraph(words, tone):
            if tone == "strong":
                yield ""
            yield _words(words, {"loud": "bold red", "strong": "bold"}.get(tone, ""), width)
        case Prose(text):
            yield paragraphs(text)
            yield ""
        case Excerpt(text):
            yield text
            yield ""
        case Listing(lines):
            yield program_listing([(s.label, s.formula.plain, s.words) for s in lines], width)
            yield ""
        case Table():
            yield _table(block)
            yield ""
        case Tree(node):
            yield _tree(node, width)
            yield ""


def _words(words: Sentence, style: str, width: int) -> Text:
    """A sentence; one formula by itself, perhaps after a name, is broken as formulas are."""
    text = plain(words)
    formula = words[-1]
    if not isinstance(formula, str) and len(words) <= 2 and len(text) > width:
        before = len(text) - len(formula.plain)
        rows = wrapped(formula.plain, width - before)
        text = text[:before] + ("\n" + " " * before).join(rows)
    return cell(text, style)


def plain(words: Sentence) -> str:
    """A sentence without markup."""
    return "".join(piece if isinstance(piece, str) else piece.plain for piece in words)


def _table(block: Table) -> RenderableType:
    if not any(block.header):
        return pairs_table([(plain(name), plain(text)) for name, text in block.rows])
    right = [block.header[i] for i in block.right]
    table = new_table(*block.header, right=right)
    for column, name in zip(table.columns, block.header, strict=True):
        column.no_wrap = column.no_wrap or name in WHOLE  # what is long gives way
    for row in block.rows:
        table.add_row(*(cell(plain(c), "bold" if i == 0 else "") for i, c in enumerate(row)))
    return table


def _tree(node: NodeFacts, width: int) -> RenderableType:
    """The nodes below each other, what is known of each in columns beside."""
    table = new_table("expression", "shape", "sign", "curvature", "rule")
    rows = list(_rows(node, "", ""))
    widest = max(24, (width - 34) // 2)
    for prefix, inner in rows:
        label = inner.formula.plain
        if len(prefix) + len(label) > widest:
            label = inner.short.plain
        if len(prefix) + len(label) > widest:
            label = label[: max(1, widest - len(prefix) - 1)] + "…"
        known = inner.curvature + (" ⪯" if inner.order else "")
        if inner.curvature not in COLOURS:
            known = "neither"
        rule = f"<-- HERE: {inner.rule}" if inner.blamed else inner.rule
        colour = "bold red" if inner.blamed else COLOURS.get(inner.curvature, "red")
        table.add_row(
            cell(prefix + label, "bold red" if inner.blamed else ""),
            cell(inner.shape),
            cell(inner.sign),
            cell(known, colour),
            cell(rule, colour if inner.blamed else ""),
        )
    for column in table.columns[:4]:
        column.no_wrap = True
    return table


def _rows(node: NodeFacts, prefix: str, below: str) -> Iterator[tuple[str, NodeFacts]]:
    yield prefix, node
    for i, part in enumerate(node.parts):
        last = i == len(node.parts) - 1
        yield from _rows(part, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))
