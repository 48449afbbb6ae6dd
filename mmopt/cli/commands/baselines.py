"""``mmopt baselines [WORKLOAD]``."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmopt.cli.options import Json
from mmopt.cli.output import note, show, show_json

if TYPE_CHECKING:
    from mmopt.strategies.baselines import Cost, Evaluated

__all__ = ["baselines"]


def baselines(
    workload: Annotated[
        Path | None,
        typer.Argument(metavar="[WORKLOAD]", help="Workload file (YAML). Default: list the names."),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="A baseline, with parameters if wanted: 'hierarchical(branching=16)'. May be repeated. "
            "Default: all.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """What is used without optimising: hierarchies, wavelets, marginals; and what each costs.

    Errors are total squared errors for noise of unit variance per unit of sensitivity, as everywhere.
    """
    from mmopt.report import baseline_costs, baselines_table
    from mmopt.strategies.baselines import CATALOGUE, baseline_names as all_names, evaluate, read

    chosen = names or all_names()
    calls = [str(read(text)) for text in chosen]
    if workload is None:
        rows = [row for row in CATALOGUE if not names or row in {read(text).baseline for text in names}]
        if as_json:
            show_json([_listed(row) for row in rows])
        else:
            show(baselines_table(rows), "", "'mmopt baselines WORKLOAD' tells what each costs.")
        return
    from mmopt.cli.inputs import note_request
    from mmopt.request import load_request

    request = load_request(workload)
    found: list[Evaluated] = []
    for call in calls:
        note(f"baseline: {call}")
        found.append(evaluate(call, request.workload))
    note_request(request)
    if as_json:
        show_json([_evaluated(one) for one in found])
    else:
        show(*baseline_costs(found))


def _listed(row: Any) -> dict[str, Any]:
    return {
        "name": row.name,
        "title": row.title,
        "source": row.source,
        "norms": list(row.norms),
        "parameters": [
            {"name": p.name, "type": p.kind.__name__, "default": p.default, "about": p.about}
            for p in row.parameters
        ],
    }


def _evaluated(one: Evaluated) -> dict[str, Any]:
    return {
        "name": one.name,
        "title": one.title,
        "detail": one.detail,
        "reason": one.reason,
        "costs": [_cost(cost) for cost in one.costs],
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "norm": cost.norm,
        "rows": cost.rows,
        "sensitivity": cost.sensitivity,
        "error": cost.error if isfinite(cost.error) else None,
        "rmse": cost.rmse if isfinite(cost.rmse) else None,
        "privacy_cost": cost.privacy_cost if cost.privacy_cost and isfinite(cost.privacy_cost) else None,
    }
