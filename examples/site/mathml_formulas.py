"""Formulas of pages as MathML, made when the site is built: a reader's browser needs no script.

A Sphinx extension. LaTeX that is wrong, or that mmopt does not know, is an error with page and line.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from mmopt.report.explain.explanation_html_and_mathml import LatexError, mathml

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

_DIGITS = re.compile(r"(\\[td]?frac)\s*(\d)\s*(\d)")  # a half is \frac12: TeX takes one digit each
PUNCTUATION = tuple(".,;:!?)]’”")


def _formula(writer: HTML5Translator, node: nodes.Element, display: str) -> str:
    try:
        formula = mathml(_DIGITS.sub(r"\1{\2}{\3}", node.astext()), display)
        # A browser drops spaces at the ends of words.
        return formula.replace(" </mtext>", "&#160;</mtext>").replace("<mtext> ", "<mtext>&#160;")
    except LatexError as error:
        from sphinx.util.logging import getLogger

        getLogger(__name__).error("wrong LaTeX, %s: %s", error, node.astext(), location=_place(writer, node))
        return f"<code>{html.escape(node.astext())}</code>"


def _place(writer: HTML5Translator, node: nodes.Element) -> str:
    """The page and the line; in a page with code its cell, and the line there."""
    from sphinx.util.nodes import get_node_line

    line = get_node_line(node) or get_node_line(node.parent) or 0
    page = writer.builder.current_docname
    return f"{page}: cell {line // 10_000}, line {line % 10_000}" if line >= 10_000 else f"{page}:{line}"


def join_punctuation(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Move punctuation to the line of the formula before it."""
    from docutils import nodes as kinds

    for node in list(tree.findall(kinds.math)):
        parent, at = node.parent, node.parent.index(node)
        text = parent[at + 1] if at + 1 < len(parent) else ""
        if isinstance(text, kinds.Text) and text.startswith(PUNCTUATION):
            mark = kinds.Text(text[0])
            parent[at + 1] = kinds.Text(text[1:])
            parent[at] = kinds.inline("", "", node, mark, classes=["joined"])


def _inline(writer: HTML5Translator, node: nodes.Element) -> None:
    from docutils import nodes as kinds

    writer.body.append(_formula(writer, node, "inline"))
    raise kinds.SkipNode


def _block(writer: HTML5Translator, node: nodes.Element) -> None:
    from docutils import nodes as kinds

    number = f'<span class="eqno">({node["number"]})</span>' if node["number"] else ""
    anchor = "".join(f' id="{html.escape(name)}"' for name in node.get("ids", [])[:1])
    writer.body.append(f'<div class="formula"{anchor}>{_formula(writer, node, "block")}{number}</div>\n')
    raise kinds.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("doctree-resolved", join_punctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
