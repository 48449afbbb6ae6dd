"""Cells of a page as its reader has them: a file under its name, a command without the mark of a notebook.

Who reads a page at a terminal has no notebook. Lessons are notebooks, and stay as they are.
"""

from __future__ import annotations

import re

import nbformat

__all__ = ["as_typed"]

_FILE = re.compile(r"%%writefile (\S+)\n(.*)", re.DOTALL)
LANGUAGES = {"yaml": "yaml", "program": "mmopt", "py": "python", "csv": "text"}


def as_typed(cell: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A cell that writes a file, or has commands alone, as blocks of text; any other as it is."""
    lines = cell.source.splitlines()
    if cell.cell_type != "code" or not lines:
        return cell
    if file := _FILE.fullmatch(cell.source):
        name, content = file.groups()
        language = LANGUAGES[name.rpartition(".")[2]]
        return nbformat.v4.new_markdown_cell(f"The file `{name}`:\n\n{_block(language, content)}")
    if all(line.startswith("!") for line in lines):
        commands = "\n".join(line.removeprefix("!") for line in lines)
        said = "".join(_said(out) for out in cell.outputs)
        return nbformat.v4.new_markdown_cell(
            _block("sh", commands) + (f"\n\n{_block('text', said)}" if said.strip() else "")
        )
    return cell


def _said(output: nbformat.NotebookNode) -> str:
    """Output of a command, or how it ended."""
    return output.text if output.output_type == "stream" else f"({output.evalue})\n"


def _block(language: str, text: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"
