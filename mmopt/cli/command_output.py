"""Where the output of a command goes, and the exit statuses.

Results go to stdout, everything else to stderr, all of it taken literally.
"""

import contextlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from mmopt.driver import Progress

# Exit statuses.
REFUTED = 1  # a saved result that does not hold
MISTAKE = 2  # in the input
BUG = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED, TERMINATED = 130, 143  # the statuses of shells for SIGINT and SIGTERM

# Characters that a terminal may obey, or show in another order, without line ends and tabs.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

JUPYTER_VARIABLE = "JPY_PARENT_PID"  # in the environment of the processes that a Jupyter kernel starts


def escaped(text: str) -> str:
    """The text with its control characters as JSON writes them: a file's name or contents may hold some."""
    return CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def say(text: str) -> None:
    """Print a text on stdout as it is, except for control characters."""
    typer.echo(escaped(text))


def console(stderr: bool = False) -> "Console":
    """A console without markup; 80 columns wide and plain when it is not a terminal.

    FORCE_COLOR does not make a terminal of a file. Jupyter sets it, and gives its ``!`` commands a terminal
    that only keeps the output, escape codes included.
    """
    from rich.console import Console
    from rich.segment import Segment

    class Literal(Console):
        """A console whose texts have no control characters; colours are styles."""

        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for part in super().render(renderable, options):
                yield part if part.control else Segment(escaped(part.text), part.style)

    is_read = (sys.stderr if stderr else sys.stdout).isatty() and JUPYTER_VARIABLE not in os.environ
    return Literal(
        stderr=stderr,
        markup=False,
        highlight=False,
        emoji=False,
        force_terminal=None if is_read else False,
    )


def show(*parts: object) -> None:
    """Print tables and texts on stdout.

    Strings, and texts with ``no_wrap``, are neither wrapped nor cut, so that they can be copied.
    """
    out = console()
    with out.capture() as captured:
        for part in parts:
            out.print(part, soft_wrap=isinstance(part, str) or bool(getattr(part, "no_wrap", False)))
    # Tables are padded to their width, which is noise in a file.
    typer.echo("\n".join(line.rstrip(" ") for line in captured.get().removesuffix("\n").split("\n")))


def spaced(tables: Iterable[object]) -> list[object]:
    """The tables with an empty line between two."""
    return [part for table in tables for part in ("", table)][1:]


def json_text(value: Any) -> str:
    """One JSON value as text."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def answer(as_json: bool, value: Any, parts: Iterable[object]) -> None:
    """Print the result on stdout: as one JSON value, or as tables and texts, made only then."""
    if as_json:
        say(json_text(value))
    else:
        show(*parts)


def note(message: str) -> None:
    """Print a line on stderr as it is: no wrapping, so that carets stay under their columns."""
    typer.echo(escaped(message), err=True)


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send output of libraries to stderr: solvers print on file descriptor 1, which is for the result."""
    sys.stdout.flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


# -- a live line on stderr while a solve takes longer than a second; without a terminal only a forecast

DELAY_SECONDS = 1.0  # before the line appears
AWAITED = ", no certified point yet"  # on the line, before there is a point
REFRESH_SECONDS = 0.25  # between refreshes


class Display:
    """The live line: a context manager, to be passed as ``progress`` to ``mmopt.solve``.

    Another thread draws the line: a solver returns to Python between its points only.

    program : its name begins the line. wanted : whether there is a live line, on a terminal. delay : seconds
        before it appears. each : print a lasting line for every point. awaited : as of ``begin``.
    """

    def __init__(
        self,
        program: str,
        console: "Console",
        wanted: bool = True,
        delay: float = DELAY_SECONDS,
        each: bool = False,
        awaited: str = AWAITED,
    ) -> None:
        self._console = console
        self._delay = delay
        self._wanted = wanted and console.is_terminal
        self._each = each
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._last: Progress | None = None
        self.begin(program, awaited)

    def begin(self, program: str, awaited: str = AWAITED) -> None:
        """Start anew with another program, or with other work for which no point is awaited."""
        self._program, self._started, self._last = program, time.monotonic(), None
        self._awaited = awaited

    def __call__(self, progress: "Progress") -> None:
        """Take note of a point, or of the predicted time, which is printed where there is no terminal."""
        if progress.predicted is None:
            self._last = progress
            if self._each:
                note(_row(progress))
            return
        from mmopt.report.table_style import duration

        long = f"about {duration(progress.predicted)}"
        long = f"up to {progress.solves:,} solves of {long}" if progress.solves > 1 else long
        self._awaited = f" of {long}{AWAITED}"
        if self._thread is None:
            note(f"{progress.program}, {progress.solver}: predicted to take {long}")

    def part(self, words: str) -> None:
        """Take note of the part of some work that begins; the first is printed where there is no terminal."""
        if self._thread is None and not self._awaited:
            note(f"{self._program}: {words}")
        self._awaited = f", {words}"

    def __enter__(self) -> "Display":
        if self._wanted:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def line(self) -> str:
        """The line as it is now."""
        from mmopt.numerics.arrays import rounded

        seconds = time.monotonic() - self._started
        p = self._last
        if p is None:
            return f"{self._program}: {seconds:.0f} s{self._awaited}"
        gap = "no bound" if p.gap is None else f"gap {rounded(p.gap, 2, up=True, layout='e')}"
        # The program that was begun may be a procedure, and the point that of one of its steps.
        step = "" if self._program.startswith(p.program) else f", {p.program}"
        return (
            f"{self._program}{step}, {p.solver}: {seconds:.0f} s, "
            f"{'-' if p.iterations is None else p.iterations} iterations, {gap}, "
            f"objective {rounded(p.objective, 6, up=p.sense == 'minimize')} (Ctrl-C keeps it)"
        )

    def _run(self) -> None:
        """Draw the line until the end, in a thread."""
        from rich.live import Live
        from rich.text import Text

        if self._stop.wait(self._delay):
            return
        with Live(console=self._console, auto_refresh=False, transient=True) as live:
            while True:
                live.update(Text(self.line(), no_wrap=True, overflow="ellipsis"), refresh=True)
                if self._stop.wait(REFRESH_SECONDS):
                    return


def _row(p: "Progress") -> str:
    """A point in one line: certified, or by the count of its solver."""
    from mmopt.numerics.arrays import rounded

    gap = "no bound" if p.gap is None else f"gap {rounded(p.gap, 2, up=True, layout='e')}"
    source = "certified" if p.certified else f"by the count of {p.solver}"
    return (
        f"{p.program}: {p.seconds:.2f} s, iteration {'-' if p.iterations is None else p.iterations}, "
        f"objective {rounded(p.objective, 6, up=p.sense == 'minimize')}, {gap}, {source}"
    )


@contextlib.contextmanager
def live(program: str = "", verbose: bool = False, awaited: str = AWAITED) -> Iterator[Display]:
    """A display on stderr; with ``verbose`` a line for each point, among the output of solvers.

    A user's function may print anything at any time: stdout is for results alone.
    """
    with (
        stdout_to_stderr(),
        Display(program, console(stderr=True), not verbose, each=verbose, awaited=awaited) as display,
    ):
        yield display
