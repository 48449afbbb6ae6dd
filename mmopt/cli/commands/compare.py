"""``mmopt compare WORKLOAD``. It starts its worker before the libraries are loaded that both need."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmopt import comparison_process
from mmopt.cli.command_output import answer, live, note
from mmopt.errors import OptionError, SolverError, counted
from mmopt.limits import Stop

if TYPE_CHECKING:
    from mmopt.comparison import Factors, Outcome


def compare(
    *,
    workload: Path | None,
    programs: str | None,
    formulations: bool,
    solvers: str | None,
    tolerance: str | None,
    time_limit: float,
    total_time: float | None,
    memory_limit: float | None,
    given: list[str] | None,
    chart: Path | None,
    baselines: list[str] | None,
    no_baselines: bool,
    as_json: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Print the ranking of programs and baselines, each solved in a process of its own."""
    with comparison_process.Worker(verbose) as worker:  # loads while this process does
        from mmopt.cli.command_inputs import (
            check_out,
            givens_for_all,
            names_in,
            note_request,
            numbers_in,
            read_request,
        )
        from mmopt.cli.solve_and_plan import options_for, stated_in
        from mmopt.comparison import Isolated, baseline_factors, combinations, outcomes, ranking
        from mmopt.language import program_names
        from mmopt.report import comparison_report, convergence_figure
        from mmopt.report.chart_parts import save
        from mmopt.strategies.baselines import baseline_call, baseline_names, is_baseline

        options = options_for(time_limit=time_limit, verbose=verbose, **options)
        check_out(chart, "--chart", "gaps.svg")
        if no_baselines and baselines:
            raise OptionError("--baseline has no effect with --no-baselines", hint="leave one of them out")
        calls = [] if no_baselines else [str(baseline_call(name)) for name in baselines or baseline_names()]
        gaps = numbers_in(tolerance, "--tolerance")
        names = names_in(programs, "--programs")
        request = read_request(workload, programs=names)
        stated = stated_in(request)
        if alien := [name for name in names if is_baseline(name) and name not in program_names()]:
            raise OptionError(
                f"'{alien[0]}' is a baseline, not a program", hint=f"--baseline '{alien[0]}' adds it"
            )
        chosen = combinations(
            names or None, names_in(solvers, "--solvers") or None, gaps or None, formulations=formulations
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
                    givens=givens_for_all(given, [c.program for c in chosen]),
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
            note("interrupted: some baselines are missing")
        note_request(request)
        ranked = ranking(compared, factors, request.workload, stated)
        entries: list[Outcome | Factors] = [*compared, *factors]
        unplaced = {"rank": None, "rank_factor": None}
        places = {id(place.entry): place.summary() for place in ranked.places}
        elsewhere = [
            *[f"baselines alone:        mmopt baselines {request.path}"] * (workload is not None),
            *[f"factored strategies:    mmopt templates {request.path}"]
            * (request.workload.products is not None),
        ]
        answer(
            as_json,
            [{**one.summary(), **places.get(id(one), unplaced)} for one in entries],
            [comparison_report(compared, factors, ranked), *[""] * bool(elsewhere), *elsewhere],
        )
        if not solved:
            raise SolverError("nothing could be solved", hint="the table has the reason for each program")
        if chart is not None:
            size = f"{counted(request.workload.m, 'query')} over {counted(request.workload.n, 'cell')}"
            title = f"{workload.name}: {size}" if workload else f"{programs}"
            save(chart, lambda: convergence_figure(compared, title))
            note(f"chart: {chart}")
