"""``mmopt programs``."""

from __future__ import annotations

from typing import Annotated

import typer

from mmopt.cli.command_options import Json
from mmopt.cli.command_output import answer

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
                "class": p.klass,
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
