"""``mmopt release WORKLOAD DATA``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmopt.cli.command_guard import INTERRUPTED
from mmopt.cli.command_inputs import (
    check_folder,
    check_privacy,
    check_table,
    note_request,
    read_givens,
    read_program,
    read_request,
    refuse_with_strategy,
)
from mmopt.cli.command_options import (
    DataFile,
    Given,
    Iterations,
    Json,
    ProgramName,
    SolverName,
    Threads,
    TimeLimit,
    Tolerance,
    Verbose,
    WorkloadFile,
    options_for,
)
from mmopt.cli.command_output import answer, note, run_solve, show
from mmopt.errors import ResultError, TooLargeError

if TYPE_CHECKING:
    from mmopt.mechanism import Plan
    from mmopt.request import Request
    from mmopt.results import AnySolution, Solution

__all__ = ["release"]

# What the table of a solution shows before a release; 'mmopt solve' shows all of it.
CERTIFICATE = ("program", "template", "strategy", "solver", "givens", "status", "objective", "bound", "gap")


def release(
    workload: WorkloadFile,
    data: DataFile,
    program: ProgramName = None,
    given: Given = None,
    strategy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Use this strategy, saved by --out of 'mmopt solve' or 'mmopt templates'.",
        ),
    ] = None,
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
    confidence: Annotated[float, typer.Option(metavar="P", help="Confidence of the intervals.")] = 0.95,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Answer a workload on a table with differential privacy, and write the answers with error bars.

    Everything that can be refused is refused before the rows of the table are read.
    """
    from mmopt.mechanism import plan
    from mmopt.mechanism.accuracy import check_confidence
    from mmopt.proof.verify import checked_summary
    from mmopt.report import pairs_table, predicted_table, privacy_rows

    given_options = {
        "--program": program,
        "--given": given,
        "--solver": solver,
        "--tolerance": tolerance,
        "--time-limit": time_limit,
        "--max-iterations": max_iterations,
        "--threads": threads,
    }
    options = options_for(
        tolerance=tolerance,
        time_limit=time_limit,
        max_iterations=max_iterations,
        threads=threads,
        verbose=verbose,
    )
    check_folder(out)
    check_confidence(confidence)
    request = read_request(workload)
    if strategy is None:
        solution: AnySolution = _solved(request, data, program, given, solver, options)
    else:
        refuse_with_strategy(given_options)
        solution = _saved(strategy, request)
    by_targets = solution.covariance is not None
    if strategy is not None:
        check_privacy(request, solution.program, by_targets, solution.strategy.norm)
        check_table(data, request)
    note_request(request)
    planned = plan(request.workload, solution, request.privacy, request.neighbours, absolute=by_targets)
    if not as_json:
        certificate = [row for row in solution.rows() if row[0] in CERTIFICATE]
        tables = pairs_table(certificate), pairs_table(privacy_rows(planned)), predicted_table(planned)
        show(*(part for table in tables for part in (table, "")))
    # Of a file only what was recomputed is published.
    about = solution.summary() if strategy is None else checked_summary(solution.summary())
    # Where the strategy comes from; nothing of it depends on the data.
    origin = {
        "workload_file": {"name": Path(request.path).name, "sha256": request.text_hash},
        "solution": about,
        **solution.about_program(),
        **({} if simulate is None else {"simulation_seed": simulate}),
    }
    _measure_and_write(request, data, origin, planned, solution, out, simulate, confidence, as_json)


def _solved(
    request: Request,
    data: Path,
    name: str | None,
    given: list[str] | None,
    solver: str | None,
    options: dict[str, Any],
) -> Solution:
    """Solve, after refusing what can be refused without it."""
    program = read_program(name, request)
    meaning = program.meaning
    by_targets = meaning.kind == "covariance"
    check_privacy(request, program.name, by_targets, meaning.norm)
    givens = read_givens(given, program, request.workload)
    check_table(data, request)
    try:
        solution = run_solve(request.workload, program, solver, givens, options)
    except TooLargeError as error:
        if request.privacy is None or not request.privacy.is_pure or request.workload.products is None:
            raise
        raise TooLargeError(
            error.message,
            hint=f"keep the strategy in factors: mmopt templates {request.path} --noise laplace "
            "--out FILE.npz, and then mmopt release with --strategy FILE.npz",
        ) from error
    if solution.status.is_interrupted:
        # Data was not touched; somebody who stops a release does not want half of one.
        note(
            "interrupted, nothing written\n  to release the best strategy found in a given time: "
            "mmopt release … --time-limit SECONDS"
        )
        raise typer.Exit(INTERRUPTED)
    return solution


def _saved(path: Path, request: Request) -> AnySolution:
    from mmopt.proof import verify
    from mmopt.proof.verify import with_worse
    from mmopt.results import load_saved
    from mmopt.results.verification import shown

    solution = load_saved(path)
    if solution.workload_hash != request.workload.hash:
        raise ResultError(
            f"'{path}' was solved for another workload: its hash is {solution.workload_hash[:16]}…, that of "
            f"'{request.path}' is {request.workload.hash[:16]}…",
            hint=f"solve this one: mmopt {solution.COMMAND} {request.path} --out FILE.npz",
        )
    found = verify(solution, request.workload)
    for row in found.failures:
        raise ResultError(
            f"'{path}' does not hold: {row.what} is {shown(row.stated)} in the file, and recomputed "
            f"{shown(row.recomputed)}",
            hint=f"nothing is released; all checks: mmopt verify {path} {request.path}",
        )
    note(f"strategy: from '{path}' ({solution.words})")
    return with_worse(solution, found)


def _measure_and_write(
    request: Request,
    data: Path,
    origin: dict[str, Any],
    planned: Plan,
    solution: AnySolution,
    out: Path,
    simulate: int | None,
    confidence: float,
    as_json: bool,
) -> None:
    from mmopt.answers.release_result import CHART_FILE, STRATEGY_FILE, Release
    from mmopt.data import data_vector
    from mmopt.mechanism import build_manifest, measure
    from mmopt.mechanism.answer_columns import SIMULATED
    from mmopt.mechanism.release_folder import ANSWERS_FILE, MANIFEST_FILE, PARQUET_FILE
    from mmopt.report import answers_table

    vector = data_vector(data, request.workload.domain)
    answers = measure(planned, vector.counts, simulate, confidence)
    release = Release.of(planned, answers, build_manifest(planned, answers, **origin), solution)
    folder = release.save(out)
    try:
        dropped = ", ".join(f"{count:,} by '{name}'" for name, count in vector.dropped.items() if count)
        note(
            f"confidential, for you alone: {vector.rows:,} rows in the table, "
            f"{f'dropped {dropped}' if dropped else 'none dropped'}"
        )
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
        if as_json and not answers.private:
            note(SIMULATED)
        parts = [
            answers_table(release.answers),
            "",
            *([] if answers.private else [SIMULATED]),
            f"{len(release):,} answers: {files['answers']}",
            f"what was done:  {files['manifest']}",
            f"read it back:   mmopt show {folder}",
        ]
        answer(as_json, {"out": str(folder), "files": files, **release.manifest}, parts)
    except KeyboardInterrupt:
        note(f"interrupted; the release is complete in '{folder}'")
        raise typer.Exit(INTERRUPTED) from None
