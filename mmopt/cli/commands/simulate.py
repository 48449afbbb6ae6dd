"""``mmopt simulate WORKLOAD DATA``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmopt.cli.command_inputs import check_table, read_program, read_request
from mmopt.cli.command_options import (
    DatabaseTable,
    DataFile,
    Json,
    Threads,
    TimeLimit,
    Tolerance,
    WorkloadFile,
    names_in,
    numbers_in,
    options_for,
)
from mmopt.cli.command_output import answer, note, run_solve
from mmopt.cli.command_strategy import planned_accuracy
from mmopt.errors import OptionError, PrivacyError, TooLargeError, counted
from mmopt.limits import fits_memory

if TYPE_CHECKING:
    from mmopt.mechanism import Plan
    from mmopt.privacy import Privacy
    from mmopt.request import Request
    from mmopt.results import AnySolution

__all__ = ["simulate"]


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


def _plans(request: Request, solution: AnySolution, privacies: list[Privacy]) -> list[Plan]:
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


def _saved(request: Request, files: list[Path]) -> Iterator[tuple[str, AnySolution]]:
    """Strategies from files; any that support the queries will do, whatever they were solved for."""
    from mmopt.results import load_saved

    for path in files:
        solution = load_saved(path)
        if solution.workload_hash != request.workload.hash:
            note(f"'{path}' was solved for another workload, or for other weights or targets")
        yield f"{path.name}: {solution.program}", solution


def _solved(
    request: Request, names: Sequence[str | None], both: bool, options: dict[str, Any]
) -> Iterator[tuple[str, AnySolution]]:
    """Programs solved, by name, None for the default; with ``both`` for the normalised workload as well."""
    for name in names:
        if name is None and not both:
            planned = planned_accuracy(request, options=options)
            yield planned.solution.program, planned.solution
            continue
        program = read_program(name, request)
        asked = [(program.name, request.workload)]
        if both:
            asked.append((f"{program.name}, normalised", request.workload.normalised()))
        for label, workload in asked:
            solution = run_solve(workload, program, None, None, options)
            if solution.status.is_interrupted:
                raise KeyboardInterrupt
            yield label, solution
