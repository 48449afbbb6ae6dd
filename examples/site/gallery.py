"""The cards of the gallery: a picture of each of its sections, a link to the lines that draw it."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat

__all__ = ["CARDS", "fill_cards"]

CARDS = "% gallery: cards"  # the line of the page that they take the place of


def fill_cards(file: Path) -> None:
    """Put the cards into a notebook that was run, in place; the pictures are written beside it."""
    notebook = nbformat.read(file, as_version=4)
    cards = "\n\n".join(_cards(notebook, file))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace(CARDS, f"::::{{container}} gallery\n{cards}\n::::")
    nbformat.write(notebook, file)


def _cards(notebook: nbformat.NotebookNode, file: Path) -> Iterator[str]:
    """A card for the first code after each heading: what it drew, or what it printed."""
    title = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            headings = re.findall(r"^## (.+)$", cell.source, re.MULTILINE)
            title = headings[-1] if headings else title
        elif title and cell.outputs:
            yield _card(title, cell.outputs, file)
            title = ""


def _card(title: str, outputs: list[nbformat.NotebookNode], file: Path) -> str:
    anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
    drawn = [out.data for out in outputs if "data" in out]
    for kind, ending in (("image/svg+xml", "svg"), ("image/png", "png")):
        for data in (one[kind] for one in drawn if kind in one):
            picture = file.with_name(f"{file.stem}-{anchor}.{ending}")
            picture.write_bytes(data.encode() if ending == "svg" else base64.b64decode(data))
            return f"[![{title}]({picture.name}) {title}](#{anchor})"
    words = "".join(out.get("text", "") for out in outputs).strip()
    printed = html.escape(re.sub(r"\x1b\[[\d;]*m", "", words))  # without the colours of a terminal
    return (
        f'```{{raw}} html\n<p><a href="#{anchor}"><span class="printed">{printed}</span> {title}</a></p>\n```'
    )
