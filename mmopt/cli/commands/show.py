"""``mmopt show PROGRAM``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmopt.cli.options import Given
from mmopt.cli.output import console, note, show as put

if TYPE_CHECKING:
    from mmopt.language import Program
    from mmopt.report import Sizes

__all__ = ["put_sizes", "show"]


def show(
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help="Shipped program, or a path ending in .program.")
    ],
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
    from mmopt.cli.inputs import read_givens
    from mmopt.language import Program, typeset_latex
    from mmopt.request import load_request

    parsed = Program.load(program)
    if latex:
        put(typeset_latex(parsed))
        return
    sizes = None
    if workload is not None:
        from mmopt.report import sizes_of

        queries = load_request(workload).workload
        sizes = sizes_of(parsed, queries, read_givens(given, parsed, queries))
    elif given:
        note("note: --given has no effect without --workload")
    _put_program(parsed)
    if sizes is not None:
        put("", f"Size for {workload}")
        put_sizes(sizes)
        for problem in sizes:
            if problem.refusal is not None:
                put("", f"'mmopt solve' would refuse it: {problem.refusal}")


def _put_program(program: Program) -> None:
    from mmopt.language import check
    from mmopt.language.print.layout import program_lines
    from mmopt.report import givens_table, highlighted, pairs_table, paragraphs, program_listing

    checked = check(program)
    rows = [
        ("program", program.name),
        ("title", program.title),
        ("source", program.cite),
        ("class", program.klass),
    ]
    if program.formulation_of:
        rows.append(("formulation of", program.formulation_of))
    put(pairs_table([row for row in rows if row[1]]))
    if program.about:
        put("", paragraphs(program.about))
    put("", "In formulas", "", program_listing(program_lines(checked, "plain"), console().width))
    put("", "What is given", "", givens_table(program))
    put("", "The program", "", highlighted(program))


def put_sizes(sizes: list[Sizes]) -> None:
    """Print dimensions, cones and solvers of each problem."""
    from mmopt.report import cones_table, pairs_table, solvers_table

    for problem in sizes:
        name = f"{problem.program} (step '{problem.step}')" if problem.step else problem.program
        rows = [
            ("problem", name),
            ("dimensions", ", ".join(f"{dim} = {size:,}" for dim, size in problem.dims.items())),
            ("unknowns", f"{problem.variables:,}"),
            *((("components", problem.components),) if problem.components else ()),
            *(("reduced by", line) for line in problem.reductions if line != problem.components),
            ("solver", problem.chosen or "none can take it"),
        ]
        put("", pairs_table(rows))
        if problem.cones:
            put("", cones_table(problem))
        if problem.solvers:
            put("", solvers_table(problem))
