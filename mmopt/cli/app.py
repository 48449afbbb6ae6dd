"""The application: its commands in the order in which help lists them."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from mmopt.cli.command_output import MISTAKE, WATCH, guarded, note
from mmopt.cli.commands.accuracy_and_budget import accuracy, budget
from mmopt.cli.commands.compare import compare
from mmopt.cli.commands.explain import explain
from mmopt.cli.commands.init_and_check import check, init
from mmopt.cli.commands.ledger import build_ledger
from mmopt.cli.commands.lists import baselines, programs, templates
from mmopt.cli.commands.proofs import certify, export, verify
from mmopt.cli.commands.releases import refine, release, simulate
from mmopt.cli.commands.report import report
from mmopt.cli.commands.show import show
from mmopt.cli.commands.solve_and_tune import solve, tune

EPILOG = (
    "Results go to standard output, everything else to standard error. Exit status: 0 done; 1 a saved "
    "result does not hold (verify); 2 a mistake in the input, named with its place; 70 a bug in mmopt; 130 "
    "interrupted (solve and compare give what they have by then, all else nothing)."
)


def build() -> typer.Typer:
    """A new application."""
    app = typer.Typer(
        name="mmopt",
        help="Choose, prove and release differentially private answers to linear counting queries.",
        epilog=EPILOG,
        no_args_is_help=True,
        add_completion=True,
        # Plain help and usage errors: nothing is wrapped in boxes, and help loads no more than it needs.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for command in (
        programs,
        show,
        explain,
        init,
        check,
        accuracy,
        budget,
        solve,
        export,
        certify,
        verify,
        compare,
        baselines,
        tune,
        templates,
        report,
        release,
        refine,
        simulate,
    ):
        app.command()(guarded(command))
    app.add_typer(build_ledger())
    return app


def main() -> None:
    """Run the command in ``sys.argv`` and exit with its status."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal without Unicode gets escapes instead of a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    WATCH.begin()
    try:
        build()(prog_name="mmopt")
    except OSError as error:
        note(f"error: {error}")
        # Python would try again to write buffered output at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(MISTAKE)


def _version(wanted: bool) -> None:
    if wanted:
        from mmopt import __version__

        typer.echo(f"mmopt {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the application itself."""
