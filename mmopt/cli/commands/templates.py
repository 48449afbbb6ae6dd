"""``mmopt templates WORKLOAD``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mmopt.cli.command_inputs import check_out, read_request, stated_in
from mmopt.cli.command_options import Json, WorkloadFile, names_in, norm_of
from mmopt.cli.command_output import answer, note

__all__ = ["templates"]


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
    from mmopt.privacy.table_of_noises import noise_for
    from mmopt.report import templates_table

    named = None if noise is None else norm_of(noise)
    check_out(out, example="strategy.npz")
    request = read_request(workload)
    asked, chosen = request.workload, names_in(names, "--templates") or None
    stated = stated_in(request)
    norms = (named,) if named is not None else (2,) if stated is None else stated.norms
    known = [TEMPLATES[name] for name in chosen or () if name in TEMPLATES]
    # First a noise that some template is for: the bound comes with it.
    norms = tuple(sorted(norms, key=lambda norm: all(one.why_not(norm) for one in known)))
    found: dict[int, Templates] = {}
    bound: tuple[float, str] | None = None
    for norm in norms:
        of = f", {noise_for(norm).name} noise" * (len(norms) > 1)

        def report(what: str, of: str = of) -> None:
            note(what if what == "bound" else f"{what}{of}")

        found[norm] = optimise(asked, norm, chosen, seed=seed, report=report, bound=bound)
        bound = found[norm].bound, found[norm].bound_from
    assert bound is not None
    places = template_places(found, asked, stated)
    summary = {
        "templates": [place.summary() for place in places],
        "privacy": None if stated is None else stated.summary(),
        "bound": bound[0],
        "bound_from": bound[1],
    }
    answer(as_json, summary, [templates_table(places, *bound, stated)])
    if out is not None:
        best = places[0]
        saved = found[best.norm].solution(asked, best.candidate).save(out)
        note(f"saved: {saved} ({best.candidate.template})")
