"""``mmopt templates WORKLOAD``."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from mmopt.cli.options import Json, WorkloadFile, names_in, norm_of
from mmopt.cli.output import note, show, show_json
from mmopt.cli.refusals import check_out

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
    from mmopt.request import load_request

    norm = norm_of(noise)
    if out is not None:
        check_out(out, example="strategy.npz")
    asked = load_request(workload).workload
    chosen = names_in(names, "--templates") or None
    found = optimise(asked, norm, chosen, seed=seed, report=note)
    if as_json:
        rows: list[dict[str, Any]] = [
            {
                "template": c.template,
                "error": c.error if isfinite(c.error) else None,
                "rmse": c.rmse if isfinite(c.rmse) else None,
                "seconds": c.seconds,
                "reason": c.reason,
            }
            for c in found.candidates
        ]
        show_json({"templates": rows, "bound": found.bound, "bound_from": found.bound_from})
    else:
        show(templates_table(found))
    if out is not None:
        note(f"saved: {found.solution(asked).save(out)} ({found.best.template})")
