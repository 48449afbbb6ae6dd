"""``mmopt accuracy``, ``budget``, ``release``, ``refine`` and ``simulate``."""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from mmopt.answers.accuracy_budget_and_default_strategy import at_privacy, budget as least_budget
from mmopt.answers.private_release import load_release, prepare
from mmopt.cli.command_inputs import names_in, note_request, numbers_in, read_request
from mmopt.cli.command_output import answer, live, note, spaced
from mmopt.cli.solve_and_plan import (
    check_files,
    check_folder,
    options_for,
    planned_accuracy,
    read_program,
    run_solve,
    write_files,
)
from mmopt.data import check_columns, data_vector
from mmopt.errors import OptionError, PrivacyError, TooLargeError, counted, last_words
from mmopt.limits import fits_memory, heeded, uninterrupted
from mmopt.mechanism import plan
from mmopt.mechanism.measured_and_simulated_releases import simulate_errors
from mmopt.mechanism.release_writing import (
    ANSWERS_FILE,
    CHART_FILE,
    MANIFEST_FILE,
    PARQUET_FILE,
    SIMULATED,
    STRATEGY_FILE,
)
from mmopt.mechanism.standard_errors_and_intervals import check_confidence
from mmopt.privacy import Privacy
from mmopt.report import (
    NOT_PRIVATE,
    accuracy_by_group,
    accuracy_by_query,
    answers_table,
    in_order,
    pairs_table,
    privacy_rows,
    release_tables,
    simulated_table,
)
from mmopt.report.chart_parts import has_matplotlib
from mmopt.request import Request
from mmopt.results import Solution
from mmopt.workloads.agreeing_tables import refinable_words

# Rows of a refined release that are shown.
REFINED_ROWS = ("not private", "workload", "refined", "optimum")
# Rows of a solution that are shown with a release; 'mmopt solve' shows all.
CERTIFICATE = ("program", "template", "strategy", "solver", "givens", "status", "objective", "bound", "gap")


def accuracy(
    *,
    workload: Path,
    program: str | None,
    given: list[str] | None,
    strategy: Path | None,
    confidence: float,
    out: Path | None,
    chart: Path | None,
    solver: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the accuracy that a release would have."""
    check_confidence(confidence)
    check_files(out, chart)
    request = read_request(workload)
    planned = planned_accuracy(
        request,
        program=program,
        given=given,
        strategy=strategy,
        solver=solver,
        options=options_for(**options),
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
        accuracy_by_query(plan, confidence),
        pairs_table(
            in_order(
                [("chosen", planned.words), ("refining", refinable_words(plan.workload)), *privacy_rows(plan)]
            )
        ),
    )
    answer(as_json, summary, spaced(tables))
    write_files(plan, errors, confidence, out, chart, Path(request.path).name)


def budget(
    *,
    workload: Path,
    delta: float | None,
    pure: bool,
    out: Path | None,
    chart: Path | None,
    solver: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the least privacy at which every accuracy target holds."""
    if pure and delta is not None:
        raise OptionError("--delta and --pure are two kinds of budget", hint="leave one of them out")
    check_files(out, chart)
    options = options_for(**options)
    request = read_request(workload)
    solved = partial(run_solve, solver=solver, givens=None, options=options, keep_interrupted=False)
    least = least_budget(request, delta=delta, pure=pure, solved=solved, say=note)
    note_request(request, is_planned=True)
    # The budget contains the cost, and has no limit.
    rows = [row for row in privacy_rows(least.plan) if row[0] not in ("privacy cost", "allowed")]
    answer(as_json, least.summary(), spaced([pairs_table([*least.rows(), *rows]), *least.tables()]))
    write_files(least.plan, least.errors, 0.95, out, chart, Path(request.path).name)


def release(
    *,
    workload: Path,
    data: str,
    program: str | None,
    given: list[str] | None,
    strategy: Path | None,
    out: Path,
    solver: str | None,
    simulate: int | None,
    confidence: float,
    table: str | None,
    ledger: Path | None,
    data_set: str | None,
    part: str | None,
    anyway: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write a release into a folder, and print its accuracy and its answers."""
    options = options_for(**options)
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
        anyway=anyway or simulate is not None,
        say=note,
    )
    note_request(request, is_planned=bool(prepared.planned.solution.template))
    words: list[str] = []
    with last_words() as complete, heeded(), ExitStack() as ending:
        with live("counting rows", awaited="") as display:
            release = ending.enter_context(prepared.measured(simulate, display.part, words.append))
        with uninterrupted():  # until what it says of the folder holds
            folder = release.save(out)
            complete.append(f"the release is complete in '{folder}'")
        note(words[0])
        names = {
            "answers": ANSWERS_FILE,
            "parquet": PARQUET_FILE,
            "chart": CHART_FILE,
            "strategy": STRATEGY_FILE,
            "manifest": MANIFEST_FILE,
        }
        files = {what: str(folder / name) for what, name in names.items() if (folder / name).exists()}
        if not has_matplotlib():
            note("no chart: matplotlib is not installed (pip install mmopt[chart])")
        if as_json and not release.private:
            note(SIMULATED)
        certificate = [row for row in prepared.planned.solution.rows() if row[0] in CERTIFICATE]
        about = [*certificate, *privacy_rows(prepared.planned.plan)]
        parts = [
            *spaced(release_tables(release.manifest, release.answers, about)),
            "",
            f"{len(release):,} answers: {files['answers']}",
            f"what was done:  {files['manifest']}",
            *([] if release.charge is None else [f"what is left:   mmopt ledger show {release.charge.path}"]),
            f"read it back:   mmopt show {folder}",
        ]
        answer(as_json, {"out": str(folder), "files": files, **release.manifest}, parts)


def refine(
    *,
    folder: Path,
    workload: Path,
    total: list[str] | None,
    whole: bool,
    out: Path,
    tolerance: float | None,
    time_limit: float | None,
    as_json: bool,
) -> None:
    """Write a release with refined answers into a folder, and print them."""
    check_folder(out)
    request = read_request(workload)
    totals = {**request.totals, **_totals(total or [])} or None
    refined = load_release(folder, request).refine(
        whole=whole, totals=totals, tolerance=tolerance, time_limit=time_limit
    )
    written = refined.save(out)
    if far := refined.answers.metadata.get("contradicted totals"):
        note(f"warning: {far}. Is it the total of the rows that were counted?")
    if as_json and not refined.private:
        note(refined.answers.metadata["warning"])
    parts = [
        answers_table(refined.answers, manifest=refined.manifest),
        "",
        pairs_table(row for row in refined.rows() if row[0] in REFINED_ROWS),
        "",
        f"{len(refined):,} answers: {written / ANSWERS_FILE}",
        f"read it back:   mmopt show {written}",
    ]
    answer(as_json, {"out": str(written), **refined.manifest}, parts)


def _totals(texts: list[str]) -> dict[str | int | None, float]:
    """The values of ``--total QUERY=VALUE`` by query, that of ``--total VALUE`` (all rows) under None.

    OptionError for a value that is no number, or a query that appears twice.
    """
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
    *,
    workload: Path,
    data: str,
    programs: str | None,
    strategies: str | None,
    table: str | None,
    both: bool,
    epsilon: str | None,
    delta: float | None,
    trials: int,
    seed: int,
    sanity: float | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the errors of simulated releases of a table."""
    request = read_request(workload, table)
    privacies = _privacies(request, epsilon, delta)
    if both and request.workload.is_normalised:
        raise OptionError(
            f"--both adds 'normalise: rows', and '{request.path}' says so already",
            hint="leave that line out of the file",
        )
    source = {"workload": request.workload, "unit": request.neighbours, **asdict(request.table)}
    check_columns(data, request.workload.domain, **source)
    if not fits_memory((request.workload.n,)):
        raise TooLargeError(
            f"errors are simulated on a data vector, and there are {counted(request.workload.n, 'cell')}",
            hint="'mmopt accuracy' has every standard error as a formula; 'mmopt release --simulate SEED' "
            "draws noise once",
        )
    options = options_for(**options)
    files = [Path(name) for name in names_in(strategies, "--strategies")]
    names = names_in(programs, "--programs")
    solved = _solved(request, names if files or names else [None], both, options)
    saved = [(path, Solution.load(path)) for path in files]
    for path, solution in saved:
        # Any that supports the queries will do.
        if solution.workload_hash != request.workload.hash:
            note(f"'{path}' was solved for another workload, or for other weights or targets")
    labelled = [*((f"{path.name}: {solution.program}", solution) for path, solution in saved), *solved]
    planned = [
        (
            name,
            one.strategy,
            [
                plan(
                    request.workload,
                    one,
                    privacy,
                    request.neighbours,
                    absolute=one.by_targets and not privacies,
                )
                for privacy in privacies or [request.privacy]
            ],
        )
        for name, one in labelled
    ]
    with live("counting rows", awaited="") as display:
        counts = data_vector(data, request.workload.domain, progress=display.part, **source).counts
    results = [
        (
            name,
            simulate_errors(
                request.workload, strategy, counts, plans, trials=trials, seed=seed, sanity=sanity
            ),
        )
        for name, strategy, plans in planned
    ]
    first = results[0][1][0]
    tables = [
        simulated_table([(name, runs[at]) for name, runs in results]) for at in range(len(results[0][1]))
    ]
    parts = [
        *spaced(tables),
        "",
        f"relative: mean of |error| / max(|true|, {first.sanity:g}), over {first.trials} draws of noise",
        NOT_PRIVATE,
    ]
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
    answer(as_json, {"private": False, "runs": summaries}, parts)


def _privacies(request: Request, epsilon: str | None, delta: float | None) -> list[Privacy | None]:
    """The privacies of the options; none where the file decides, with its targets."""
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
        workloads = [
            (program.name, request.workload),
            *([(f"{program.name}, normalised", request.workload.normalised())] if both else []),
        ]
        for label, workload in workloads:
            solution = run_solve(workload, program, None, None, options)
            if solution.status.is_interrupted:
                raise KeyboardInterrupt
            yield label, solution
