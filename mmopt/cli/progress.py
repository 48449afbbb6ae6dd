"""A live line on stderr while a solve takes longer than a second; off a terminal only if that is long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mmopt.cli.output import console, note, stdout_to_stderr

if TYPE_CHECKING:
    from rich.console import Console

    from mmopt.driver import Progress
    from mmopt.language import Program
    from mmopt.results import Solution
    from mmopt.workloads import Workload

__all__ = ["Display", "live", "run_solve"]

DELAY = 1.0  # seconds before it appears
AWAITED = ", no certified point yet"
EVERY = 0.25  # seconds between refreshes


class Display:
    """A context manager, to be passed as ``progress`` to ``mmopt.solve``.

    The line is drawn by a thread of its own: a solver returns to Python between its points only.
    """

    def __init__(self, program: str, console: Console, wanted: bool = True, delay: float = DELAY) -> None:
        self._program = program
        self._console = console
        self._delay = delay
        self._wanted = wanted and console.is_terminal
        self._started = time.monotonic()
        self._last: Progress | None = None
        self._awaited = AWAITED
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, program: str, awaited: str = AWAITED) -> None:
        """Start anew with another program, or with something else of which nothing is awaited."""
        self._program, self._started, self._last = program, time.monotonic(), None
        self._awaited = awaited

    def __call__(self, progress: Progress) -> None:
        """Take note of a point, or of how long it will take: off a terminal that is printed."""
        if progress.predicted is None:
            self._last = progress
            return
        from mmopt.report.style import duration

        long = f"about {duration(progress.predicted)}"
        self._awaited = f" of {long}{AWAITED}"
        if self._thread is None:
            note(f"{progress.program}, {progress.solver}: predicted to take {long}")

    def __enter__(self) -> Display:
        if self._wanted:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def line(self) -> str:
        """What is shown now."""
        from mmopt.numerics.outward import rounded

        seconds = time.monotonic() - self._started
        p = self._last
        if p is None:
            return f"{self._program}: {seconds:.0f} s{self._awaited}"
        gap = "no bound" if p.gap is None else f"gap {rounded(p.gap, 2, up=True, layout='e')}"
        return (
            f"{p.program}, {p.solver}: {seconds:.0f} s, {p.iterations} iterations, {gap}, "
            f"objective {rounded(p.objective, 6, up=p.sense == 'minimize')} (Ctrl-C keeps it)"
        )

    def _run(self) -> None:
        from rich.live import Live
        from rich.text import Text

        if self._stop.wait(self._delay):
            return
        with Live(console=self._console, auto_refresh=False, transient=True) as live:
            while True:
                live.update(Text(self.line(), no_wrap=True, overflow="ellipsis"), refresh=True)
                if self._stop.wait(EVERY):
                    return


@contextmanager
def live(program: str = "", verbose: bool = False) -> Iterator[Display]:
    """A display on stderr; with ``verbose`` what solvers print is there instead."""
    with stdout_to_stderr(verbose), Display(program, console(stderr=True), not verbose) as display:
        yield display


def run_solve(
    workload: Workload,
    program: Program,
    solver: str | None,
    givens: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> Solution:
    """Solve with a live display; what the solver prints goes to stderr."""
    from mmopt.driver import solve

    with live(program.name, bool(options.get("verbose"))) as display:
        return solve(workload, program, solver=solver, givens=givens, progress=display, **options)
