"""``mmopt programs``."""

from __future__ import annotations

from typing import Annotated

import typer

from mmopt.cli.options import Json
from mmopt.cli.output import show, show_json

__all__ = ["programs"]


def programs(
    solvers: Annotated[
        bool, typer.Option("--solvers", help="Show which solver takes which program.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the programs that are shipped."""
    from mmopt.language import Program, program_names
    from mmopt.report import lacking, programs_table, taken, takers_table
    from mmopt.solvers import KERNELS, SOLVERS

    found = [Program.load(name) for name in program_names()]
    if solvers and as_json:
        conic = {p.name: {row.name: lacking(p, row) for row in SOLVERS} for p in found}
        kernels = {p.name: [k.name for k in KERNELS if taken(p, k)] for p in found}
        show_json({name: {"kernels": kernels[name], "lacking": conic[name]} for name in conic})
        return
    if solvers:
        show(
            takers_table(found),
            "",
            "'no' is followed by the cones that a conic solver lacks; '-': it needs none.",
        )
        return
    if as_json:
        show_json(
            [
                {
                    "name": p.name,
                    "class": p.klass,
                    "title": p.title,
                    "source": p.cite,
                    "formulation_of": p.formulation_of or None,
                    "certificate": p.certificate is not None,
                    "bound": p.bound or None,
                }
                for p in found
            ]
        )
        return
    show(
        programs_table(found),
        "",
        "Indented: other formulations of the program above.",
        "'mmopt explain NAME' explains one; 'mmopt compare WORKLOAD' solves them all.",
    )
