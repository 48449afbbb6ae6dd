"""``mmopt show PROGRAM``, ``mmopt show FOLDER`` and ``mmopt show FILE.npz``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mmopt.cli.command_inputs import read_givens, read_request
from mmopt.cli.command_options import Given, program_words
from mmopt.cli.command_output import console, show as put
from mmopt.errors import OptionError


def show(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PROGRAM|FOLDER|FILE.npz",
            autocompletion=program_words,
            help="Shipped program, or a path ending in .program; the folder of a release; a saved solution.",
        ),
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
    """Explain a program: words, formulas, text, what is given; with a workload its size. Or read a release.

    Of the folder of a release: what was asked, the guarantee, the accuracy and the first answers, once its
    files are found to be those that its manifest lists, and its figures to follow from them; and what of the
    manifest nothing there confirms. Of a saved solution: its figures as stated, and its
    iterations; 'mmopt verify' checks them.
    """
    path, is_saved = Path(program), program.lower().endswith(".npz")
    if path.is_dir() or is_saved:
        if workload is not None or given or latex:
            kind = "a saved solution" if is_saved else "a folder"
            raise OptionError(f"'{program}' is {kind}; --workload, --given and --latex are for programs")
        (_show_solution if is_saved else _show_release)(path)
        return
    from mmopt.language import Program, check, typeset_latex
    from mmopt.language.print import plain_words, program_lines, prose
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
        raise OptionError("--given has no effect without --workload")
    checked = check(parsed)
    rows = [
        ("program", parsed.name),
        ("title", parsed.title),
        ("source", parsed.cite),
        ("class", parsed.problem_class),
        ("formulation of", parsed.formulation_of),
    ]
    put(pairs_table(row for row in rows if row[1]))
    if parsed.about:
        put("", paragraphs(plain_words(prose(parsed.about, checked.scope)[0])))
    lines = [(label, text, plain_words(words)) for label, text, words in program_lines(checked, "plain")]
    put("", "In formulas", "", program_listing(lines, console().width))
    put("", "What is given", "", givens_table(parsed))
    put("", "The program", "", highlighted(parsed))
    if sizes is not None:
        put("", f"Size for {workload}", *sizes_tables(sizes))
        for problem in sizes:
            if problem.refusal is not None:
                put("", f"'mmopt solve' would refuse it: {problem.refusal}")


def _show_solution(path: Path) -> None:
    from mmopt.report import history_table, pairs_table
    from mmopt.results import Solution

    saved = Solution.load(path)
    put(pairs_table(saved.rows()))
    if saved.history:
        put("", history_table(saved))


def _show_release(folder: Path) -> None:
    from mmopt.answers import load_release
    from mmopt.report import answers_table, pairs_table

    loaded = load_release(folder)
    listed = loaded.manifest.get("files")
    checked = (
        "those of version 0.1.0, whose manifest does not list them"
        if listed is None
        else f"{', '.join(listed)}: as the manifest lists them"
    )
    rows = [*loaded.rows(), ("files", checked), ("unchecked", ", ".join(loaded.unchecked))]
    put(pairs_table(rows), "", answers_table(loaded.answers))
    if warning := loaded.answers.metadata.get("warning"):
        put("", warning)
