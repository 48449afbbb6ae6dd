"""From exceptions to messages and exit statuses, around every command."""

from __future__ import annotations

import functools
import math
import os
import time
import traceback
from collections.abc import Callable
from typing import ParamSpec

import typer

from mmopt.cli.output import note
from mmopt.cli.watch import INTERRUPTED, MISTAKE, WATCH
from mmopt.errors import Error
from mmopt.limits import deadline, hard_limit

__all__ = ["BUG", "INTERRUPTED", "MISTAKE", "REFUTED", "guarded", "run_alone"]

P = ParamSpec("P")

REFUTED = 1  # a saved result that does not hold
BUG = 70  # EX_SOFTWARE of sysexits.h
# Whose time limit is that of all they do: of the others it is one solve's of several, or tables are read too.
TIMED = ("solve", "certify")


def guarded(function: Callable[P, None]) -> Callable[P, None]:
    """The same command, with errors printed on stderr and turned into an exit status."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        limit = kwargs.get("time_limit") if function.__name__ in TIMED else None
        if isinstance(limit, float):
            import mmopt.report  # noqa: F401 - takes a second or more, which is none of the work

            WATCH.end = time.monotonic() + hard_limit(limit)
        try:
            with deadline(limit if isinstance(limit, float) else None):
                function(*args, **kwargs)
            if WATCH.pressed:
                raise typer.Exit(INTERRUPTED)
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
            # A full disk and a reader that went away (``mmopt programs | head -1``) are answered by ``main``.
            if isinstance(error, typer.Exit | typer.Abort | OSError):
                raise
            note(_bug(error))
            raise typer.Exit(BUG) from None
        finally:
            WATCH.end = math.inf  # a process may have more to do than this command

    return run


def run_alone(function: Callable[P, None], name: str) -> None:
    """Run a command that is a program of its own, on ``sys.argv``."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(guarded(function))
    app(prog_name=name)


def _bug(error: Exception) -> str:
    lines = [
        f"error: a bug in mmopt ({type(error).__name__}: {error})",
        "  please report it with the command and its files; MMOPT_TRACEBACK=1 shows where it happened",
    ]
    if os.environ.get("MMOPT_TRACEBACK") == "1":
        lines.insert(0, "".join(traceback.format_exception(error)).rstrip())
    return "\n".join(lines)
