"""``mmopt compare WORKLOAD``."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from mmopt.cli.options import (
    Iterations,
    Json,
    Threads,
    Verbose,
    WorkloadFile,
    names_in,
    numbers_in,
    options_for,
)
from mmopt.cli.output import console, note, show, show_json
from mmopt.cli.refusals import check_out
from mmopt.errors import SolverError

__all__ = ["compare"]


def compare(
    workload: WorkloadFile,
    programs: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Programs, separated by commas: shipped names, or paths ending in .program. Default: all "
            "that are shipped.",
        ),
    ] = None,
    formulations: Annotated[
        bool,
        typer.Option("--formulations", help="Add the other shipped formulations of the same problems."),
    ] = False,
    solvers: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y", help="Solvers, separated by commas. Default: the one that solve would choose."
        ),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="GAP,GAP",
            help="Proved gaps asked for, separated by commas. Default: 1e-6, or 1e-4 for a first-order "
            "solver.",
        ),
    ] = None,
    time_limit: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="For the solver of each combination; one that does not stop is killed a fifth of that and "
            "two seconds later.",
        ),
    ] = 60.0,
    memory_limit: Annotated[
        float | None,
        typer.Option(
            metavar="GIB",
            help="Memory that each combination may take (Linux only). Default: three quarters of the "
            "machine's.",
        ),
    ] = None,
    max_iterations: Iterations = None,
    threads: Threads = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw gap against time into a .svg or .png file; an existing file is replaced. "
            "Needs mmopt[chart].",
        ),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Solve several programs for one workload and lay them side by side.

    Every program with every solver at every tolerance, each in a process of its own. What cannot be solved
    is listed with the reason. Ctrl-C ends the comparison with what there is.
    """
    from mmopt.cli.inputs import note_request
    from mmopt.cli.progress import Display
    from mmopt.pipeline import Outcome, combinations, outcomes
    from mmopt.report import check_chart, comparison_report, write_chart
    from mmopt.report.style import counted
    from mmopt.spec import load_request

    options = options_for(None, time_limit, max_iterations, threads, verbose)
    if chart is not None:
        check_out(chart, "--chart", "gaps.svg")
        check_chart(chart)
    gaps = numbers_in(tolerance, "--tolerance")
    request = load_request(workload)
    chosen = combinations(
        names_in(programs, "--programs") or None,
        names_in(solvers, "--solvers") or None,
        gaps or None,
        formulations=formulations,
    )
    found: list[Outcome] = []
    with Display("", console(stderr=True), not verbose) as display:
        each = outcomes(request.workload, chosen, memory_limit=memory_limit, progress=display, **options)
        with closing(each):
            for number, combination in enumerate(chosen, 1):
                display.begin(f"{combination} ({number} of {len(chosen)})")
                found.append(next(each))
    left_out = sum(o.stop == "not started" for o in found)
    was_interrupted = left_out > 0 or found[-1].stop.startswith("interrupted")
    solved = any(o.solution for o in found)
    if was_interrupted and not solved:
        raise KeyboardInterrupt
    if was_interrupted:
        note(f"interrupted: {left_out} of {len(found)} are left out")
    note_request(request)
    if as_json:
        show_json([outcome.summary() for outcome in found])
    else:
        show(comparison_report(found))
    if not solved:
        raise SolverError("nothing could be solved", hint="the reason stands beside each program")
    if chart is not None:
        w = request.workload
        write_chart(
            found, chart, f"{Path(request.path).name}: {counted(w.m, 'query')} over {counted(w.n, 'cell')}"
        )
        note(f"chart: {chart}")
