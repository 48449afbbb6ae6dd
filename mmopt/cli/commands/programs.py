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
    from mmopt.language import Program, program_names, shipped
    from mmopt.report import programs_table, takers, takers_table
    from mmopt.solvers import SOLVERS

    if solvers:
        checked = [shipped(name) for name in program_names()]
        if not as_json:
            names = ", ".join(row.name for row in SOLVERS)
            show(takers_table(checked), "", f"Conic solvers: {names}. In brackets: cones that one lacks.")
            return
        by_name = {c.program.name: takers(c) for c in checked}
        show_json(
            {
                name: {
                    "kernels": list(own.kernels),
                    "lacking": {row.name: own.lacking(row) for row in SOLVERS},
                }
                for name, own in by_name.items()
            }
        )
        return
    found = [Program.load(name) for name in program_names()]
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
