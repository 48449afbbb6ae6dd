"""``mmopt release``, ``mmopt refine`` and ``mmopt simulate``.

``mmopt release WORKLOAD DATA``.

``mmopt refine FOLDER WORKLOAD``.

``mmopt simulate WORKLOAD DATA``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmopt.cli.command_inputs import (
    check_folder,
    check_table,
    note_request,
    planned_accuracy,
    read_program,
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
    names_in,
    numbers_in,
    options_for,
)
from mmopt.cli.command_output import INTERRUPTED, answer, note, run_solve, show
from mmopt.errors import OptionError, PrivacyError, TooLargeError, counted
from mmopt.limits import fits_memory

if TYPE_CHECKING:
    from mmopt.mechanism import Plan
    from mmopt.privacy import Privacy
    from mmopt.request import Request
    from mmopt.results import Solution
# What the table of a solution shows before a release; 'mmopt solve' shows all of it.
REFINED_ROWS = ("not private", "asked", "refined", "optimum")
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
    from mmopt.answers.accuracy_and_budget import at_privacy
    from mmopt.answers.private_release import prepare
    from mmopt.mechanism.release_folder import (
        ANSWERS_FILE,
        CHART_FILE,
        MANIFEST_FILE,
        PARQUET_FILE,
        SIMULATED,
        STRATEGY_FILE,
    )
    from mmopt.mechanism.release_plan import check_confidence
    from mmopt.report import accuracy_by_group, answers_table, pairs_table, privacy_rows

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
    prepared = prepare(
        data,
        at_privacy(request),
        partial(
            planned_accuracy,
            request,
            program=program,
            given=given,
            strategy=strategy,
            solver=solver,
            options=options,
            confidence=confidence,
        ),
        options=asdict(request.table),
        is_given=strategy is not None,
        ledger=ledger,
        data_set=data_set,
        part=part,
    )
    note_request(request)
    if not as_json:
        plan = prepared.planned.plan
        certificate = [row for row in prepared.planned.solution.rows() if row[0] in CERTIFICATE]
        tables = (
            pairs_table(certificate),
            pairs_table(privacy_rows(plan)),
            accuracy_by_group(plan, confidence),
        )
        show(*(line for table in tables for line in (table, "")))
    release, words = prepared.measure(simulate)
    folder = release.save(out)
    try:
        note(words)
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


def refine(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Written by --out of 'mmopt release'.")],
    workload: WorkloadFile,
    total: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[QUERY=]VALUE",
            help="How many rows were counted, without those that rules drop, where that is public; with the "
            "label of a query, as in answers.csv, its answer. May be repeated.",
        ),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Whole numbers, which still add up in hierarchies and tables.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="New folder: the release, with a column 'refined'.")
    ] = Path("refined"),
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    as_json: Json = False,
) -> None:
    """Answers that counts can have, beside the unbiased ones: non-negative, of known totals, whole.

    They are the answers of counts, so that they add up, and as near to the released ones as can be, each
    distance in standard errors; how near is proved. It reads published numbers alone and spends no privacy.
    Refined answers are biased: standard errors and intervals stay those of the released estimates.
    """
    from mmopt.answers import load_release
    from mmopt.mechanism.release_folder import ANSWERS_FILE
    from mmopt.report import answers_table, pairs_table

    check_folder(out)
    totals = _totals(total or [])
    release = load_release(folder, read_request(workload))
    refined = release.refine(whole=whole, totals=totals, tolerance=tolerance, time_limit=time_limit)
    written = refined.save(out)
    if as_json and not refined.private:
        note(refined.answers.metadata["warning"])
    parts = [
        pairs_table(row for row in refined.rows() if row[0] in REFINED_ROWS),
        "",
        answers_table(refined.answers),
        "",
        f"{len(refined):,} answers: {written / ANSWERS_FILE}",
        f"read it back:   mmopt show {written}",
    ]
    answer(as_json, {"out": str(written), **refined.manifest}, parts)


def _totals(texts: list[str]) -> dict[str | int | None, float]:
    """The values by label, None for all rows; OptionError for what is no number, or stands twice."""
    totals: dict[str | int | None, float] = {}
    for text in texts:
        label, equals, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or (equals and not label.strip()):
            raise OptionError(
                f"--total is '{text}', expected a number of rows, or QUERY=VALUE",
                hint="for example --total 29501 --total 'education = high school=9500'",
            )
        query = label.strip() if equals else None
        if query in totals:
            raise OptionError(
                f"--total is given twice for {'all rows' if query is None else repr(query)}",
                hint="keep one of them",
            )
        totals[query] = number
    return totals


def simulate(
    workload: WorkloadFile,
    data: DataFile,
    programs: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Programs to solve. Default: as for solve, unless --strategies."),
    ] = None,
    strategies: Annotated[
        str | None, typer.Option(metavar="FILE.npz,…", help="Solutions saved by 'mmopt solve --out'.")
    ] = None,
    table: DatabaseTable = None,
    both: Annotated[
        bool, typer.Option("--both", help="Solve each program for 'normalise: rows' as well.")
    ] = False,
    epsilon: Annotated[
        str | None, typer.Option(metavar="E,E", help="Epsilons. Default: the workload file's privacy.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="D", help="Delta beside --epsilon. Default: the workload file's.")
    ] = None,
    trials: Annotated[int, typer.Option(metavar="N", help="Draws of the noise.")] = 100,
    seed: Annotated[int, typer.Option(min=0, metavar="SEED", help="Seed of the noise.")] = 0,
    sanity: Annotated[
        float | None,
        typer.Option(
            metavar="COUNT", help="Least count that errors are divided by. Default: 0.1 % of the rows."
        ),
    ] = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Relative and absolute errors of strategies on a table, by simulated noise. NOT private.

    For choosing between strategies on data that may be seen, public data say: nothing that this prints may be
    published when the table is confidential.
    """
    from mmopt.data import data_vector
    from mmopt.mechanism.simulated_releases import simulate_errors
    from mmopt.report import NOT_PRIVATE, simulated_table

    request = read_request(workload, table)
    privacies = _privacies(request, epsilon, delta)
    if both and request.workload.is_normalised:
        raise OptionError(
            f"--both adds 'normalise: rows', and '{request.path}' says so already",
            hint="leave that line out of the file",
        )
    check_table(data, request)
    if not fits_memory((request.workload.n,)):
        raise TooLargeError(
            f"errors are simulated on a data vector, and there are {counted(request.workload.n, 'cell')}",
            hint="'mmopt accuracy' has every standard error as a formula; 'mmopt release --simulate SEED' "
            "draws noise once",
        )
    options = options_for(tolerance=tolerance, time_limit=time_limit, threads=threads)
    files = [Path(name) for name in names_in(strategies, "--strategies")]
    names = names_in(programs, "--programs")
    solved = _solved(request, names if files or names else [None], both, options)
    labelled = [*_saved(request, files), *solved]
    planned = [(name, one.strategy, _plans(request, one, privacies)) for name, one in labelled]
    counts = data_vector(
        data,
        request.workload.domain,
        workload=request.workload,
        unit=request.neighbours,
        **asdict(request.table),
    ).counts
    simulated = partial(simulate_errors, trials=trials, seed=seed, sanity=sanity)
    results = [
        (name, simulated(request.workload, strategy, counts, plans)) for name, strategy, plans in planned
    ]
    first = results[0][1][0]
    parts: list[object] = []
    for at in range(len(results[0][1])):
        parts += [simulated_table([(name, runs[at]) for name, runs in results]), ""]
    parts.append(
        f"relative: mean of |error| / max(|true|, {first.sanity:g}), over {first.trials} draws of noise"
    )
    if as_json:
        note(NOT_PRIVATE)
    summaries = [
        {
            "strategy": name,
            **asdict(run),
            "privacy": run.privacy and {k: v for k, v in asdict(run.privacy).items() if v is not None},
        }
        for name, runs in results
        for run in runs
    ]
    answer(as_json, {"private": False, "runs": summaries}, [*parts, NOT_PRIVATE])


def _plans(request: Request, solution: Solution, privacies: list[Privacy]) -> list[Plan]:
    """The releases: that of the file's privacy, targets and all, or one for each epsilon of the options."""
    from mmopt.mechanism import plan

    workload, neighbours = request.workload, request.neighbours
    if not privacies:
        return [plan(workload, solution, request.privacy, neighbours, absolute=solution.by_targets)]
    return [plan(workload, solution, privacy, neighbours) for privacy in privacies]


def _privacies(request: Request, epsilon: str | None, delta: float | None) -> list[Privacy]:
    """Those of the options; none where the file decides."""
    from mmopt.privacy import Privacy

    epsilons = numbers_in(epsilon, "--epsilon")
    stated = request.privacy
    if not epsilons:
        if delta is not None:
            raise OptionError(
                f"--delta is {delta:g} without --epsilon", hint="for example --epsilon 0.1,0.5,1"
            )
        if stated is None and not request.workload.has_all_targets:
            raise PrivacyError(
                f"'{request.path}' has no privacy parameters", hint="give --epsilon 0.1,0.5,1 --delta 1e-6"
            )
        return []
    chosen = delta if delta is not None else stated.delta if stated is not None else None
    if chosen is None and not (stated is not None and stated.is_pure):
        raise PrivacyError(
            f"--epsilon is '{epsilon}' and no delta is given",
            hint="add --delta 1e-6, which Laplace noise ignores",
        )
    return [Privacy(epsilon=e, delta=chosen) for e in epsilons]


def _saved(request: Request, files: list[Path]) -> Iterator[tuple[str, Solution]]:
    """Strategies from files; any that support the queries will do, whatever they were solved for."""
    from mmopt.results import Solution

    for path in files:
        solution = Solution.load(path)
        if solution.workload_hash != request.workload.hash:
            note(f"'{path}' was solved for another workload, or for other weights or targets")
        yield f"{path.name}: {solution.program}", solution


def _solved(
    request: Request, names: Sequence[str | None], both: bool, options: dict[str, Any]
) -> Iterator[tuple[str, Solution]]:
    """Programs solved, by name, None for the default; with ``both`` for the normalised workload as well."""
    for name in names:
        if name is None and not both:
            planned = planned_accuracy(request, options=options)
            yield planned.solution.program, planned.solution
            continue
        program = read_program(name, request)
        workloads = [(program.name, request.workload)]
        if both:
            workloads.append((f"{program.name}, normalised", request.workload.normalised()))
        for label, workload in workloads:
            solution = run_solve(workload, program, None, None, options)
            if solution.status.is_interrupted:
                raise KeyboardInterrupt
            yield label, solution
