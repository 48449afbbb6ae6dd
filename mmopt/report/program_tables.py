"""Programs as a reader sees them: the list, text in colours, formulas in lines, givens, who takes them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from mmopt.compiler import bind, cones
from mmopt.compiler.reductions import SECTOR_TOTALS, obstacle
from mmopt.language import SOURCES, Checked, Program, check, shipped
from mmopt.language.atoms.argument_types import Type
from mmopt.language.check.procedure_checks import solved_programs
from mmopt.language.print.prose_formulas import plain_words, prose
from mmopt.report.table_style import bold, cell, rows_table
from mmopt.solvers import KERNELS, SOLVERS, Kernel, SolverRow, known_as, sector_kernel
from mmopt.workloads import Workload

__all__ = [
    "Takers",
    "givens_table",
    "highlighted",
    "lines_table",
    "place",
    "program_listing",
    "programs_table",
    "takers",
    "takers_table",
    "wrapped",
]

_SECTION = re.compile(
    r"^(program|title|source|class|language|formulation of|about|given|parameter|let|require|choose|minimize|"
    r"maximize|subject to|start|steps|repair|value|strategy|covariance|certificate|bound|proof)\b",
    re.MULTILINE,
)
_PROSE = re.compile(r"^(?:about|proof)[^\n]*\n((?:(?:[ \t][^\n]*)?\n)*)", re.MULTILINE)
_VENUE = re.compile(r"(?<!\()\b[A-Z]{2,} \d{4}[^;]*")
_NAME = re.compile(r"^[ \t]+(\w+)(?=:| =)", re.MULTILINE)
_STRING = re.compile(r'"[^"\n]*"')
_COMMENT = re.compile(r"#[^\n]*")
# In this order: what comes later covers what is below it.
STYLES = (
    (_NAME, "cyan"),
    (_STRING, "green"),
    (_COMMENT, "dim"),
    (_PROSE, "not cyan not green default"),
    (_SECTION, "bold magenta"),
)
OPEN, CLOSE = "([{", ")]}"
# What a line may end or begin with, the better the smaller the number.
BEFORE = {"≤": 0, "≥": 0, "=": 0, "⪰": 0, "⪯": 0, "←": 0, "∀": 0, "+": 1, "−": 1, "/": 2, "∘": 2, "·": 2}
AFTER = {";": 1, ",": 2}
INDENT = 4
LEAST_WIDTH_OF_WORDS = 24  # columns for words beside a formula; with fewer they stand below it


def programs_table(programs: Sequence[Program]) -> Table:
    """Names with title, place in the paper, class and bound; formulations below their program."""
    names = {p.name for p in programs}
    rows: list[Sequence[object]] = []
    for base in programs:
        if base.formulation_of in names:
            continue
        rows.append((bold(base.name), _words(base)))
        rows += [(f"  {p.name}", _words(p)) for p in programs if p.formulation_of == base.name]
    return rows_table(("program", "what it finds"), rows)


def place(program: Program) -> str:
    """``PODS 2010, Program 5.2`` of a whole reference, where it has such."""
    found = _VENUE.findall(program.cite)
    return "; ".join(text.strip() for text in found) if found else program.cite


def _words(program: Program) -> Text:
    bound = f"bound of {program.bound}" if program.bound else "no bound"
    about = f"{program.klass}, {'its own bound' if program.certificate else bound}"
    return cell(program.title).append(f"\n{place(program)} ({about})", style="dim")


def highlighted(program: Program) -> Text:
    """The program's text with its sections, names, texts and comments in colours."""
    text = Text(program.text, no_wrap=True, overflow="ignore")
    for pattern, style in STYLES:
        for found in pattern.finditer(program.text):
            text.stylize(style, *found.span(pattern.groups))
    return text


def givens_table(program: Program) -> Table:
    """Each given: its kind, where it comes from, what it is."""
    rows, scope = [], check(program).scope
    for d in program.givens:
        dims = f"[{', '.join(map(str, d.dims))}]" if d.dims else ""
        kind = f"{d.kind}{dims}{f' {d.sign} 0' if d.sign else ''}"
        origin = d.source or f"you: --given {d.name}=…"
        words = plain_words(prose(d.doc, scope)[0])
        rows.append((bold(d.name), kind, origin, words or SOURCES.get(d.source, "")))
    return rows_table(("given", "kind", "from", "what"), rows)


def lines_table(checked: Checked) -> Table:
    """The shape and curvature found for the objective and for both sides of each constraint."""
    return rows_table(("line", "left side", "relation", "right side"), _lines(checked))


def _lines(checked: Checked) -> Iterator[tuple[Text | str, ...]]:
    program = checked.program
    if checked.objective is not None:
        yield bold(program.sense), _described(checked.objective)
    for c in program.constraints:
        left, right = map(_described, checked.constraints[c.name])
        loop = f" for {c.family.index} in {c.family.dim}" if c.family else ""
        yield bold(f"{c.name}{loop}"), left, c.relation.op, right


def _described(known: Type) -> str:
    return f"{known.curvature.value}, {known.shape}"


# -- long formulas in lines of a given width, broken where one would break them by hand


def wrapped(formula: str, width: int) -> list[str]:
    """Lines of at most ``width`` characters, those after the first indented.

    A break stands at a space, outermost brackets first, then before a relation, a sum, a product.
    """
    lines: list[str] = []
    rest = formula
    while True:
        room = width - (INDENT if lines else 0)
        at = _break(rest, room) if len(rest) > room else None
        lines.append(" " * (INDENT if lines else 0) + (rest if at is None else rest[:at].rstrip()))
        if at is None:
            return lines
        rest = rest[at:].lstrip()


def _break(text: str, room: int) -> int | None:
    """The best space at which to break; one beyond the room when there is none before."""
    places = []
    depth = 0
    for i, char in enumerate(text):
        depth += (char in OPEN) - (char in CLOSE)
        if char == " " and text[:i].strip():
            places.append((i, depth, min(BEFORE.get(text[i + 1 : i + 2], 3), AFTER.get(text[i - 1], 3))))
    fitting = [p for p in places if p[0] <= room]
    if not fitting:
        return places[0][0] if places else None
    # A very short first line is worse than a break inside brackets.
    return min([p for p in fitting if p[0] >= room // 3] or fitting, key=lambda p: (p[1], p[2], -p[0]))[0]


def program_listing(lines: Sequence[tuple[str, str, str]], width: int) -> str:
    """Lines of a program (label, formula, words) within ``width`` columns, the words beside the formulas."""
    left = max(len(label) for label, _, _ in lines) + 2
    room = width - left
    beside = (
        max(
            (len(f) for _, f, words in lines if words and len(f) <= room - LEAST_WIDTH_OF_WORDS - 3),
            default=0,
        )
        + 3
    )
    out: list[str] = []
    for label, formula, words in lines:
        rows = wrapped(formula, room)
        out.append(f"{label:<{left}}{rows[0]}")
        if words and len(rows) == 1 and len(formula) + 3 <= beside:
            first, *more = textwrap.wrap(words, room - beside)
            out[-1] = f"{label:<{left}}{formula:<{beside}}{first}"
            out += [" " * (left + beside) + row for row in more]
            continue
        out += [" " * left + row for row in rows[1:]]
        if words:
            out += [" " * (left + INDENT) + row for row in textwrap.wrap(words, room - INDENT)]
    return "\n".join(row.rstrip() for row in out)


# -- which solver takes which program: the cones of each against the table of solvers


@dataclass(frozen=True)
class Takers:
    """Who takes a program.

    kernels : names of those that do. cones : kinds of cone that a conic solver needs for it; None where none
    is needed: programs of class smooth are searched by gradients, closed forms evaluated.
    """

    kernels: tuple[str, ...]
    cones: frozenset[str] | None

    def lacking(self, row: SolverRow) -> list[str] | None:
        """The cones that a solver lacks, sorted; None when none are needed at all."""
        return None if self.cones is None else sorted(self.cones - row.cones)

    def summary(self) -> dict[str, Any]:
        """One JSON object."""
        return {"kernels": list(self.kernels), "lacking": {row.name: self.lacking(row) for row in SOLVERS}}


def takers(checked: Checked) -> Takers:
    """Who takes a program; of a procedure, who takes every program that it solves."""
    if not checked.program.steps:
        kernels = [k.name for k in KERNELS if _is_taken(checked, k)]
        return Takers(tuple(kernels), _cones(checked))
    steps = [takers(shipped(name)) for name in solved_programs(checked.program.steps)]
    kernels = [k.name for k in KERNELS if steps and all(k.name in step.kernels for step in steps)]
    conic = [step.cones for step in steps if step.cones is not None]
    return Takers(tuple(kernels), frozenset().union(*conic) if conic else None)


def _is_taken(checked: Checked, kernel: Kernel) -> bool:
    return known_as(kernel, checked) is not None and not (
        kernel.takes is sector_kernel.takes and obstacle(checked, {}, totals=SECTOR_TOTALS)
    )


def _cones(checked: Checked) -> frozenset[str] | None:
    if checked.program.klass in ("smooth", "closed form"):
        return None
    workload = Workload.from_matrix([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], targets=[1.0] * 3)
    instance = bind(checked, workload)
    return frozenset(cone.kind for cone in cones(instance.checked, instance.sizes()))


def takers_table(programs: Mapping[str, Takers]) -> Table:
    """A row for each program: the kernel, and the conic solvers with the cones that some lack."""
    rows = []
    for name, who in programs.items():
        lacks = {row.name: who.lacking(row) for row in SOLVERS}
        unable = [f"{solver} ({', '.join(kinds)})" for solver, kinds in lacks.items() if kinds]
        conic = f"all but {', '.join(unable)}" if unable else "all"
        rows.append((bold(name), ", ".join(who.kernels), "none needed" if who.cones is None else conic))
    return rows_table(("program", "kernel", "conic solvers"), rows)
