"""``mmopt report WORKLOAD``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmopt.cli.command_inputs import (
    check_out,
    note_request,
    plan_of,
    planned_accuracy,
    read_givens,
    read_program,
    read_request,
    refuse_beside,
    solution_in,
)
from mmopt.cli.command_options import (
    Given,
    ProgramName,
    SavedStrategy,
    SolverName,
    TimeLimit,
    Tolerance,
    WorkloadFile,
    listed,
    names_in,
    options_for,
    program_words,
    solver_words,
)
from mmopt.cli.command_output import live, note, run_solve
from mmopt.errors import OptionError

if TYPE_CHECKING:
    from mmopt.answers import Release
    from mmopt.mechanism import Plan
    from mmopt.request import Request
    from mmopt.results import Solution


def report(
    workload: WorkloadFile,
    out: Annotated[
        Path, typer.Option(metavar="FILE.html", help="Write the page there; an existing file is replaced.")
    ],
    program: ProgramName = None,
    given: Given = None,
    strategy: SavedStrategy = None,
    release: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="A release of this workload: its strategy, its answers."),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            autocompletion=listed(program_words),
            help="Solve these programs too, and show them side by side.",
        ),
    ] = None,
    solvers: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y",
            autocompletion=listed(solver_words),
            help="Solvers to compare, of --compare; else of the program itself.",
        ),
    ] = None,
    solver: SolverName = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
) -> None:
    """Write one HTML page: queries, program, strategy, errors, bound; also solvers compared, and a release.

    It loads nothing, and reads on a phone and on paper. No table is read: of a release the page shows its
    answers, which are private already.
    """
    from mmopt.comparison import compare as compared
    from mmopt.comparison.compare import TIME_LIMIT
    from mmopt.report import Contents, write_page
    from mmopt.report.charts import need_matplotlib
    from mmopt.strategies import ADD_REMOVE

    need_matplotlib()
    check_out(out, example="page.html")
    if out.suffix.lower() not in (".html", ".htm"):
        raise OptionError(
            f"a report is written to a .html file, not to '{out}'",
            hint="print the .html from a browser for a PDF",
        )
    options = options_for(tolerance=tolerance, time_limit=time_limit)
    request = read_request(workload)
    named: dict[str, object] = {"--program": program, "--given": given, "--strategy": strategy}
    named |= {"--solver": solver, "--tolerance": tolerance}
    read = None if release is None else _released(release, request, named)
    if read is not None:
        solution, plan = read.solution, read.plan
    else:
        solution, plan = _planned(request, program, given, strategy, solver, options)
    names, by = names_in(compare, "--compare"), names_in(solvers, "--solvers")
    if by and not names:
        if solution is None or solution.template:
            raise OptionError("--solvers has no program to solve", hint="name one with --compare")
        names = [solution.program]
    comparison = None
    if names:
        with live(names[0]) as display:
            comparison = compared(
                request.workload,
                names,
                by or None,
                privacy=request.privacy,
                neighbours=request.neighbours or ADD_REMOVE,
                time_limit=time_limit or TIME_LIMIT,
                progress=display,
            )
    note_request(request, is_planned=plan is not None)
    contents = Contents(
        Path(request.path).name,
        request.workload,
        request.text_hash,
        solution,
        plan,
        comparison,
        None if read is None else read.manifest,
        None if read is None else read.answers,
    )
    write_page(contents, out)
    note(f"written: {out}")


def _released(folder: Path, request: Request, named: dict[str, object]) -> Release:
    """The release in a folder, of this workload, its strategy rechecked."""
    from mmopt.answers import load_release
    from mmopt.mechanism.release_folder import STRATEGY_FILE

    refuse_beside("--release", named, ", which brings a strategy")
    read = load_release(folder, request.workload)
    return replace(read, solution=solution_in(folder / STRATEGY_FILE, request))


def _planned(
    request: Request,
    program: str | None,
    given: list[str] | None,
    strategy: Path | None,
    solver: str | None,
    options: dict[str, Any],
) -> tuple[Solution, Plan | None]:
    """The strategy of the page, as for ``mmopt solve``, and its release where one is possible."""
    options = options if strategy is not None else options | {"history": True}
    if strategy is None and (program is not None or given or request.privacy is None):
        parsed = read_program(program, request)
        givens = read_givens(given, parsed, request.workload)
        solution = run_solve(request.workload, parsed, solver, givens, options)
        if solution.status.is_interrupted:
            raise KeyboardInterrupt
        return solution, plan_of(solution, request)
    if strategy is not None and request.privacy is None:
        solved = solution_in(strategy, request)
        return solved, plan_of(solved, request)
    planned = planned_accuracy(
        request, options=options, program=program, given=given, strategy=strategy, solver=solver, refuse=False
    )
    return planned.solution, planned.plan
