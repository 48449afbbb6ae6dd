"""``mmopt baselines [WORKLOAD]``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmopt.cli.command_inputs import note_request, read_request, stated_in
from mmopt.cli.command_options import Json
from mmopt.cli.command_output import answer, note
from mmopt.cli.completion import baseline_words

if TYPE_CHECKING:
    from mmopt.strategies.baselines import Evaluated

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
            autocompletion=baseline_words,
            help="A baseline, with parameters if wanted: 'hierarchical(branching=16)'. May be repeated. "
            "Default: all.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """What is used without optimising: hierarchies, wavelets, marginals; and what each costs.

    Where the file has privacy, errors are standard errors of a release there, the least first, whatever the
    noise; else total squared errors for noise of unit variance per unit of sensitivity.
    """
    from mmopt.comparison import at_privacy, ranking
    from mmopt.report import baseline_costs, baselines_table
    from mmopt.results.rows_and_json import finite
    from mmopt.strategies.baselines import CATALOGUE, baseline_names as all_names, evaluate, read

    calls = [str(read(text)) for text in names or all_names()]
    if workload is None:
        rows = [row for row in CATALOGUE if not names or row in {read(text).baseline for text in names}]
        words = "'mmopt baselines WORKLOAD' tells what each costs."
        summaries = [
            {
                "name": row.name,
                "title": row.title,
                "source": row.source,
                "norms": list(row.norms),
                "parameters": [
                    {"name": p.name, "type": p.kind.__name__, "default": p.default, "about": p.about}
                    for p in row.parameters
                ],
            }
            for row in rows
        ]
        answer(as_json, summaries, [baselines_table(rows), "", words])
        return
    request = read_request(workload)
    stated = stated_in(request)
    evaluated: list[Evaluated] = []
    each = []
    for number, call in enumerate(calls, 1):
        note(f"baseline: {call} ({number} of {len(calls)})")
        evaluated.append(evaluate(call, request.workload))
        each.append(at_privacy(evaluated[-1], request.workload, stated))
    note_request(request)
    ranked = ranking([], [one for own in each for one in own], request.workload, stated)
    places = {id(place.entry): place.number for place in ranked.places}
    costs = [
        {
            "name": one.name,
            "title": one.title,
            "detail": one.detail,
            "reason": one.reason,
            "costs": [
                {
                    "norm": cost.norm,
                    "noise": own.noise,
                    "rows": cost.rows,
                    "sensitivity": cost.sensitivity,
                    "error": finite(cost.error),
                    "rmse": finite(own.errors_rmse),
                    "unit_rmse": finite(cost.rmse),
                    "privacy_cost": finite(cost.privacy_cost or None),
                    "rank": places.get(id(own)),
                    **own.predicted.summary(),
                }
                for cost, own in zip(one.costs, beside, strict=True)
            ],
        }
        for one, beside in zip(evaluated, each, strict=True)
    ]
    answer(as_json, costs, baseline_costs(evaluated, ranked))
