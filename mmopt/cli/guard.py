"""From exceptions to messages and exit statuses, around every command."""

from __future__ import annotations

import errno
import functools
import os
import traceback
from collections.abc import Callable
from typing import ParamSpec

import typer

from mmopt.cli.output import note
from mmopt.errors import Error

__all__ = ["BUG", "INTERRUPTED", "MISTAKE", "REFUTED", "guarded"]

P = ParamSpec("P")

REFUTED = 1  # a saved result that does not hold
MISTAKE = 2
BUG = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # as shells say for SIGINT


def guarded(function: Callable[P, None]) -> Callable[P, None]:
    """The same command, with errors printed on stderr and turned into an exit status."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except Error as error:
            note(f"error: {error}")
            raise typer.Exit(MISTAKE) from None
        except KeyboardInterrupt:
            note("interrupted, nothing written")
            raise typer.Exit(INTERRUPTED) from None
        except MemoryError:
            note("error: not enough memory\n  'mmopt solve WORKLOAD --dry-run' says what a problem needs")
            raise typer.Exit(MISTAKE) from None
        except Exception as error:  # the last line of defence: no traceback for users
            if isinstance(error, typer.Exit | typer.Abort) or _is_broken_pipe(error):
                raise
            note(_bug(error))
            raise typer.Exit(BUG) from None

    return run


def _is_broken_pipe(error: Exception) -> bool:
    """Whether the reader of stdout went away (``mmopt programs | head -1``); typer ends quietly then."""
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _bug(error: Exception) -> str:
    lines = [
        f"error: a bug in mmopt ({type(error).__name__}: {error})",
        "  please report it with the command and its files; MMOPT_TRACEBACK=1 shows where it happened",
    ]
    if os.environ.get("MMOPT_TRACEBACK") == "1":
        lines.insert(0, "".join(traceback.format_exception(error)).rstrip())
    return "\n".join(lines)
