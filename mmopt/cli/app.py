"""The application: the commands of the table, each loaded when it runs; and its entry point."""

import inspect
import io
import os
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args

import typer

from mmopt.cli.command_output import MISTAKE, WATCH, guarded, limited, note
from mmopt.cli.command_table import COMMANDS, LEDGER_COMMANDS, Command

EPILOG = (
    "Results go to standard output, everything else to standard error. Exit status: 0 done; 1 a saved "
    "result does not hold (verify); 2 a mistake in the input, named with its place; 70 a bug in mmopt; 130 "
    "interrupted (solve and compare give what they have by then, all else nothing)."
)
# Commands whose time limit is for all they do: in others it is for one of several solves, or tables are read,
# too.
TIMED_COMMANDS = ("solve", "certify")


def build() -> typer.Typer:
    """A new application."""
    app = _group(
        COMMANDS,
        name="mmopt",
        help="Choose, prove and release differentially private answers to linear counting queries.",
        epilog=EPILOG,
    )
    app.callback()(_options)
    app.add_typer(
        _group(
            LEDGER_COMMANDS,
            name="ledger",
            help="What releases of one data set have cost in all, kept in a file that refuses to be "
            "overspent.",
        )
    )
    return app


def _group(commands: Mapping[str, Command], **settings: Any) -> typer.Typer:
    group = typer.Typer(
        no_args_is_help=True,
        add_completion=True,
        # Plain help and usage errors: nothing is wrapped in boxes, and help loads no more than it needs.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        **settings,
    )
    for name, command in commands.items():
        group.command(name, help=command.help)(guarded(_function_of(name, command)))
    return group


def _function_of(name: str, command: Command) -> Callable[..., None]:
    """Make a function with the command's parameters, for typer; it loads and calls that of the command."""

    def run(**arguments: Any) -> None:
        function = command.load()  # takes a second or more, which does not count
        with limited(arguments["time_limit"] if name in TIMED_COMMANDS else None):
            function(**arguments)

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=_default(kind))
        for name, kind in command.parameters.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _default(kind: Any) -> Any:
    plain, _, *default = get_args(kind)
    if default:
        return default[0]
    if plain is bool:
        return False
    return None if type(None) in get_args(plain) else inspect.Parameter.empty


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
