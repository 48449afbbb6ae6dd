"""A program: what its file says, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from mmopt.language.syntax.library import program_text
from mmopt.language.syntax.reader import read_fields
from mmopt.language.syntax.source import Source
from mmopt.language.syntax.tree import (
    Adoption,
    Assignment,
    Certificate,
    Constraint,
    Declaration,
    Expr,
    Meaning,
    Span,
    Start,
    Step,
)

__all__ = ["Program"]


@dataclass(frozen=True)
class Program:
    """One optimisation, as written in its file (see ``programs/`` and the language reference).

    ``Program.parse`` reads a text (a notebook cell), ``Program.load`` a shipped name or a path.
    """

    name: str
    source: Source = field(compare=False, repr=False)
    title: str = ""
    cite: str = ""
    klass: str = "convex"
    formulation_of: str = ""
    about: str = field(default="", compare=False)
    proof: str = field(default="", compare=False)
    givens: tuple[Declaration, ...] = ()
    parameters: tuple[Assignment, ...] = ()
    lets: tuple[Assignment, ...] = ()
    requires: tuple[Constraint, ...] = ()
    choose: tuple[Declaration, ...] = ()
    sense: str = "minimize"
    objective: Expr | None = None
    constraints: tuple[Constraint, ...] = ()
    steps: tuple[Step, ...] = ()
    starts: tuple[Start, ...] = ()
    repair: tuple[Assignment, ...] = ()
    value: Expr | None = None
    meaning: Meaning | None = None
    adoption: Adoption | None = None
    certificate: Certificate | None = None
    bound: str = ""
    spans: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)

    @property
    def text(self) -> str:
        """The program's text."""
        return "\n".join(self.source.lines)

    @staticmethod
    def parse(text: str, file: str = "<program>") -> Program:
        """Read a program; :class:`~mmopt.errors.ProgramError` names line and column."""
        return _parsed(text, file)

    @staticmethod
    def load(name: str | Path) -> Program:
        """Read a shipped program by name, or any by its path.

        Raises :class:`~mmopt.errors.OptionError` for an unknown name,
        :class:`~mmopt.errors.ProgramError` for a file that cannot be read.
        """
        return Program.parse(*program_text(name))


# Keyed by the text, so an edited file is read anew; many small solves of one program read it once.
@lru_cache(maxsize=128)
def _parsed(text: str, file: str) -> Program:
    return Program(**read_fields(text, file))
