"""Docstrings in reStructuredText: two references as pages, and the docstrings of public names.

Nothing is written a second time: a list of two columns becomes a list of definitions, a block of code gets
its colours, and what says which file is where is for who reads the code, so it is left out.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType

__all__ = ["definitions", "docstring_page", "plain_signature", "readable"]

_COLUMNS = re.compile(r"(\S(?:.*?\S)?)?( {2,})(\S.*)")
# "names : words", at the beginning of a line or after a sentence.
_FIELD = re.compile(r"(?:^|(?<=\. ))(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*) : (?=\S)", re.MULTILINE)
_HEADING = re.compile(r"-{3,}")
_FILES = re.compile(r"\n(?:Folders\n-+|Files here:)\n.*", re.DOTALL)


def docstring_page(
    module: ModuleType,
    title: str,
    language: str,
    without: tuple[str, ...] = (),
    within: Mapping[str, str] | None = None,
) -> str:
    """A page of a module's docstring under a title; some sections left out.

    Its blocks are of a language, those within some sections of another.

    Raises
    ------
    ValueError : a section to be left out is not there.
    """
    text = _FILES.sub("\n", inspect.cleandoc(module.__doc__ or ""))
    for heading in without:
        text, count = re.subn(rf"(?ms)^{heading}\n-+\n.*?(?=^\S[^\n]*\n-+\n|\Z)", "", text)
        if not count:
            raise ValueError(f"the docstring of {module.__name__} has no section '{heading}'")
    body = "\n".join(_blocks(text.split("\n"), language, within or {}))
    return f"{title}\n{'=' * len(title)}\n\n.. highlight:: {language}\n\n{body}\n"


def _blocks(lines: list[str], language: str, within: Mapping[str, str]) -> Iterator[str]:
    """The lines, lists of two columns turned into definitions. What is indented is code, and stays."""
    at = 0
    while at < len(lines):
        if _HEADING.fullmatch(lines[min(at + 1, len(lines) - 1)]):
            yield from (lines[at], lines[at + 1], "", f".. highlight:: {within.get(lines[at], language)}", "")
            at += 2
            continue
        end = at
        while end < len(lines) and lines[end].strip() and (end > at or not lines[at][0].isspace()):
            end += 1
        block = lines[at:end]
        if len(block) > 1 and (column := _column(block)):
            yield from definitions(block, column)
        else:
            yield from block or [lines[at]]
        at = max(end, at + 1)


def _column(block: list[str]) -> int:
    """Where the second of two columns begins; 0 where a block of lines has no two columns."""
    starts = {match.start(3) for line in block if (match := _COLUMNS.fullmatch(line)) and match[1]}
    if len(starts) != 1 or not _COLUMNS.fullmatch(block[0]):
        return 0
    column = starts.pop()
    fits = all(len(line) < column or line[column - 1] == " " for line in block)
    return column if fits else 0


def definitions(block: list[str], column: int) -> Iterator[str]:
    """Two columns as a list of definitions; a line without a name continues the one above.

    A line with a name alone names the same thing as the one above it.
    """
    entries: list[tuple[list[str], list[str]]] = []
    for line in block:
        name, words = line[:column].strip(), line[column:].strip()
        if not name:
            entries[-1][1].append(words)
        elif not words:
            entries[-1][0].append(name)
        else:
            entries.append(([name], [words]))
    for names, lines in entries:
        yield ", ".join(f"``{one}``" for name in names for one in name.split(", "))
        yield f"    {' '.join(lines)}"
        yield ""


def readable(lines: list[str]) -> list[str]:
    """A docstring in our form, in one that Sphinx reads: headings, and ``name : words`` as definitions."""
    out: list[str] = []
    at = 0
    while at < len(lines):
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if _HEADING.fullmatch(following):
            out += ["", f".. rubric:: {lines[at]}", ""]
            at += 2
        elif _FIELD.match(lines[at]):
            end = next((i for i in range(at, len(lines)) if not lines[i].strip()), len(lines))
            out += _fields("\n".join(lines[at:end]))
            at = end
        else:
            out.append(lines[at])
            at += 1
    return out


def _fields(text: str) -> Iterator[str]:
    """Names and what is said of them, as definitions."""
    fields = list(_FIELD.finditer(text))
    for field, end in zip(fields, [*(one.start() for one in fields[1:]), len(text)], strict=True):
        yield from ("", ", ".join(f"``{name}``" for name in field[1].split(", ")))
        yield from (f"    {line.strip()}" for line in text[field.end() : end].splitlines())


class _Source:
    """Printed as it is in the source."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def plain_signature(function: Callable[..., object]) -> tuple[str, str]:
    """Parameters and what is returned, types as the source names them: aliases are not written out."""
    known = inspect.signature(function)

    def source(annotation: object) -> object:
        return _Source(annotation) if isinstance(annotation, str) else annotation

    def value(default: object) -> object:
        name = default.__name__ if inspect.isfunction(default) else ""
        return _Source("..." if name == "<lambda>" else name) if name else default

    parameters = [
        one.replace(annotation=source(one.annotation), default=value(one.default))
        for one in known.parameters.values()
        if one.name != "self"
    ]
    signature = known.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    returned = known.return_annotation
    return str(signature), "" if returned is inspect.Signature.empty else str(returned)
