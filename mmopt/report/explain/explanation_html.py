"""An explanation as one HTML page: formulas in MathML, trees that open and close, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

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
from mmopt.report.explain.latex_to_mathml import mathml

__all__ = ["as_fragment", "as_html"]

# For a screen by day or night, a slide, and paper.
STYLE = """
.mmopt-explain { --ink: #1b1f24; --faint: #636c76; --line: #d1d9e0; --paper: #ffffff; --bad: #c62828;
  --constant: #6e7781; --affine: #0969da; --convex: #1a7f37; --concave: #8250df;
  color: var(--ink); background: var(--paper); max-width: 60rem; margin: 0 auto; padding: 1rem;
  font: 16px/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { .mmopt-explain { --ink: #e6edf3; --faint: #9198a1; --line: #3d444d;
  --paper: #0d1117; --bad: #ff7b72; --constant: #9198a1; --affine: #58a6ff; --convex: #3fb950;
  --concave: #bc8cff; } }
body:has(> .mmopt-explain) { margin: 0; }
.mmopt-explain h1 { font-size: 1.6em; line-height: 1.2; }
.mmopt-explain h2 { font-size: 1.25em; margin-top: 2em;
  padding-bottom: .2em; border-bottom: 1px solid var(--line); }
.mmopt-explain h3 { font-size: 1.05em; }
.mmopt-explain table { border-collapse: collapse; display: block; overflow-x: auto; margin: .8em 0; }
.mmopt-explain th, .mmopt-explain td { padding: .25em 1em .25em 0; text-align: left; vertical-align: top;
  background: none; border: none; }
.mmopt-explain thead th { border-bottom: 1px solid var(--line); color: var(--faint); font-weight: normal; }
.mmopt-explain .program th { color: var(--faint); font-weight: normal; white-space: nowrap; }
.mmopt-explain .program td + td { color: var(--faint); }
.mmopt-explain .number { text-align: right; white-space: nowrap; }
.mmopt-explain .whole { white-space: nowrap; }
.mmopt-explain pre { overflow-x: auto; color: inherit; background: none; }
.mmopt-explain .strong { font-weight: 600; margin-bottom: .2em; }
.mmopt-explain .loud { color: var(--bad); font-weight: 600; }
.mmopt-explain .tree, .mmopt-explain .tree ul { list-style: none; margin: 0; padding-left: 1.4em; }
.mmopt-explain .tree ul { border-left: 1px solid var(--line); margin-left: .3em; }
.mmopt-explain .tree { padding-left: 0; overflow-x: auto; }
.mmopt-explain .tree li { margin: .3em 0; }
.mmopt-explain summary { cursor: pointer; }
.mmopt-explain .badge { border: 1px solid currentcolor; border-radius: 1em; padding: 0 .6em; font-size: .8em;
  margin-left: .6em; white-space: nowrap; }
.mmopt-explain .constant { color: var(--constant); } .mmopt-explain .affine { color: var(--affine); }
.mmopt-explain .convex { color: var(--convex); } .mmopt-explain .concave { color: var(--concave); }
.mmopt-explain .neither { color: var(--bad); }
.mmopt-explain .known { font-size: .85em; margin: 0 .4em; }
.mmopt-explain .rule { font-size: .85em; color: var(--faint); }
.mmopt-explain .blamed > details > summary, .mmopt-explain li.blamed { outline: 2px solid var(--bad);
  outline-offset: 2px; }
.mmopt-explain li.blamed:has(> details) { outline: none; }
@media print { .mmopt-explain section { break-inside: avoid; } }
"""


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
    for section in arranged(e):
        heading = f"<h{section.level}>{escape(section.title)}</h{section.level}>"
        parts += ["<section>", heading, *map(_block, section.blocks), "</section>"]
    return "\n".join([*parts, "</article>"])


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
    heads = "".join(f"<th{_side(i, block)}>{escape(name)}</th>" for i, name in enumerate(block.header))
    lines = [f"<thead><tr>{heads}</tr></thead>"] * any(block.header)
    for name, *row in block.rows:
        cells = "".join(f"<td{_side(i, block)}>{_words(c)}</td>" for i, c in enumerate(row, 1))
        lines.append(f"<tr><th>{_words(name)}</th>{cells}</tr>")
    return "\n".join(["<table>", *lines, "</table>"])


def _side(position: int, block: Table) -> str:
    if position in block.right:
        return ' class="number"'
    return ' class="whole"' if block.header[position] in UNBROKEN_COLUMNS else ""


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
