"""``mmopt explain PROGRAM [WORKLOAD]``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from mmopt.cli.command_inputs import check_out, read_givens, read_request
from mmopt.cli.command_options import Given, Json, OneProgram
from mmopt.cli.command_output import console, json_text, note, run_solve, say, show
from mmopt.errors import OptionError, ResultError

FORMS = {".html": "html", ".htm": "html", ".tex": "latex", ".txt": "text", ".json": "json"}


def explain(
    program: OneProgram,
    workload: Annotated[
        Path | None,
        typer.Argument(
            metavar="[WORKLOAD]", help="Workload file: what the program becomes with its numbers."
        ),
    ] = None,
    given: Given = None,
    solution: Annotated[
        Path | None,
        typer.Option(metavar="FILE.npz", help="A saved solution: its multipliers and tight constraints."),
    ] = None,
    solve: Annotated[
        bool, typer.Option("--solve", help="Solve for the workload first, and explain the solution too.")
    ] = False,
    latex: Annotated[bool, typer.Option("--latex", help="A LaTeX document.")] = False,
    html: Annotated[bool, typer.Option("--html", help="An HTML page in one file.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write there; .html, .tex, .txt or .json says the form. A file is replaced."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain a program: why it is convex, what it becomes for a workload, what its solution says.

    A program that is not convex is explained too: the part to blame is marked.
    """
    from mmopt.language import Program
    from mmopt.report.explain import explain as explained
    from mmopt.report.explain.explanation import renderables
    from mmopt.results import Solution

    form = _form(latex, html, as_json, out)
    check_out(out)
    if solve and solution is not None:
        raise OptionError("--solve and --solution both name a solution", hint="keep one of them")
    if workload is None and (solve or given):
        option = "--solve" if solve else "--given"
        raise OptionError(
            f"{option} needs a workload", hint=f"write: mmopt explain {program} WORKLOAD {option}"
        )
    parsed = Program.load(program)
    queries = None if workload is None else read_request(workload).workload
    givens = {} if queries is None else read_givens(given, parsed, queries)
    solved = Solution.load(solution) if solution is not None else None
    if solve and queries is not None:
        solved = run_solve(queries, parsed, None, givens, {})
    e = explained(parsed, queries, givens, solved)
    if out is None and form == "text":
        show(*renderables(e, console().width))  # with the colours and the width of the screen
        return
    forms: dict[str, Callable[[], str]] = {
        "text": e.text,
        "latex": e.latex,
        "html": e.html,
        "json": lambda: json_text(e.summary()),
    }
    text = forms[form]()
    if out is None:
        say(text)
        return
    try:
        out.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise ResultError(f"'{out}' cannot be written: {error.strerror}") from None
    note(f"written: {out}")


def _form(latex: bool, html: bool, as_json: bool, out: Path | None) -> str:
    """``text``, ``latex``, ``html`` or ``json``: by an option, or by the ending of the file."""
    chosen = [name for name, wanted in (("latex", latex), ("html", html), ("json", as_json)) if wanted]
    if len(chosen) > 1:
        raise OptionError(f"--{chosen[0]} and --{chosen[1]} are two forms", hint="keep one of them")
    if out is None:
        return chosen[0] if chosen else "text"
    suffix = out.suffix.lower()
    if suffix == ".pdf" or (not chosen and suffix not in FORMS):
        raise OptionError(
            f"an explanation is written to a .html, .tex, .txt or .json file, not to '{out}'",
            hint="a PDF is made from the .tex by pdflatex, or printed from the .html by a browser",
        )
    return chosen[0] if chosen else FORMS[suffix]
