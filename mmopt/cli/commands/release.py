"""``mmopt release WORKLOAD DATA``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmopt.cli.command_guard import INTERRUPTED
from mmopt.cli.command_inputs import (
    check_folder,
    check_table,
    note_request,
    read_request,
)
from mmopt.cli.command_options import (
    Confidence,
    DatabaseTable,
    DataFile,
    Given,
    Iterations,
    Json,
    ProgramName,
    SavedStrategy,
    SolverName,
    Threads,
    TimeLimit,
    Tolerance,
    Verbose,
    WorkloadFile,
    options_for,
)
from mmopt.cli.command_output import answer, note, show
from mmopt.cli.command_strategy import planned_accuracy

if TYPE_CHECKING:
    from mmopt.answers import Accuracy
    from mmopt.ledger import Bill
    from mmopt.request import Request

__all__ = ["release"]

# What the table of a solution shows before a release; 'mmopt solve' shows all of it.
CERTIFICATE = ("program", "template", "strategy", "solver", "givens", "status", "objective", "bound", "gap")


def release(
    workload: WorkloadFile,
    data: DataFile,
    program: ProgramName = None,
    given: Given = None,
    strategy: SavedStrategy = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="New folder for answers, chart, strategy and manifest.")
    ] = Path("release"),
    solver: SolverName = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    max_iterations: Iterations = None,
    threads: Threads = None,
    simulate: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="SEED",
            help="Repeatable noise for trying things out. NOT private: never publish it.",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    table: DatabaseTable = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Spend from this ledger ('mmopt ledger create'), or be refused by it."
        ),
    ] = None,
    data_set: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The data set's name in the ledger. Default: that of the table of a database, where one is "
            "named, or of the file up to its first dot.",
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(metavar="VALUE", help="Count only the rows with this value of the ledger's partition."),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Answer a workload on a table with differential privacy, and write the answers with error bars.

    Everything that can be refused is refused before the rows of the table are read.
    """
    from mmopt.answers.charged_release import billed, check_bill
    from mmopt.mechanism.accuracy import check_confidence
    from mmopt.proof.verify import checked_summary
    from mmopt.report import accuracy_by_group, pairs_table, privacy_rows

    options = options_for(
        tolerance=tolerance,
        time_limit=time_limit,
        max_iterations=max_iterations,
        threads=threads,
        verbose=verbose,
    )
    check_folder(out)
    check_confidence(confidence)
    request = read_request(workload, table)
    bill = billed(ledger, data, table=request.table.table, data_set=data_set, part=part)
    check_table(data, request, None if bill is None else bill.selection)
    planned = planned_accuracy(
        request,
        program=program,
        given=given,
        strategy=strategy,
        solver=solver,
        options=options,
        confidence=confidence,
    )
    solution, plan = planned.solution, planned.plan
    check_bill(bill, plan)
    note_request(request)
    if not as_json:
        certificate = [row for row in solution.rows() if row[0] in CERTIFICATE]
        tables = (
            pairs_table(certificate),
            pairs_table(privacy_rows(plan)),
            accuracy_by_group(plan, confidence),
        )
        show(*(part for table in tables for part in (table, "")))
    # Of a file only what was recomputed is published.
    about = solution.summary() if strategy is None else checked_summary(solution.summary())
    # Where the strategy comes from; nothing of it depends on the data.
    origin = {
        "workload_file": {"name": Path(request.path).name, "sha256": request.text_hash},
        "solution": about,
    }
    _measure_and_write(request, data, origin, planned, bill, out, simulate, as_json)


def _measure_and_write(
    request: Request,
    data: str,
    origin: dict[str, Any],
    planned: Accuracy,
    bill: Bill | None,
    out: Path,
    simulate: int | None,
    as_json: bool,
) -> None:
    from mmopt.answers.counted_data import confidential_words, counted_data
    from mmopt.answers.one_call import measured
    from mmopt.mechanism.answer_columns import SIMULATED
    from mmopt.mechanism.release_folder import (
        ANSWERS_FILE,
        CHART_FILE,
        MANIFEST_FILE,
        PARQUET_FILE,
        STRATEGY_FILE,
    )
    from mmopt.report import answers_table

    selection = None if bill is None else bill.selection
    vector = counted_data(data, planned.plan, part=selection, **asdict(request.table))
    release = measured(planned, vector, origin, simulate, bill)
    folder = release.save(out)
    try:
        note(confidential_words(vector, planned.plan, selection))
        names = {
            "answers": ANSWERS_FILE,
            "parquet": PARQUET_FILE,
            "chart": CHART_FILE,
            "strategy": STRATEGY_FILE,
            "manifest": MANIFEST_FILE,
        }
        files = {what: str(folder / name) for what, name in names.items() if (folder / name).exists()}
        if "chart" not in files:
            note("no chart: matplotlib is not installed (pip install mmopt[chart])")
        if as_json and not release.private:
            note(SIMULATED)
        parts = [
            answers_table(release.answers),
            "",
            *([] if release.private else [SIMULATED]),
            f"{len(release):,} answers: {files['answers']}",
            f"what was done:  {files['manifest']}",
            *([] if release.charge is None else [f"what is left:   mmopt ledger show {release.charge.path}"]),
            f"read it back:   mmopt show {folder}",
        ]
        answer(as_json, {"out": str(folder), "files": files, **release.manifest}, parts)
    except KeyboardInterrupt:
        note(f"interrupted; the release is complete in '{folder}'")
        raise typer.Exit(INTERRUPTED) from None
