"""What there is to say of a program: plain frozen data, which the renderers only arrange."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from mmopt.language.print.prose_formulas import Formula, Sentence
from mmopt.report.forecast_tables import Sizes

__all__ = [
    "Blamed",
    "BoundFacts",
    "Compiled",
    "Facts",
    "Formula",
    "GivenFacts",
    "Handed",
    "LineFacts",
    "MatrixFacts",
    "NodeFacts",
    "Scale",
    "Sentence",
    "SolvedFacts",
    "SolvedLine",
    "Statement",
    "Step",
    "plain_data",
]


@dataclass(frozen=True)
class Statement:
    """A line of the typeset program; ``label`` names the section on its first line."""

    label: str
    formula: Formula
    words: Sentence


@dataclass(frozen=True)
class NodeFacts:
    """A node of an expression.

    ``short`` is the formula with long arguments left out. ``order`` says in which order a matrix is
    curved ("psd" for the order of psd matrices, "" entry by entry). ``blamed``: here a line stops being
    convex.
    """

    formula: Formula
    short: Formula
    shape: str
    sign: str
    curvature: str
    order: str
    rule: str
    blamed: bool
    parts: tuple[NodeFacts, ...]


@dataclass(frozen=True)
class Blamed:
    """Why a line is not convex: the message, the place with a caret under it, what to do."""

    message: str
    where: str
    excerpt: str
    hint: str


@dataclass(frozen=True)
class LineFacts:
    """The objective (named ``minimize`` or ``maximize``) or a constraint, with the trees of its sides.

    ``wanted`` says of each side which curvature it has to have.
    """

    name: str
    formula: Formula
    sides: tuple[NodeFacts, ...]
    wanted: tuple[str, ...]
    blamed: Blamed | None


@dataclass(frozen=True)
class BoundFacts:
    """What is proved of the optimum, or claimed: the bound, what it means in words, its proof."""

    formula: Formula | None
    sentences: tuple[Sentence, ...]
    proof: Sentence
    is_claim: bool


@dataclass(frozen=True)
class GivenFacts:
    """A given, parameter or let with its numbers: where they come from, their shape, what they look like.

    ``preview`` has the entries of something small, the first of a long vector.
    """

    name: Formula
    origin: str
    shape: str
    figures: str
    preview: Formula | None


@dataclass(frozen=True)
class Scale:
    """How a quantity grows when the queries are multiplied by s and the targets by t; the factor used."""

    name: Formula
    power: Formula
    factor: float


@dataclass(frozen=True)
class Handed:
    """A line or a declaration and the form in which it goes to the solver."""

    name: str
    formula: Formula
    how: tuple[Sentence, ...]


@dataclass(frozen=True)
class MatrixFacts:
    """The constraint matrix that the solver gets."""

    solver: str
    rows: int
    columns: int
    nonzeros: int


@dataclass(frozen=True)
class Compiled:
    """A program at a workload's sizes.

    ``refusal`` says why there is no compiled problem; ``handed``, ``sizes`` and ``matrix`` are empty then.
    ``matrix_words`` says why the matrix was not built; ``scaled`` is None when the lines agree on no units.
    """

    workload: str
    dims: tuple[tuple[str, int], ...]
    givens: tuple[GivenFacts, ...]
    scaled: tuple[Scale, ...] | None = None
    reductions: tuple[str, ...] = ()
    handed: tuple[Handed, ...] = ()
    sizes: Sizes | None = None
    matrix: MatrixFacts | None = None
    matrix_words: str = ""
    choice: str = ""
    refusal: str = ""


@dataclass(frozen=True)
class SolvedLine:
    """A constraint at the solution, and its multiplier.

    ``count`` rows of which ``tight`` hold with equality (None where the workload is not known);
    ``multipliers`` of them (0 when none is kept), of which ``zero`` are negligible; the ``largest`` with
    their labels; ``words`` says what else there is.
    """

    name: str
    count: int | None
    tight: int | None
    multipliers: int
    zero: int
    total: float
    largest: tuple[tuple[str, float], ...]
    words: str


@dataclass(frozen=True)
class SolvedFacts:
    """The figures of a solution, its constraints, and what the optimum does when one is relaxed: "falls"."""

    rows: tuple[tuple[str, str], ...]
    lines: tuple[SolvedLine, ...]
    moves: str


@dataclass(frozen=True)
class Step:
    """A program that a procedure solves, in its place, with what is known of it by then."""

    name: str
    explanation: Facts


@dataclass(frozen=True)
class Facts:
    """All there is to say of a program; the last two with a workload and with a solution."""

    name: str
    title: str
    cite: str
    klass: str
    formulation_of: str
    about: Sentence
    statements: tuple[Statement, ...]
    lines: tuple[LineFacts, ...]
    repair: tuple[Sentence, ...]
    bound: BoundFacts
    steps: tuple[Step, ...] = ()
    compiled: Compiled | None = None
    solved: SolvedFacts | None = None


def plain_data(value: Any) -> Any:
    """Facts as what JSON can hold."""
    if isinstance(value, Sizes):
        return value.summary()
    if dataclasses.is_dataclass(value):
        return {f.name: plain_data(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return [plain_data(v) for v in value] if isinstance(value, tuple | list) else value
