"""``mmopt verify SOLUTION WORKLOAD``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mmopt.cli.command_guard import REFUTED
from mmopt.cli.command_inputs import read_request
from mmopt.cli.command_options import Json, WorkloadFile
from mmopt.cli.command_output import answer

__all__ = ["verify"]


def verify(
    solution: Annotated[
        Path, typer.Argument(metavar="SOLUTION", help="Saved by --out or Solution.save (.npz).")
    ],
    workload: WorkloadFile,
    program: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="What the saved program is compared with. Default: the one shipped under its name.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Recheck a saved solution: every figure is recomputed from its variables, or from its factors.

    No solver is needed; only the bound of a strategy in factors is searched for anew.

    Exit status 0 when every figure holds, 1 when one does not, 2 when the file cannot be read.
    """
    from mmopt.proof import verify as verify_solution
    from mmopt.report import verification_report

    found = verify_solution(solution, read_request(workload).workload, program)
    answer(as_json, found.summary(), [verification_report(found)])
    if not found.holds:
        raise typer.Exit(REFUTED)
