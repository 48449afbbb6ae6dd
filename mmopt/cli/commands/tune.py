"""``mmopt tune WORKLOAD SUBWORKLOAD``."""

from __future__ import annotations

from typing import Annotated

import typer

from mmopt.cli.command_inputs import read_request, refuse_beside
from mmopt.cli.command_options import (
    Json,
    SolverName,
    TimeLimit,
    Tolerance,
    Verbose,
    WorkloadFile,
    norm_of,
    numbers_in,
    options_for,
)
from mmopt.cli.command_output import Display, answer, live

__all__ = ["tune"]


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
    asked = request.workload
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
            tuned = list(tune_templates(asked, subworkload, weights, report=display.begin))
        else:
            ways = {"progress": begin, "solver": solver, **options}
            tuned = list(tune_subworkload(asked, subworkload, weights, program or "l2_strategy", **ways))
    rows = []
    for row in tuned:
        stated = None if deviation is None else {part: deviation * unit for part, unit in row.rmse.items()}
        rows.append({**row.summary(), "rmse": stated, "unit_rmse": dict(row.rmse)})
    answer(as_json, rows, [tuning_table(tuned, 1.0 if deviation is None else deviation)])
