"""``mmopt accuracy WORKLOAD`` and ``mmopt budget WORKLOAD``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmopt.cli.command_inputs import (
    check_files,
    note_request,
    planned_accuracy,
    read_request,
    solver_of,
    write_files,
)
from mmopt.cli.command_options import (
    AccuracyChart,
    Confidence,
    Given,
    Json,
    ProgramName,
    QueriesFile,
    SavedStrategy,
    SolverName,
    Threads,
    TimeLimit,
    Tolerance,
    WorkloadFile,
    options_for,
)
from mmopt.cli.command_output import answer, note
from mmopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mmopt.answers import Budget


def accuracy(
    workload: WorkloadFile,
    program: ProgramName = None,
    given: Given = None,
    strategy: SavedStrategy = None,
    confidence: Confidence = 0.95,
    out: QueriesFile = None,
    chart: AccuracyChart = None,
    solver: SolverName = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """How accurate each answer will be at the file's privacy, before any data is read.

    A standard error and an interval's half width for each query: those of 'mmopt release' with the same file
    and options. Where every query has a target ('within' or 'max_variance') no more is spent than they need.
    """
    from mmopt.mechanism.release_plan import check_confidence
    from mmopt.report import accuracy_by_group, accuracy_by_query, pairs_table, privacy_rows

    check_confidence(confidence)
    check_files(out, chart)
    request = read_request(workload)
    planned = planned_accuracy(
        request,
        program=program,
        given=given,
        strategy=strategy,
        solver=solver,
        options=options_for(tolerance=tolerance, time_limit=time_limit, threads=threads),
        confidence=confidence,
        refuse=False,
    )
    note_request(request, is_planned=True)
    plan = planned.plan
    # A row for each query only where it is needed: there may be millions.
    errors = planned.errors if as_json or out is not None else None
    summary = {
        "chosen": planned.words,
        "confidence": confidence,
        **plan.summary(),
        "queries": {} if errors is None else errors.to_dict(),
    }
    tables = (
        accuracy_by_group(plan, confidence),
        pairs_table([("chosen", planned.words), *privacy_rows(plan)]),
        accuracy_by_query(plan, confidence),
    )
    answer(as_json, summary, [part for table in tables for part in (table, "")][:-1])
    write_files(plan, errors, confidence, out, chart, Path(request.path).name)


def budget(
    workload: WorkloadFile,
    delta: Annotated[
        float | None,
        typer.Option(metavar="D", help="Find epsilon at this delta. Default: that of the file's privacy."),
    ] = None,
    pure: Annotated[bool, typer.Option("--pure", help="Find epsilon alone (delta 0).")] = False,
    out: QueriesFile = None,
    chart: AccuracyChart = None,
    solver: SolverName = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """The least privacy budget found, at which every accuracy wish of a workload file holds.

    Wishes are 'within: 50' (counts, with 'confidence: 0.95') and 'max_variance: 600' beside the queries.
    Queries without one are left out: a release that answers them too may miss wishes at this budget. The
    kind of budget is that of the file's privacy, whatever its size: epsilon at its delta, epsilon alone, or
    rho, as without any.
    """
    from mmopt.answers import budget as least_budget

    if pure and delta is not None:
        raise OptionError("--delta and --pure are two kinds of budget", hint="leave one of them out")
    check_files(out, chart)
    options = options_for(tolerance=tolerance, time_limit=time_limit, threads=threads)
    request = read_request(workload)
    least = least_budget(request, delta=delta, pure=pure, solved=solver_of(solver, options), say=note)
    note_request(request, is_planned=True)
    answer(as_json, least.summary(), _tables(least))
    write_files(least.plan, least.errors, 0.95, out, chart, Path(request.path).name)


def _tables(least: Budget) -> Iterator[object]:
    from mmopt.report import pairs_table, privacy_rows

    left_out = ("privacy cost", "allowed")  # the budget contains the former, and has no limit
    yield pairs_table([*least.rows(), *(row for row in privacy_rows(least.plan) if row[0] not in left_out)])
    for table in least.tables():
        yield from ("", table)
