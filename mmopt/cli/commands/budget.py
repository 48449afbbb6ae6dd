"""``mmopt budget WORKLOAD``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmopt.cli.command_inputs import note_request, read_request
from mmopt.cli.command_options import (
    AccuracyChart,
    Json,
    QueriesFile,
    SolverName,
    Threads,
    TimeLimit,
    Tolerance,
    WorkloadFile,
    options_for,
)
from mmopt.cli.command_output import answer, note
from mmopt.cli.command_strategy import check_files, solver_of, write_files
from mmopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mmopt.answers import Budget

__all__ = ["budget"]


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

    said = ("privacy cost", "allowed")  # the budget says the former, and nothing limits it
    yield pairs_table([*least.rows(), *(row for row in privacy_rows(least.plan) if row[0] not in said)])
    for table in least.tables():
        yield from ("", table)
