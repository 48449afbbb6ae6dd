"""``mmopt compare WORKLOAD``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmopt.cli.command_inputs import check_out, note_request, read_request, stated_in
from mmopt.cli.command_options import (
    Iterations,
    Json,
    Threads,
    Verbose,
    WorkloadFile,
    baseline_words,
    listed,
    names_in,
    numbers_in,
    options_for,
    program_words,
    solver_words,
)
from mmopt.cli.command_output import answer, live, note
from mmopt.errors import OptionError, SolverError
from mmopt.limits import Stop

if TYPE_CHECKING:
    from mmopt.comparison import Factors, Outcome, Place


def compare(
    workload: WorkloadFile,
    programs: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            autocompletion=listed(program_words),
            help="Programs, separated by commas: shipped names, or paths ending in .program. Default: all "
            "that are shipped, but for other formulations of the same problem, programs for neighbours of "
            "their own or without a strategy, and searches predicted to take more than a third of "
            "--time-limit.",
        ),
    ] = None,
    formulations: Annotated[
        bool,
        typer.Option("--formulations", help="Add the other shipped formulations of the same problems."),
    ] = False,
    solvers: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y",
            autocompletion=listed(solver_words),
            help="Solvers, separated by commas. Default: the one that solve would choose.",
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
    total_time: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="For all programs; those that are not started by then are listed. Default: 300, none with "
            "--programs.",
        ),
    ] = None,
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
            help="Draw gap against time and iterations into a .svg or .png file; an existing file is "
            "replaced. Needs mmopt[chart].",
        ),
    ] = None,
    baselines: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            autocompletion=baseline_words,
            help="A baseline to stand beside the programs, with parameters if wanted: "
            "'hierarchical(branching=16)'. May be repeated. Default: all (mmopt baselines lists them).",
        ),
    ] = None,
    no_baselines: Annotated[bool, typer.Option("--no-baselines", help="Leave out the baselines.")] = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Solve several programs for one workload and rank them, with the baselines, best first.

    Where the file has privacy, by the standard error that a release would have there (where every query has
    a target, by the privacy at which all are met), whatever the noise; else noise by noise, at unit noise.
    Every program with every solver at every tolerance, each in a process of its own. What cannot be solved
    is listed with the reason. Ctrl-C ends the comparison with what there is.
    """
    from mmopt.worker_start import Worker

    with Worker(verbose) as worker:  # loads while this process does
        from mmopt.comparison import Isolated, baseline_factors, combinations, outcomes, ranking
        from mmopt.errors import counted
        from mmopt.report import check_chart, comparison_report, write_chart
        from mmopt.strategies.baselines import baseline_names, read

        options = options_for(
            time_limit=time_limit, max_iterations=max_iterations, threads=threads, verbose=verbose
        )
        check_out(chart, "--chart", "gaps.svg")
        if chart is not None:
            check_chart(chart)
        if no_baselines and baselines:
            raise OptionError("--baseline has no effect with --no-baselines", hint="leave one of them out")
        calls = [] if no_baselines else [str(read(name)) for name in baselines or baseline_names()]
        gaps = numbers_in(tolerance, "--tolerance")
        request = read_request(workload)
        stated = stated_in(request)
        chosen = combinations(
            _programs(programs),
            names_in(solvers, "--solvers") or None,
            gaps or None,
            formulations=formulations,
        )
        factors: Sequence[Factors] = []
        with live(verbose=verbose) as display, Isolated(verbose, worker=worker) as isolated:
            compared = list(
                outcomes(
                    request.workload,
                    chosen,
                    stated=stated,
                    total_time=total_time,
                    memory_limit=memory_limit,
                    progress=display,
                    begin=display.begin,
                    isolated=isolated,
                    **options,
                )
            )
            solved = any(o.solution for o in compared)
            was_interrupted = isolated.interrupted
            numbers = count(1)
            if solved and not was_interrupted:
                factors = baseline_factors(
                    compared,
                    request.workload,
                    calls,
                    stated=stated,
                    time_limit=time_limit,
                    memory_limit=memory_limit,
                    isolated=isolated,
                    begin=lambda name: display.begin(
                        f"baseline {name} ({next(numbers)} of {len(calls)})", awaited=""
                    ),
                )
            is_cut = isolated.interrupted and not was_interrupted
        if was_interrupted and not solved:
            raise KeyboardInterrupt
        if was_interrupted:
            left_out = sum(o.stop == Stop.NOT_STARTED for o in compared)
            note(f"interrupted: {left_out} of {len(compared)} are left out")
        if is_cut:
            note("interrupted: not all baselines are there")
        note_request(request)
        ranked = ranking(compared, factors, request.workload, stated)
        entries: list[Outcome | Factors] = [*compared, *factors]
        about = {id(place.entry): place for place in ranked.places}
        answer(
            as_json,
            [{**one.summary(), **_placed(about.get(id(one)))} for one in entries],
            [comparison_report(compared, factors, ranked)],
        )
        if not solved:
            raise SolverError("nothing could be solved", hint="the reason stands beside each program")
        if chart is not None:
            w = request.workload
            size = f"{counted(w.m, 'query')} over {counted(w.n, 'cell')}"
            write_chart(compared, chart, f"{Path(request.path).name}: {size}")
            note(f"chart: {chart}")


def _placed(place: Place | None) -> dict[str, Any]:
    """The place of an entry, for its JSON object."""
    return {"rank": None, "rank_factor": None} if place is None else place.summary()


def _programs(text: str | None) -> list[str] | None:
    """The programs named; OptionError for a baseline, for which there is another option."""
    from mmopt.language import program_names
    from mmopt.strategies.baselines import is_baseline

    names = names_in(text, "--programs")
    for name in names:
        if is_baseline(name) and name not in program_names():
            raise OptionError(f"'{name}' is a baseline, not a program", hint=f"--baseline '{name}' adds it")
    return names or None
