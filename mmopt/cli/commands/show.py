"""``mmopt show PROGRAM``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mmopt.cli.command_inputs import read_givens, read_request
from mmopt.cli.command_options import Given, OneProgram
from mmopt.cli.command_output import console, note, show as put

__all__ = ["show"]


def show(
    program: OneProgram,
    workload: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Workload file: show the sizes, cones and forecasts too."),
    ] = None,
    given: Given = None,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print the typeset form in LaTeX, and nothing else.")
    ] = False,
) -> None:
    """Explain a program: words, formulas, text, what is given; with a workload its size."""
    from mmopt.language import Program, check, typeset_latex
    from mmopt.language.print.program_layout import program_lines
    from mmopt.report import (
        givens_table,
        highlighted,
        pairs_table,
        paragraphs,
        program_listing,
        sizes_of,
        sizes_tables,
    )

    parsed = Program.load(program)
    if latex:
        put(typeset_latex(parsed))
        return
    sizes = None
    if workload is not None:
        queries = read_request(workload).workload
        sizes = sizes_of(parsed, queries, read_givens(given, parsed, queries))
    elif given:
        note("note: --given has no effect without --workload")
    checked = check(parsed)
    rows = [
        ("program", parsed.name),
        ("title", parsed.title),
        ("source", parsed.cite),
        ("class", parsed.klass),
        ("formulation of", parsed.formulation_of),
    ]
    put(pairs_table(row for row in rows if row[1]))
    if parsed.about:
        put("", paragraphs(parsed.about))
    put("", "In formulas", "", program_listing(program_lines(checked, "plain"), console().width))
    put("", "What is given", "", givens_table(parsed))
    put("", "The program", "", highlighted(parsed))
    if sizes is not None:
        put("", f"Size for {workload}", *sizes_tables(sizes))
        for problem in sizes:
            if problem.refusal is not None:
                put("", f"'mmopt solve' would refuse it: {problem.refusal}")
