"""Formulas of pages as MathML, made when the site is built: a reader's browser needs no script.

A Sphinx extension. LaTeX that is wrong, or that the library does not know, is an error with page and line.
"""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING, Any

from latex2mathml import exceptions
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

__all__ = ["LatexError", "mathml", "setup"]

# The library takes what follows for arguments, however many there are.
ARGUMENTS = {
    "mfrac": 2,
    "msub": 2,
    "msup": 2,
    "msubsup": 3,
    "munder": 2,
    "mover": 2,
    "munderover": 3,
    "mroot": 2,
}
# The library has a class for each mistake, and none above them all.
MISTAKES: tuple[type[Exception], ...] = tuple(
    kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, Exception)
)
MATHML = "http://www.w3.org/1998/Math/MathML"
NAMESPACE = f"{{{MATHML}}}"
# Relations that the library takes for letters, and names whose limits are below them on a line of their own.
RELATIONS = frozenset("⪯⪰≺≻≼≽")
OPENING, CLOSING = frozenset("([{"), frozenset(")]}|‖!′")
SIGNS = frozenset("+-−±")
PUNCTUATION = tuple(".,;:!?)]’”")
WITH_LIMITS = frozenset(("min", "max", "inf", "sup", "lim"))
# An environment that it does not know, and one that prints the same.
SAME = (("{aligned}", "{align*}"), ("{align}", "{align*}"), ("{split}", "{align*}"))


class LatexError(ValueError):
    """LaTeX that cannot be printed."""


def mathml(latex: str, display: str = "inline") -> str:
    """A ``<math>`` element; ``display`` is "inline" or "block".

    Raises
    ------
    LatexError : braces that do not match, a command that is not known, an argument that is missing.
    """
    depth = 0
    for brace in re.findall(r"(?<!\\)(?:\\\\)*([{}])", latex):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            break
    if depth:
        raise LatexError("braces that do not match")
    for one, other in SAME:
        latex = latex.replace(one, other)
    try:
        text = convert(latex, display=display)
        tree = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        raise LatexError("what comes of it is no XML: is a '&' outside of a table?") from None
    except MISTAKES as error:
        raise LatexError(f"{type(error).__name__} {error}".strip()) from None
    for element in tree.iter():
        name, words = element.tag.removeprefix(NAMESPACE), element.text or ""
        if name != "mtext" and words.startswith("\\") and len(words) > 1:
            raise LatexError(f"'{words}' is not known")
        if len(element) != ARGUMENTS.get(name, len(element)):
            raise LatexError(f"an argument is missing ({name})")
        _set_as_in_print(element, name, display)
        _space(list(element))
    ElementTree.register_namespace("", MATHML)
    return ElementTree.tostring(tree, encoding="unicode")


def _set_as_in_print(element: ElementTree.Element, name: str, display: str) -> None:
    """Space around relations and none around a slash, limits below what has them: in place."""
    if name == "mi" and element.text in RELATIONS:
        element.tag = f"{NAMESPACE}mo"
    elif name == "mo" and element.text == "∞":
        element.tag = f"{NAMESPACE}mi"
    elif name == "mo" and element.text == "/":
        element.attrib |= {"lspace": "0", "rspace": "0"}
    elif name == "msub" and display == "block" and element[0].text in WITH_LIMITS:
        element.tag = f"{NAMESPACE}munder"


def _space(row: list[ElementTree.Element]) -> None:
    """Names of functions, such as tr and max, keep a little space, but not from the bracket that follows.

    A sign after a relation or an opening bracket is that of what follows.
    """
    for before, element, after in zip([None, *row], row, [*row[1:], None], strict=False):
        while len(element) and element.tag.removeprefix(NAMESPACE).startswith(("msu", "mu")):
            element = element[0]
        if element.tag == f"{NAMESPACE}mo" and (element.text or "").isalpha():
            opens = after is not None and (after.text or "") in OPENING
            element.attrib["lspace"] = "0" if before is None or before.tag == f"{NAMESPACE}mo" else "0.17em"
            element.attrib["rspace"] = "0" if after is None or opens else "0.17em"
        elif element.text in SIGNS and before is not None and before.tag == f"{NAMESPACE}mo":
            element.attrib["form"] = "infix" if before.text in CLOSING else "prefix"


def _formula(writer: HTML5Translator, node: nodes.Element, display: str) -> str:
    try:
        return mathml(node.astext(), display)
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
