"""Program files: the list of them, their text in colours, their givens and lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from mmopt.language import SOURCES, Checked, Program
from mmopt.language.atoms.types import Type
from mmopt.report.style import cell, new_table

__all__ = ["givens_table", "highlighted", "lines_table", "programs_table"]

_SECTION = re.compile(
    r"^(program|title|source|class|language|formulation of|about|given|parameter|let|require|choose|minimize|"
    r"maximize|subject to|start|steps|repair|value|strategy|covariance|certificate|bound|proof)\b",
    re.MULTILINE,
)
_PROSE = re.compile(r"^(?:about|proof)[^\n]*\n(?P<prose>(?:(?:[ \t][^\n]*)?\n)*)", re.MULTILINE)
_VENUE = re.compile(r"\b[A-Z]{2,} \d{4}[^;]*")
_NAME = re.compile(r"^[ \t]+(\w+)(?=:| =)", re.MULTILINE)
_STRING = re.compile(r'"[^"\n]*"')
_COMMENT = re.compile(r"#[^\n]*")


def programs_table(programs: Sequence[Program]) -> Table:
    """Names with title, place in the paper, class and bound; formulations below their program."""
    table = new_table("program", "what it finds")
    names = {p.name for p in programs}
    for base in programs:
        if base.formulation_of in names:
            continue
        for program in (base, *(p for p in programs if p.formulation_of == base.name)):
            bound = "its own bound" if program.certificate else f"bound of {program.bound}"
            about = f"{program.klass}, {bound if program.certificate or program.bound else 'no bound'}"
            indent, style = ("", "bold") if program is base else ("  ", "")
            words = cell(program.title)
            words.append(f"\n{_place(program.cite)} ({about})", style="dim")
            table.add_row(cell(indent + program.name, style), words)
    return table


def _place(cite: str) -> str:
    """``PODS 2010, Program 5.2`` of a whole reference; all of one that is written otherwise."""
    found = _VENUE.findall(cite)
    return "; ".join(text.strip() for text in found) if found else cite


def highlighted(program: Program) -> Text:
    """The program's text with its sections, names, texts and comments in colours."""
    text = Text(program.text, no_wrap=True, overflow="ignore")
    for pattern, style in ((_NAME, "cyan"), (_STRING, "green"), (_COMMENT, "dim")):
        for match in pattern.finditer(program.text):
            text.stylize(style, *match.span(pattern.groups))
    for match in _PROSE.finditer(program.text):
        text.stylize("not cyan not green default", *match.span("prose"))
    for match in _SECTION.finditer(program.text):
        text.stylize("bold magenta", *match.span(1))
    return text


def givens_table(program: Program) -> Table:
    """Each given: its kind, where it comes from, what it is."""
    table = new_table("given", "kind", "from", "what")
    for d in program.givens:
        dims = f"[{', '.join(map(str, d.dims))}]" if d.dims else ""
        kind = f"{d.kind}{dims}{f' {d.sign} 0' if d.sign else ''}"
        origin = d.source or f"you: --given {d.name}=…"
        table.add_row(
            cell(d.name, "bold"), cell(kind), cell(origin), cell(d.doc or SOURCES.get(d.source, ""))
        )
    return table


def lines_table(checked: Checked) -> Table:
    """The shape and curvature found for the objective and for both sides of each constraint."""
    table = new_table("line", "left side", "relation", "right side")
    program = checked.program
    if checked.objective is not None:
        table.add_row(cell(program.sense, "bold"), cell(_described(checked.objective)), "", "")
    for constraint in program.constraints:
        left, right = checked.constraints[constraint.name]
        loop = f" for {constraint.family.index} in {constraint.family.dim}" if constraint.family else ""
        table.add_row(
            cell(f"{constraint.name}{loop}", "bold"),
            cell(_described(left)),
            cell(constraint.relation.op),
            cell(_described(right)),
        )
    return table


def _described(known: Type) -> str:
    return f"{known.curvature.value}, {known.shape}"
