"""Where output goes: results to stdout, everything else to stderr, all of it taken literally."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "json_text", "note", "show", "show_json", "stdout_to_stderr"]


def console(stderr: bool = False) -> Console:
    """A console that reads no markup in what it prints; 80 columns wide when it is not a terminal."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def show(*parts: object) -> None:
    """Print tables and texts on stdout.

    Strings, and texts that say ``no_wrap``, are neither wrapped nor cut, so that they can be copied.
    """
    out = console()
    with out.capture() as captured:
        for part in parts:
            whole = isinstance(part, str) or getattr(part, "no_wrap", False)
            out.print(part, soft_wrap=bool(whole))
    # Tables are padded to their width, which is noise in a file.
    typer.echo("\n".join(line.rstrip(" ") for line in captured.get().removesuffix("\n").split("\n")))


def json_text(value: Any) -> str:
    """One JSON value as text."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def show_json(value: Any) -> None:
    """Print one JSON value on stdout."""
    typer.echo(json_text(value))


def note(message: str) -> None:
    """Print a line on stderr as it is: no wrapping, so that carets stay under their columns."""
    typer.echo(message, err=True)


@contextlib.contextmanager
def stdout_to_stderr(wanted: bool = True) -> Iterator[None]:
    """Send what libraries print to stderr: solvers talk on file descriptor 1, where a result belongs."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
