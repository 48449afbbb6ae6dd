"""The command line within this process: its commands are made once, which takes longer than most run."""

from __future__ import annotations

from functools import cache

import click
import typer
from click.testing import CliRunner, Result

from mmopt.cli.app import build


@cache
def commands() -> click.Command:
    return typer.main.get_command(build())


def called(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(commands(), [str(a) for a in arguments], input=stdin, catch_exceptions=False)
