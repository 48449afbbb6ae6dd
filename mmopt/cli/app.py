"""The application: the commands of the table, each loaded when it runs, and its entry point.

Every command is wrapped: exceptions become messages and exit statuses, and a thread watches Ctrl-C and
limits.
"""

import contextlib
import functools
import inspect
import io
import math
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, ParamSpec, get_args

import typer
from typer.core import TyperGroup

from mmopt.cli.command_output import BUG, INTERRUPTED, MISTAKE, TERMINATED, note
from mmopt.cli.command_table import COMMANDS, LEDGER_COMMANDS, PANELS, Command
from mmopt.errors import LAST_WORDS, Error
from mmopt.limits import deadline, hard_limit

EPILOG = (
    "Results go to standard output, everything else to standard error. Exit status: 0 success; 1 a saved "
    "result does not hold (verify); 2 an error in the input, reported with its place; 70 a bug in mmopt; 130 "
    "interrupted. An interrupted solve or compare returns what it has so far. A release that was already "
    "charged is completed, and says so. Other commands return nothing."
)
# Commands whose time limit is for all they do. In others it is for each of several solves, or tables are read
# as well.
TIMED_COMMANDS = ("solve", "certify")


def build() -> typer.Typer:
    """A new application."""
    app = _group(
        COMMANDS,
        name="mmopt",
        cls=CommandsByJob,
        help="Choose, prove and release differentially private answers to linear counting queries.",
        epilog=EPILOG,
    )
    app.callback()(_options)
    app.add_typer(
        _group(
            LEDGER_COMMANDS,
            name="ledger",
            help="Keep track of the privacy that releases of a data set spend.\n\n"
            "A release that would exceed the total is refused.",
        )
    )
    return app


class CommandsByJob(TyperGroup):
    """A group of commands whose help lists them by ``PANELS``, each summary whole."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the panels, their summaries at the same column."""
        widest = max(map(len, self.commands))
        for title, names in PANELS.items():
            with formatter.section(title):
                # A limit as long as the text: a summary is wrapped on a narrow screen, and never cut.
                rows = [(f"{name:{widest}}", self.commands[name].get_short_help_str(999)) for name in names]
                formatter.write_dl(rows)


def _group(commands: Mapping[str, Command], **settings: Any) -> typer.Typer:
    """A group of commands; ``settings`` are further ones of typer."""
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
    """The default of a parameter, as ``Command`` says; ``kind`` is its type with annotations."""
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
    except SystemExit as ended:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what was to be said is said; only Python ends now
        sys.exit(WATCH.interrupted if ended.code == INTERRUPTED else ended.code)
    except OSError as error:
        note(f"error: {error}")
        # Python would try again to write buffered output at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(MISTAKE)


def _version(wanted: bool) -> None:
    """Print the version and exit, where --version was given."""
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


P = ParamSpec("P")
WAIT_SECONDS = 0.2  # between two looks at the clock
GRACE_SECONDS = 1.0  # in which the main thread may end by itself
TERM_SECONDS = 8.0  # the same after SIGTERM; containers are killed after ten


@dataclass
class Watch:
    """A thread that answers Ctrl-C and ends the process at its limit, while the main one is inside a solver.

    ``end``: the time at which the process is ended (``time.monotonic``); ``pressed``: how often Ctrl-C was
    pressed; ``interrupted``: the exit status after it. SIGTERM is Ctrl-C, and again some seconds later.
    """

    end: float = math.inf
    pressed: int = 0
    interrupted: int = INTERRUPTED

    def begin(self) -> None:
        """Watch from now on; called by the main thread of a process that runs one command."""
        # Behind & in a script Ctrl-C is ignored, but where a solver heeds it.
        signal.signal(
            signal.SIGTERM,
            lambda *where: (
                signal.default_int_handler(*where)
                if signal.getsignal(signal.SIGINT) is signal.SIG_IGN
                else signal.raise_signal(signal.SIGINT)
            ),
        )
        inlet, outlet = socket.socketpair()
        outlet.setblocking(False)
        signal.set_wakeup_fd(outlet.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(inlet, outlet), daemon=True).start()

    def _watch(self, inlet: socket.socket, outlet: socket.socket) -> None:
        """Read the numbers of signals that Python writes to ``outlet``, until the end."""
        # ``outlet`` is an argument so that it stays open. The main thread checks the limit itself, but not
        # inside native code.
        killed = math.inf
        while time.monotonic() < self.end + GRACE_SECONDS:
            received = inlet.recv(64) if select.select([inlet], [], [], WAIT_SECONDS)[0] else b""
            self.pressed += received.count(signal.SIGINT)
            if signal.SIGTERM in received:
                self.interrupted, killed = TERMINATED, time.monotonic() + TERM_SECONDS
            if received:
                time.sleep(GRACE_SECONDS / 2)  # usually the main thread ends meanwhile, and this one with it
            if self.pressed > 1 or time.monotonic() >= killed:
                _note_interrupted(chain.from_iterable(LAST_WORDS))
                os._exit(self.interrupted)
            if received and self.pressed:
                note("interrupted: ending with what there is; Ctrl-C again ends at once")
        note("error: stopped at the time limit, without a result\n  allow more time, or ask for less")
        os._exit(MISTAKE)


WATCH = Watch()


@contextlib.contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Limit the time of the block; the watch ends a process that goes on after the ``hard_limit``."""
    WATCH.end = math.inf if seconds is None else time.monotonic() + hard_limit(seconds)
    try:
        with deadline(seconds):
            yield
    finally:
        WATCH.end = math.inf  # a process may have more to do than this command


def guarded(function: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command: errors are printed on stderr and turned into an exit status."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with warnings.catch_warnings():
                # The line of code of a warning means nothing to the user of a command.
                warnings.showwarning = lambda message, *_where, **_more: note(f"note: {message}")
                function(*args, **kwargs)
            if WATCH.pressed:
                raise typer.Exit(INTERRUPTED)
        except Error as error:
            note(f"error: {error}")
            raise typer.Exit(MISTAKE) from None
        except KeyboardInterrupt as error:
            _note_interrupted(getattr(error, "__notes__", ()))
            raise typer.Exit(INTERRUPTED) from None
        except MemoryError as error:
            note("error: not enough memory\n  'mmopt solve WORKLOAD --dry-run' says what a problem needs")
            _note_added(error)
            raise typer.Exit(MISTAKE) from None
        except Exception as error:  # the last line of defence: no traceback for users
            # ``main`` handles a full disk, and a reader that has gone (``mmopt programs | head -1``).
            if isinstance(error, OSError):
                _note_added(error)
            if isinstance(error, typer.Exit | typer.Abort | OSError):
                raise
            if os.environ.get("MMOPT_TRACEBACK") == "1":
                note("".join(traceback.format_exception(error)).rstrip())
            note(
                f"error: a bug in mmopt ({type(error).__name__}: {error})\n"
                "  please report it with the command and its files; MMOPT_TRACEBACK=1 shows where it happened"
            )
            _note_added(error)
            raise typer.Exit(BUG) from None

    return run


def run_alone(function: Callable[P, None], name: str) -> None:
    """Run a command as a separate program, on ``sys.argv``."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(guarded(function))
    app(prog_name=name)


def _note_added(error: BaseException) -> None:
    """Print the notes that were added to an exception on its way (PEP 678): what had been spent by then."""
    for text in getattr(error, "__notes__", ()):
        note(f"  {text}")


def _note_interrupted(words: Iterable[str]) -> None:
    """Say that Ctrl-C ended the command, and what is to be said of a release even so."""
    texts = list(dict.fromkeys(words))
    note("\n  ".join(["interrupted", *texts]) if texts else "interrupted, nothing written")
