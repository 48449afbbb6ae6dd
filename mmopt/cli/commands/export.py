"""``mmopt export PROGRAM WORKLOAD``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmopt.cli.command_inputs import check_out, note_request, read_givens, read_request
from mmopt.cli.command_options import Given, OneProgram, WorkloadFile
from mmopt.cli.command_output import note, say
from mmopt.errors import OptionError

if TYPE_CHECKING:
    from mmopt.exchange.export import Format

__all__ = ["export"]


def export(
    program: OneProgram,
    workload: WorkloadFile,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="cbf|sdpa|mps|npz",
            help="Conic Benchmark Format, SDPA sparse, free MPS, or NumPy arrays. Default: by the ending of "
            "--out; on standard output cbf.",
        ),
    ] = None,
    given: Given = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write there; an existing file is replaced. Default: standard output."
        ),
    ] = None,
) -> None:
    """Write the compiled problem into a file that other programs read: not reduced, in its own units.

    A comment says which column is which variable. A point found elsewhere is judged by mmopt certify --point.
    """
    from mmopt.exchange import FORMATS, export as exported
    from mmopt.language import Program

    check_out(out, example="problem.cbf")
    if form is None:
        form = "cbf" if out is None else _by_ending(out, FORMATS.values())
    if form == "npz" and out is None:
        raise OptionError("--format npz is no text", hint="name a file with --out")
    request = read_request(workload)
    parsed = Program.load(program)
    givens = read_givens(given, parsed, request.workload)
    found = exported(request.workload, parsed, form, givens=givens)
    note_request(request)
    if out is not None:
        m, n = found.problem.A.shape
        note(f"saved: {found.save(out)} ({form}: {n:,} columns, {m:,} rows)")
    elif isinstance(found.content, str):
        say(found.content.removesuffix("\n"))


def _by_ending(out: Path, formats: Iterable[Format]) -> str:
    """The format whose ending the file has; OptionError for another ending."""
    for row in formats:
        if out.name.lower().endswith(row.suffixes):
            return row.name
    known = "; ".join(f"{', '.join(row.suffixes)} ({row.name})" for row in formats)
    raise OptionError(
        f"the ending of '{out.name}' says no format", hint=f"name one with --format; endings: {known}"
    )
