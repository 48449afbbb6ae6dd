"""``mmopt templates WORKLOAD``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mmopt.cli.command_inputs import check_out, read_request
from mmopt.cli.command_options import Json, WorkloadFile, names_in, norm_of
from mmopt.cli.command_output import answer, note

__all__ = ["templates"]


def templates(
    workload: WorkloadFile,
    noise: Annotated[
        str,
        typer.Option(metavar="laplace|gaussian", help="laplace for ε, gaussian for (ε, δ)."),
    ] = "gaussian",
    names: Annotated[
        str | None,
        typer.Option("--templates", metavar="A,B", help="identity, product, union, marginals. Default: all."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of random starts.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz", help="Save the best strategy, for 'mmopt release --strategy FILE.npz'."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Optimise strategies kept in factors: a product, a union of products, weighted marginals.

    For workloads of products over domains too large for a matrix. The bound holds for every strategy.
    """
    from mmopt.driver.templates import templates as optimise
    from mmopt.report import templates_table
    from mmopt.results.rows_and_json import finite

    norm = norm_of(noise)
    check_out(out, example="strategy.npz")
    asked = read_request(workload).workload
    optimised = optimise(asked, norm, names_in(names, "--templates") or None, seed=seed, report=note)
    rows = [
        {
            "template": c.template,
            "error": finite(c.error),
            "rmse": finite(c.rmse),
            "seconds": c.seconds,
            "reason": c.reason,
        }
        for c in optimised.candidates
    ]
    summary = {"templates": rows, "bound": optimised.bound, "bound_from": optimised.bound_from}
    answer(as_json, summary, [templates_table(optimised)])
    if out is not None:
        note(f"saved: {optimised.solution(asked).save(out)} ({optimised.best.template})")
