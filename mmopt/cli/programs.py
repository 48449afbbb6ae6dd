"""``mmopt programs``."""

from __future__ import annotations

from mmopt.cli.options import Json
from mmopt.cli.output import show, show_json

__all__ = ["programs"]


def programs(as_json: Json = False) -> None:
    """List the programs that are shipped."""
    from mmopt.language import Program, program_names
    from mmopt.report import programs_table

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
