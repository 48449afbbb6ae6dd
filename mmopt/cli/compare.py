"""``mmopt compare WORKLOAD``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mmopt.cli.options import (
    Iterations,
    Json,
    Threads,
    TimeLimit,
    Tolerance,
    Verbose,
    WorkloadFile,
    options_for,
)
from mmopt.cli.output import console, note, show, show_json, stdout_to_stderr
from mmopt.errors import OptionError, SolverError

if TYPE_CHECKING:
    from mmopt.pipeline import Outcome

__all__ = ["compare"]


def compare(
    workload: WorkloadFile,
    programs: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Programs, separated by commas. Default: all that are shipped."),
    ] = None,
    solvers: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y", help="Solvers, separated by commas. Default: the one that solve would choose."
        ),
    ] = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    max_iterations: Iterations = None,
    threads: Threads = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Solve several programs for one workload and lay them side by side.

    What cannot be solved is listed with the reason. Ctrl-C ends the comparison with what there is.
    """
    from mmopt.cli.inputs import note_neighbours
    from mmopt.cli.progress import Display
    from mmopt.language import Program, program_names
    from mmopt.pipeline import compare as compare_programs
    from mmopt.report import comparison_report
    from mmopt.solvers import solver_named
    from mmopt.spec import load_request

    options = options_for(tolerance, time_limit, max_iterations, threads, verbose)
    request = load_request(workload)
    chosen = [Program.load(name) for name in _names(programs, "--programs") or program_names()]
    rows: list[str | None] = [solver_named(name).name for name in _names(solvers, "--solvers")]
    pairs = [(program, solver) for program in chosen for solver in rows or (None,)]
    outcomes: list[Outcome] = []
    for program, solver in pairs:
        title = f"{program.name}{f' with {solver}' if solver else ''} ({len(outcomes) + 1} of {len(pairs)})"
        with stdout_to_stderr(verbose), Display(title, console(stderr=True), not verbose) as display:
            outcomes += compare_programs(request.workload, [program], [solver], progress=display, **options)
        solution = outcomes[-1].solution
        if solution is not None and solution.status.stop.startswith("interrupted"):
            note(f"interrupted: {len(pairs) - len(outcomes)} of {len(pairs)} are left out")
            break
    note_neighbours(request)
    if as_json:
        show_json([outcome.summary() for outcome in outcomes])
    else:
        show(comparison_report(outcomes, {p.name: p.formulation_of for p in chosen}))
    if not any(outcome.solution for outcome in outcomes):
        raise SolverError("nothing could be solved", hint="the reason stands beside each program")


def _names(text: str | None, option: str) -> list[str]:
    """The names of a list separated by commas; OptionError for an empty one or a repeated name."""
    if text is None:
        return []
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise OptionError(f"{option} is '{text}', expected names separated by commas")
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"{option} names '{name}' {names.count(name)} times")
    return names
