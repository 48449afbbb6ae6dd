"""``mmopt solve WORKLOAD`` and ``mmopt tune WORKLOAD SUBWORKLOAD``."""

from __future__ import annotations

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
)
from mmopt.cli.command_options import (
    Arrays,
    Given,
    Iterations,
    Json,
    NoReduce,
    Penalty,
    ProgramName,
    Seed,
    SolverName,
    Starts,
    Threads,
    TimeLimit,
    Tolerance,
    Verbose,
    WorkloadFile,
    norm_of,
    numbers_in,
    options_for,
)
from mmopt.cli.command_output import INTERRUPTED, Display, answer, live, note, run_solve
from mmopt.errors import OptionError, PrivacyError, WorkloadError, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mmopt.language import Program
    from mmopt.mechanism import Plan
    from mmopt.request import Request
    from mmopt.results import Solution
    from mmopt.workloads import Workload


def solve(
    workload: WorkloadFile,
    program: ProgramName = None,
    given: Given = None,
    solver: SolverName = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    max_iterations: Iterations = None,
    threads: Threads = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Search from this strategy alone: a baseline such as haar (mmopt baselines lists them), a "
            ".npy or .csv file, or a saved solution (.npz). For programs of class rank or smooth.",
        ),
    ] = None,
    starts: Starts = None,
    seed: Seed = None,
    penalty: Penalty = None,
    arrays: Arrays = None,
    no_reduce: NoReduce = False,
    derive: Annotated[
        bool | None,
        typer.Option(
            "--derive/--no-derive",
            help="Read a proved bound off the program's own lines, without its certificate. By default where "
            "no certificate proves one.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show sizes, cones, solvers and forecasts; solve nothing.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Save the solution; an existing file is replaced.")
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Write one row for each iteration: objective, bound, residuals, seconds, and whether it is "
            "certified or the solver's own count; an existing file is replaced.",
        ),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw gap against time and iterations into a .svg or .png file; an existing file is "
            "replaced. Needs mmopt[chart].",
        ),
    ] = None,
    as_json: Json = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Show the iterations; on stderr what the solver prints."),
    ] = False,
) -> None:
    """Choose the best strategy for a workload, with a proof of how good it is.

    At the file's privacy, where it has one: by default the strategy of least predicted error, of both noises.
    Ctrl-C ends the solve and gives the best certified point so far.
    """
    _check_files(out, history, chart, dry_run=dry_run)
    if dry_run and start is not None:
        raise OptionError("--dry-run solves nothing, so --start has no effect")
    options = options_for(
        tolerance=tolerance,
        time_limit=time_limit,
        max_iterations=max_iterations,
        threads=threads,
        starts=starts,
        seed=seed,
        penalty=penalty,
        arrays=arrays,
        verbose=verbose,
        history=verbose or history is not None or chart is not None,
    )

    options |= {"reduce": not no_reduce, "start": start, "derive": derive}
    request = read_request(workload)
    solution, plan = None, None
    if program is None and not given and start is None and not dry_run:
        solution, plan = _at_privacy(request, solver, options)
    if solution is None:
        parsed = read_program(program, request)
        givens = read_givens(given, parsed, request.workload)
        if dry_run:
            _dry_run(parsed, request.workload, givens, solver, as_json, options)
            return
        solution = run_solve(request.workload, parsed, solver, givens, options)
        plan = plan_of(solution, request)
    note_request(request)
    interrupted = solution.status.is_interrupted
    if interrupted:
        note("interrupted: this is the best certified point so far")
    release = {} if plan is None else {"release": plan.summary()}
    answer(as_json, {**solution.summary(), **release}, _tables(solution, request.workload, plan, verbose))
    if out is not None:
        note(f"saved: {solution.save(out)}")
    _write_history(solution, history, chart, Path(request.path).name)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _at_privacy(
    request: Request, solver: str | None, options: Mapping[str, Any]
) -> tuple[Solution | None, Plan | None]:
    """The default strategy and its release, where the choice is by a privacy and a release is possible."""
    if request.privacy is None:
        return None, None
    try:
        planned = planned_accuracy(request, solver=solver, options=options, keep_interrupted=True)
    except (PrivacyError, WorkloadError) as error:  # of the plan; errors of a solve will occur again
        note(f"errors are at unit noise: {error.message}")
        return None, None
    if planned.plan.rounding:
        note(f"rounding: {planned.plan.rounding}")
    return planned.solution, planned.plan


def _check_files(out: Path | None, history: Path | None, chart: Path | None, *, dry_run: bool) -> None:
    """Refuse files that could not be written, before any work."""
    for path, option, example in (
        (out, "--out", "solution.npz"),
        (history, "--history", "iterations.csv"),
        (chart, "--chart", "gap.svg"),
    ):
        if dry_run and path is not None:
            raise OptionError(f"--dry-run solves nothing, so there is nothing to write with {option}")
        check_out(path, option, example)
    if history is not None and history.suffix.lower() != ".csv":
        raise OptionError(f"iterations are written to a .csv file, not to '{history}'")
    if chart is not None:
        from mmopt.report import check_chart

        check_chart(chart)


def _write_history(solution: Solution, history: Path | None, chart: Path | None, workload: str) -> None:
    if history is None and chart is None:
        return
    from mmopt.report import history_frame, write_convergence
    from mmopt.resources import write_whole

    if solution.template:
        note("a strategy of a template has no iterations; --history and --chart write nothing")
        return
    if history is not None:
        write_whole(history, history_frame(solution).to_csv().encode())
        note(f"iterations: {history}")
    if chart is not None:
        write_convergence(solution, chart, f"{workload}: {solution.program} by {solution.solver}")
        note(f"chart: {chart}")


def _tables(solution: Solution, workload: Workload, plan: Plan | None, verbose: bool) -> Iterator[object]:
    from mmopt.report import history_table, pairs_table, slack_table, solution_rows, subworkloads_table
    from mmopt.workloads.workload import subworkloads

    yield pairs_table(solution_rows(solution, plan))
    if subworkloads(workload):
        yield from ("", subworkloads_table(solution, workload, plan))
    if solution.template:
        return
    if solution.history and (verbose or not any("certified" in row for row in solution.history)):
        yield from ("", history_table(solution))
    slack = slack_table(solution, workload) if solution.covariance is not None else None
    if slack is not None:
        yield from ("", slack)


def _dry_run(
    program: Program,
    workload: Workload,
    givens: Mapping[str, Any],
    solver: str | None,
    as_json: bool,
    options: Mapping[str, Any],
) -> None:
    from mmopt.driver.accepted_inputs import refuse_unread
    from mmopt.language import check
    from mmopt.report import sizes_of, sizes_tables

    refuse_unread(check(program), solver, options)
    sizes = sizes_of(program, workload, givens, solver, reduce=options["reduce"])
    summary = {
        "program": program.name,
        "workload": {"queries": workload.m, "cells": workload.n, "hash": workload.hash},
        "problems": [problem.summary() for problem in sizes],
    }
    head = f"{workload.m:,} queries over {whole(workload.n)} cells; nothing is solved"
    answer(as_json, summary, [head, *sizes_tables(sizes)])
    for problem in sizes:
        if problem.refusal is not None:
            raise problem.refusal


def tune(
    workload: WorkloadFile,
    subworkload: Annotated[
        str, typer.Argument(metavar="SUBWORKLOAD", help="As the workload file names it (subworkload: NAME).")
    ],
    factors: Annotated[
        str,
        typer.Option(
            metavar="C,C",
            help="Factors of its queries' weights, separated by commas. Weights multiply squared errors.",
        ),
    ] = "1,4,16",
    noise: Annotated[
        str,
        typer.Option(
            metavar="laplace|gaussian",
            help="gaussian: the program's strategies. laplace: products of strategies on the attributes.",
        ),
    ] = "gaussian",
    program: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="A program that minimises total error. Default: l2_strategy."),
    ] = None,
    solver: SolverName = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show what a sub-workload gains, and the others lose, when its queries count for more.

    Errors are root mean squares per query, at the file's privacy; without one, and for replaced rows and
    participations, for unit noise per unit of sensitivity: ``unit_rmse`` in --json, beside ``rmse``.
    """
    from mmopt.driver import tune as tune_subworkload
    from mmopt.driver.templates import tune_templates
    from mmopt.privacy.table_of_noises import noise_for
    from mmopt.report import tuning_table
    from mmopt.strategies import ADD_REMOVE

    options = options_for(tolerance=tolerance, time_limit=time_limit, verbose=verbose)
    request = read_request(workload)
    queries = request.workload
    deviation = None
    times = (request.neighbours or ADD_REMOVE).times
    if request.privacy is not None and times is not None:
        deviation = times * noise_for(norm_of(noise), request.privacy).continuous.deviation(request.privacy)
    with live(verbose=verbose) as display:

        def begin(words: str) -> Display:
            display.begin(words)
            return display

        weights = numbers_in(factors, "--factors")
        if norm_of(noise) == 1:
            refuse_beside(
                "--noise laplace",
                {"--program": program, "--solver": solver, "--tolerance": tolerance},
                ", whose strategies are products that no program chooses",
            )
            tuned = list(tune_templates(queries, subworkload, weights, report=display.begin))
        else:
            ways = {"progress": begin, "solver": solver, **options}
            tuned = list(tune_subworkload(queries, subworkload, weights, program or "l2_strategy", **ways))
    rows = []
    for row in tuned:
        stated = None if deviation is None else {part: deviation * unit for part, unit in row.rmse.items()}
        rows.append({**row.summary(), "rmse": stated, "unit_rmse": dict(row.rmse)})
    answer(as_json, rows, [tuning_table(tuned, 1.0 if deviation is None else deviation)])
