"""Around every command: exceptions become messages and exit statuses; Ctrl-C and limits are watched over."""

from __future__ import annotations

import functools
import math
import os
import select
import signal
import socket
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec

import typer

from mmopt.cli.command_output import note
from mmopt.errors import Error
from mmopt.limits import deadline, hard_limit

__all__ = ["BUG", "INTERRUPTED", "MISTAKE", "REFUTED", "WATCH", "guarded", "run_alone"]

P = ParamSpec("P")

REFUTED = 1  # a saved result that does not hold
MISTAKE = 2
BUG = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # as shells say for SIGINT
# Whose time limit is that of all they do: of the others it is one solve's of several, or tables are read too.
TIMED_COMMANDS = ("solve", "certify")
WAIT_SECONDS = 0.2  # seconds of waiting at a time
GRACE_SECONDS = 1.0  # seconds that the main thread has to end by itself


@dataclass
class Watch:
    """Answers Ctrl-C and ends the process at its limit, in a thread, while the main one is inside a solver.

    ``end``: of everything (``time.monotonic``); ``pressed``: how often Ctrl-C was.
    """

    end: float = math.inf
    pressed: int = 0

    def begin(self) -> None:
        """Watch from now on; called by the main thread of a process of its own."""
        inlet, outlet = socket.socketpair()
        outlet.setblocking(False)
        signal.set_wakeup_fd(outlet.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(inlet, outlet), daemon=True).start()

    def _watch(self, inlet: socket.socket, outlet: socket.socket) -> None:
        # ``outlet`` is held so that it stays open. The main thread looks at the limit itself, but not inside
        # native code.
        while time.monotonic() < self.end + GRACE_SECONDS:
            if not select.select([inlet], [], [], WAIT_SECONDS)[0]:
                continue
            self.pressed += inlet.recv(64).count(signal.SIGINT)
            time.sleep(GRACE_SECONDS / 2)  # mostly the main thread ends meanwhile, and this one with it
            if self.pressed > 1:
                note("interrupted, nothing written")
                os._exit(INTERRUPTED)
            if self.pressed:
                note("interrupted: ending with what there is; Ctrl-C again ends at once")
        note("error: stopped at the time limit, without a result\n  allow more time, or ask for less")
        os._exit(MISTAKE)


WATCH = Watch()


def guarded(function: Callable[P, None]) -> Callable[P, None]:
    """The same command, with errors printed on stderr and turned into an exit status."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        limit = kwargs.get("time_limit") if function.__name__ in TIMED_COMMANDS else None
        if isinstance(limit, float):
            import mmopt.report.every_report  # noqa: F401 - takes a second or more, which is none of the work

            WATCH.end = time.monotonic() + hard_limit(limit)
        try:
            with deadline(limit if isinstance(limit, float) else None), warnings.catch_warnings():
                # A line of somebody's code says nothing to who asked for a result.
                warnings.showwarning = lambda message, *_where, **_more: note(f"note: {message}")
                function(*args, **kwargs)
            if WATCH.pressed:
                raise typer.Exit(INTERRUPTED)
        except Error as error:
            note(f"error: {error}")
            raise typer.Exit(MISTAKE) from None
        except KeyboardInterrupt as error:
            note("interrupted, nothing written")
            _note_added(error)
            raise typer.Exit(INTERRUPTED) from None
        except MemoryError as error:
            note("error: not enough memory\n  'mmopt solve WORKLOAD --dry-run' says what a problem needs")
            _note_added(error)
            raise typer.Exit(MISTAKE) from None
        except Exception as error:  # the last line of defence: no traceback for users
            # A full disk and a reader that went away (``mmopt programs | head -1``) are answered by ``main``.
            if isinstance(error, OSError):
                _note_added(error)
            if isinstance(error, typer.Exit | typer.Abort | OSError):
                raise
            note(_bug(error))
            _note_added(error)
            raise typer.Exit(BUG) from None
        finally:
            WATCH.end = math.inf  # a process may have more to do than this command

    return run


def run_alone(function: Callable[P, None], name: str) -> None:
    """Run a command that is a program of its own, on ``sys.argv``."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(guarded(function))
    app(prog_name=name)


def _note_added(error: BaseException) -> None:
    """What was added to an exception on its way (PEP 678): what had been spent by then."""
    for text in getattr(error, "__notes__", ()):
        note(f"  {text}")


def _bug(error: Exception) -> str:
    lines = [
        f"error: a bug in mmopt ({type(error).__name__}: {error})",
        "  please report it with the command and its files; MMOPT_TRACEBACK=1 shows where it happened",
    ]
    if os.environ.get("MMOPT_TRACEBACK") == "1":
        lines.insert(0, "".join(traceback.format_exception(error)).rstrip())
    return "\n".join(lines)
