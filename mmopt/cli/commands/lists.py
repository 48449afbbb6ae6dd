"""``mmopt programs``, ``mmopt baselines [WORKLOAD]`` and ``mmopt templates WORKLOAD``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmopt.cli.command_inputs import check_out, note_request, read_request, stated_in
from mmopt.cli.command_options import Json, WorkloadFile, baseline_words, names_in, norm_of
from mmopt.cli.command_output import answer, note

if TYPE_CHECKING:
    from mmopt.strategies.baselines import Evaluated


def programs(
    solvers: Annotated[
        bool, typer.Option("--solvers", help="Show which solver takes which program.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the programs that are shipped."""
    from mmopt.language import Program, program_names, shipped
    from mmopt.report import programs_table, takers, takers_table
    from mmopt.solvers import SOLVERS

    if solvers:
        checked = [shipped(name) for name in program_names()]
        names = ", ".join(row.name for row in SOLVERS)
        words = f"Conic solvers: {names}. In brackets: cones that one lacks."
        who = {c.program.name: takers(c) for c in checked}
        answer(as_json, {name: one.summary() for name, one in who.items()}, [takers_table(who), "", words])
        return
    listed = [Program.load(name) for name in program_names()]
    answer(
        as_json,
        [
            {
                "name": p.name,
                "class": p.problem_class,
                "title": p.title,
                "source": p.cite,
                "formulation_of": p.formulation_of or None,
                "certificate": p.certificate is not None,
                "bound": p.bound or None,
            }
            for p in listed
        ],
        [
            programs_table(listed),
            "",
            "Indented: other formulations of the program above.",
            "'mmopt explain NAME' explains one; 'mmopt compare WORKLOAD' solves them all.",
        ],
    )


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
    """List what is used without optimising: hierarchies, wavelets, marginals; and what each costs.

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
    ranked = ranking([], [one for factors in each for one in factors], request.workload, stated)
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
                    "noise": factors.noise,
                    "rows": cost.rows,
                    "sensitivity": cost.sensitivity,
                    "error": finite(cost.error),
                    "rmse": finite(factors.errors_rmse),
                    "unit_rmse": finite(cost.rmse),
                    "privacy_cost": finite(cost.privacy_cost or None),
                    "rank": places.get(id(factors)),
                    **factors.predicted.summary(),
                }
                for cost, factors in zip(one.costs, by_noise, strict=True)
            ],
        }
        for one, by_noise in zip(evaluated, each, strict=True)
    ]
    answer(as_json, costs, baseline_costs(evaluated, ranked))


def templates(
    workload: WorkloadFile,
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="laplace|gaussian",
            help="laplace for ε, gaussian for (ε, δ). Default: those that the file's privacy allows, all "
            "templates in one list; without privacy gaussian.",
        ),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(
            "--templates",
            metavar="A,B",
            help="identity, product, union, marginals, sectorwise (Gaussian noise). Default: all.",
        ),
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
    """Optimise strategies kept in factors: products, unions of them, weighted marginals, few attributes.

    For workloads of products over domains too large for a matrix. The bound holds for every strategy. Where
    the file has privacy, rmse is the standard error of a release there, and the best first.
    """
    from mmopt.comparison import template_places
    from mmopt.driver.templates import TEMPLATES, Templates, templates as optimise
    from mmopt.privacy.noise import noise_for
    from mmopt.report import templates_table

    named = None if noise is None else norm_of(noise)
    check_out(out, example="strategy.npz")
    request = read_request(workload)
    queries, chosen = request.workload, names_in(names, "--templates") or None
    stated = stated_in(request)
    norms = (named,) if named is not None else (2,) if stated is None else stated.norms
    rows = [TEMPLATES[name] for name in chosen or () if name in TEMPLATES]
    # First a noise for which there is some template: the bound comes with it.
    norms = tuple(sorted(norms, key=lambda norm: all(one.why_not(norm) for one in rows)))
    optimised: dict[int, Templates] = {}
    bound: tuple[float, str] | None = None
    for norm in norms:
        of = f", {noise_for(norm).name} noise" * (len(norms) > 1)

        def report(what: str, of: str = of) -> None:
            note(what if what == "bound" else f"{what}{of}")

        optimised[norm] = optimise(queries, norm, chosen, seed=seed, report=report, bound=bound)
        bound = optimised[norm].bound, optimised[norm].bound_from
    assert bound is not None
    places = template_places(optimised, queries, stated)
    summary = {
        "templates": [place.summary() for place in places],
        "privacy": None if stated is None else stated.summary(),
        "bound": bound[0],
        "bound_from": bound[1],
    }
    answer(as_json, summary, [templates_table(places, *bound, stated)])
    if out is not None:
        best = places[0]
        saved = optimised[best.norm].solution(queries, best.candidate).save(out)
        note(f"saved: {saved} ({best.candidate.template})")
