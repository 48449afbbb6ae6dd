"""``mmopt solve WORKLOAD``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmopt.cli.guard import INTERRUPTED
from mmopt.cli.options import (
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
    options_for,
)
from mmopt.cli.output import console, note, show, show_json, stdout_to_stderr
from mmopt.cli.refusals import check_out
from mmopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mmopt.language import Program
    from mmopt.results import Solution
    from mmopt.workloads import Workload

__all__ = ["run_solve", "solve"]


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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show sizes, cones, solvers and forecasts; solve nothing.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Save the solution; an existing file is replaced.")
    ] = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Choose the best strategy for a workload, with a proof of how good it is.

    Ctrl-C ends the solve and gives the best certified point so far.
    """
    from mmopt.cli.inputs import note_request, read_givens, read_program
    from mmopt.report import history_table, slack_table, solution_table, subworkloads_table
    from mmopt.request import load_request
    from mmopt.workloads.variants import subworkloads

    if out is not None:
        if dry_run:
            raise OptionError("--dry-run solves nothing, so there is nothing to write with --out")
        check_out(out)
    if dry_run and start is not None:
        raise OptionError("--dry-run solves nothing, so --start has no effect")
    options = options_for(
        tolerance, time_limit, max_iterations, threads, verbose, starts, seed, penalty, arrays
    )
    options |= {"reduce": not no_reduce, "start": start}
    request = load_request(workload)
    parsed = read_program(program, request)
    givens = read_givens(given, parsed, request.workload)
    if dry_run:
        _dry_run(parsed, request.workload, givens, solver, as_json, reduce=not no_reduce)
        return
    solution = run_solve(request.workload, parsed, solver, givens, options)
    note_request(request)
    interrupted = solution.status.stop.startswith("interrupted")
    if interrupted:
        note("interrupted: this is the best certified point so far")
    if as_json:
        show_json(solution.summary())
    else:
        show(solution_table(solution))
        if solution.history:
            show("", history_table(solution))
        if subworkloads(request.workload):
            show("", subworkloads_table(solution, request.workload))
        slack = slack_table(solution, request.workload) if solution.covariance is not None else None
        if slack is not None:
            show("", slack)
    if out is not None:
        note(f"saved: {solution.save(out)}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def run_solve(
    workload: Workload,
    program: Program,
    solver: str | None,
    givens: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> Solution:
    """Solve with a live display; what the solver prints goes to stderr."""
    from mmopt.cli.progress import Display
    from mmopt.driver import solve as solve_program

    verbose = bool(options.get("verbose"))
    with stdout_to_stderr(verbose), Display(program.name, console(stderr=True), not verbose) as display:
        return solve_program(workload, program, solver=solver, givens=givens, progress=display, **options)


def _dry_run(
    program: Program,
    workload: Workload,
    givens: Mapping[str, Any],
    solver: str | None,
    as_json: bool,
    *,
    reduce: bool,
) -> None:
    from mmopt.cli.commands.show import put_sizes
    from mmopt.report import sizes_of

    sizes = sizes_of(program, workload, givens, solver, reduce=reduce)
    if as_json:
        show_json(
            {
                "program": program.name,
                "workload": {"queries": workload.m, "cells": workload.n, "hash": workload.hash},
                "problems": [problem.summary() for problem in sizes],
            }
        )
    else:
        show(f"{workload.m:,} queries over {workload.n:,} cells; nothing is solved")
        put_sizes(sizes)
    for problem in sizes:
        if problem.refusal is not None:
            raise problem.refusal
