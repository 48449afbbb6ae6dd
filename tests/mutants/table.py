"""The wrong edits of ``wrong_edits.txt``: small mistakes in lines that a guarantee rests on, and who notices.

A file of the package stands at the margin; two spaces in, the tests that have to notice the edits below them;
four spaces in, an edit: the function (in a program file the section), a text that stands in the file exactly
once, and what is put in its place, as Python writes strings.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

ROWS = Path(__file__).with_name("wrong_edits.txt")


@dataclass(frozen=True)
class Mutant:
    file: str
    function: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"{self.file} {self.function} {self.old} {self.new}"

    def __str__(self) -> str:
        return f"{self.file} ({self.function}): {self.old!r} -> {self.new!r}"


def _read(text: str) -> tuple[Mutant, ...]:
    rows: list[Mutant] = []
    file, tests = "", tuple[str, ...]()
    for line in text.splitlines():
        if line.startswith("    "):
            function, old, new = ast.literal_eval(f"({line.strip()})")
            rows.append(Mutant(file, function, old, new, tests))
        elif line.startswith("  "):
            tests = tuple(line.split())
        elif line:
            file, tests = line, ()
    return tuple(rows)


MUTANTS = _read(ROWS.read_text(encoding="utf-8"))
