"""``mmopt accuracy WORKLOAD``."""

from __future__ import annotations

from pathlib import Path

from mmopt.cli.command_inputs import note_request, read_request
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
from mmopt.cli.command_output import answer
from mmopt.cli.command_strategy import check_files, planned_accuracy, write_files

__all__ = ["accuracy"]


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
    from mmopt.mechanism.accuracy import check_confidence
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
    # A row for each query only where one is asked for: there may be millions.
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
