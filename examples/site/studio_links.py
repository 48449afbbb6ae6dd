"""Links that open a program in the studio, made of the code of a page without running it.

A program is what ``Program.parse`` is given, also by functions of the page, and a shipped one where its name
stands. Nothing is solved: of a page's statements those alone are run that make texts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import nbformat

import mmopt
from mmopt.language import Program, program_names

__all__ = ["FIRST", "add_links", "address", "programs_of", "try_it"]

STUDIO = "http://127.0.0.1:8347/"  # where `mmopt studio` serves unless told otherwise
FIRST = "start `mmopt studio` first"
# Methods and functions that make a text of texts: a value made by these alone is computed.
_TEXTUAL = {"format", "replace", "index", "join", "strip"}


def address(**fragment: str | int) -> str:
    """The studio, opened with these: ``text`` or ``program``, ``queries``, ``cells``, ``tab``."""
    return STUDIO + "#" + "&".join(f"{name}={quote(str(value), safe='')}" for name, value in fragment.items())


def try_it(programs: Sequence[Program]) -> str:
    """A line of Markdown: a link for each program."""
    return f"*Try it:* {', '.join(map(_link, programs))} ({FIRST})."


def _link(program: Program) -> str:
    if program.name in program_names() and program.text == Program.load(program.name).text:
        cells = 6 if program.problem_class == "rank" else 16  # a rank heuristic takes minutes with more
        fragment: dict[str, str | int] = {"program": program.name, "queries": "prefix", "cells": cells}
    else:
        fragment = {"text": program.text, "tab": "program"}
    return f"[{program.name}]({address(**fragment)})"


def add_links(notebook: nbformat.NotebookNode) -> None:
    """Below each cell that has programs, their links; each program once on a page."""
    linked: set[str] = set()
    cells = []
    sources = [cell.source if cell.cell_type == "code" else "" for cell in notebook.cells]
    for cell, programs in zip(notebook.cells, programs_of(sources), strict=True):
        cells.append(cell)
        new = [program for program in programs if program.text not in linked]
        linked |= {program.text for program in new}
        if new:
            cells.append(nbformat.v4.new_markdown_cell(try_it(new)))
    notebook.cells = cells


def programs_of(sources: Sequence[str]) -> Iterator[list[Program]]:
    """The programs of each cell, in the order of its text."""
    names: dict[str, Any] = {"mmopt": mmopt}
    makers: set[str] = set()  # functions of the page that return a program
    for source in sources:
        if file := re.match(r"%%writefile \S+\.program\n", source):
            yield [Program.parse(source[file.end() :])]
            continue
        lines = [] if source.startswith("%%") else source.split("\n")
        tree = ast.parse("\n".join(line for line in lines if not line.startswith(("!", "%", ":"))))
        programs: list[Program] = []
        for statement in tree.body:
            if isinstance(statement, ast.FunctionDef):
                returned = [node.value for node in ast.walk(statement) if isinstance(node, ast.Return)]
                if any(isinstance(value, ast.Call) and _makes(value, makers) for value in returned):
                    makers.add(statement.name)
                    _run(statement, names)
                continue
            programs += _made(statement, names, makers)
            if isinstance(statement, ast.Assign) and _is_textual(statement.value, names, makers):
                _run(statement, names)
        yield list({program.text: program for program in programs}.values())


def _made(statement: ast.stmt, names: dict[str, Any], makers: set[str]) -> Iterator[Program]:
    """The programs that a statement makes or names, as its text goes."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Constant) and node.value in program_names():
            yield Program.load(node.value)
        elif isinstance(node, ast.Call) and _makes(node, makers) and _is_textual(node, names, makers):
            program = eval(compile(ast.Expression(node), "page", "eval"), names)
            if isinstance(program, Program):
                yield program


def _makes(call: ast.Call, makers: set[str]) -> bool:
    """Whether a call is of ``Program.parse``, or of a function that returns what it makes."""
    return ast.unparse(call.func) == "mmopt.Program.parse" or ast.unparse(call.func) in makers


def _is_textual(node: ast.expr, names: dict[str, Any], makers: set[str]) -> bool:
    """Whether a value is made of texts, of names of such, and by what keeps them texts."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id not in {*names, *makers}:
            return False
        if isinstance(part, ast.Call):
            keeps = isinstance(part.func, ast.Attribute) and part.func.attr in _TEXTUAL
            if not (keeps or ast.unparse(part.func) == "mmopt.Program.load" or _makes(part, makers)):
                return False
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp | ast.Call | ast.List | ast.Dict)


def _run(statement: ast.stmt, names: dict[str, Any]) -> None:
    exec(compile(ast.Module([statement], []), "page", "exec"), names)
