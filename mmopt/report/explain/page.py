"""An explanation as one HTML page: formulas in MathML, trees that open and close, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from mmopt.report.explain.document import (
    WHOLE,
    Block,
    Excerpt,
    Listing,
    Paragraph,
    Prose,
    Table,
    Tree,
    arranged,
)
from mmopt.report.explain.facts import Facts, NodeFacts, Sentence
from mmopt.report.explain.mathml import mathml
from mmopt.report.explain.page_style import STYLE

__all__ = ["as_fragment", "as_html"]


def as_html(e: Facts) -> str:
    """A whole page."""
    title = escape(e.title or e.name)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n</head>\n<body>\n{as_fragment(e)}\n</body>\n</html>"
    )


def as_fragment(e: Facts) -> str:
    """What stands in the page, with its style; for notebooks."""
    parts = [f"<style>{STYLE}</style>", '<article class="mmopt-explain">']
    for position, section in enumerate(arranged(e)):
        parts.append("<section>")
        level = 1 if not position else section.level + 1
        parts.append(f"<h{level}>{escape(section.title)}</h{level}>")
        parts += [_block(block) for block in section.blocks]
        parts.append("</section>")
    parts.append("</article>")
    return "\n".join(parts)


def _words(words: Sentence) -> str:
    return "".join(escape(p) if isinstance(p, str) else mathml(p.latex) for p in words)


def _block(block: Block) -> str:
    match block:
        case Paragraph(words=(formula,), tone="") if not isinstance(formula, str):
            return f"<p>{mathml(formula.latex, display=True)}</p>"
        case Paragraph(words, tone):
            kind = f' class="{tone}"' if tone else ""
            return f"<p{kind}>{_words(words)}</p>"
        case Prose(text):
            return "\n".join(_prose(text))
        case Excerpt(text):
            return f"<pre>{escape(text)}</pre>"
        case Listing(lines):
            rows = "\n".join(
                f"<tr><th>{escape(s.label)}</th><td>{mathml(s.formula.latex)}</td><td>{escape(s.words)}</td></tr>"
                for s in lines
            )
            return f'<table class="program">\n{rows}\n</table>'
        case Table():
            return _table(block)
        case Tree(node):
            return f'<ul class="tree">{_node(node)}</ul>'


def _prose(text: str) -> Iterator[str]:
    """Paragraphs by empty lines; what is indented stays as it is."""
    for piece in text.split("\n\n"):
        if not piece.strip():
            continue
        indented = any(line[:1].isspace() for line in piece.split("\n"))
        yield f"<pre>{escape(piece)}</pre>" if indented else f"<p>{escape(piece)}</p>"


def _table(block: Table) -> str:
    lines = []
    if any(block.header):
        heads = "".join(f"<th{_side(i, block)}>{escape(name)}</th>" for i, name in enumerate(block.header))
        lines.append(f"<thead><tr>{heads}</tr></thead>")
    for row in block.rows:
        cells = "".join(
            f"<th>{_words(c)}</th>" if i == 0 else f"<td{_side(i, block)}>{_words(c)}</td>"
            for i, c in enumerate(row)
        )
        lines.append(f"<tr>{cells}</tr>")
    inside = "\n".join(lines)
    return f"<table>\n{inside}\n</table>"


def _side(position: int, block: Table) -> str:
    if position in block.right:
        return ' class="number"'
    return ' class="whole"' if block.header[position] in WHOLE else ""


def _node(node: NodeFacts) -> str:
    """A node with its parts below it; what is constant is closed, what is to blame is marked."""
    word = node.curvature.split()[0]
    mark = " ⪯" if node.order else ""
    known = ", ".join(filter(None, [node.shape, node.sign]))
    line = (
        f'{mathml(node.formula.latex)} <span class="badge {word}">{escape(node.curvature)}{mark}</span> '
        f'<span class="known">{escape(known)}</span> <span class="rule">{escape(node.rule)}</span>'
    )
    kind = ' class="blamed"' if node.blamed else ""
    if not node.parts:
        return f"<li{kind}>{line}</li>"
    opened = "" if node.curvature == "constant" else " open"
    inside = "".join(map(_node, node.parts))
    return f"<li{kind}><details{opened}><summary>{line}</summary><ul>{inside}</ul></details></li>"
