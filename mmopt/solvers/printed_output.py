"""What solvers print: dropped, or kept and read, where a table of their iterations is all that they tell.

A line that cannot be read is left out: a solver which prints something else next year only loses rows.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import io
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

from mmopt.solvers.solver_protocol import Iteration

__all__ = ["LINES", "listening", "quiet_output", "read_lines", "read_log"]

MOST_READ = 2000  # iterations of one log
PRINT_BELOW = ("QOCO", "SDPA")  # by C, not through Python's standard output
NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"


Listened = tuple[dict[str, Any], list[Iteration]]


def _line(*columns: str, between: str, first: str = "") -> re.Pattern[str]:
    """A line of numbers; those with a name are kept, the others are called "-"."""
    numbers = (rf"({NUMBER})" if name == "-" else rf"(?P<{name}>{NUMBER})" for name in columns)
    return re.compile(rf"^[ \t]*{first}[ \t]*{between.join(numbers)}\b", re.MULTILINE)


# By cvxpy's name: what a line of its table looks like.
LINES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "CVXOPT": _line("number", "objective", "bound", "-", "primal", "dual", between=r":?[ \t]+"),
        # No bound, but the gap, which is that of the objective from it.
        "QOCO": _line("number", "objective", "primal", "dual", "gap", between=r"[ \t]*\|[ \t]*", first=r"\|"),
        # thetaP and thetaD: residuals relative to those at its start.
        "SDPA": _line("number", "-", "primal", "dual", "objective", "bound", between=r"[ \t]+"),
    }
)


def read_lines(solver: str, text: str) -> list[Iteration]:
    """The iterations in what a solver printed, in its order; none where ``LINES`` has no row for it."""
    found = []
    for line in LINES[solver].finditer(text) if solver in LINES else ():
        told = line.groupdict()
        number = told.pop("number")
        values = {name: float(value) for name, value in told.items()}
        bound = values["objective"] - values["gap"] if "gap" in values else values["bound"]
        if number.isdecimal():
            numbers = (values["objective"], bound, values["primal"], values["dual"])
            found.append(Iteration(int(number), None, *numbers))
    return found


def read_log(path: Path, began: float) -> list[Iteration]:
    """Iterations in a log of SCS, evenly spaced if there are many; it counts seconds from ``began``."""
    found: list[Iteration] = []
    every, last = 1, None
    with path.open(encoding="utf-8", newline="") as lines:
        for place, last in enumerate(csv.DictReader(lines)):
            if place % every == 0:
                found += _logged(last, began)
            if len(found) > MOST_READ:  # the log of a long run has a hundred megabytes
                found, every = found[::2], 2 * every
    ended = [] if last is None else _logged(last, began)
    return found if found[-1:] == ended else found + ended


def _logged(row: Mapping[str, str], began: float) -> list[Iteration]:
    """The iteration in a row of the log; none where it cannot be read."""
    try:
        values = [float(row[name]) for name in ("pobj", "dobj", "res_pri", "res_dual")]
        return [Iteration(int(row["iter"]), began + float(row["time"]), *values)]
    except (KeyError, TypeError, ValueError):
        return []


@contextlib.contextmanager
def quiet_output(into: int | None = None) -> Iterator[None]:
    """What is written to standard output below Python goes nowhere; Python's own is written before.

    into : the descriptor of a file that takes it instead.
    """
    runtime = ctypes.CDLL(None if os.name == "posix" else "ucrtbase")
    sys.stdout.flush()
    runtime.fflush(None)
    kept, other = os.dup(1), os.open(os.devnull, os.O_WRONLY) if into is None else os.dup(into)
    try:
        os.dup2(other, 1)
        yield
    finally:
        runtime.fflush(None)  # a pipe is buffered: without this the text comes out later
        os.dup2(kept, 1)
        os.close(kept)
        os.close(other)


class _Both(io.StringIO):
    """Text that is kept and written on."""

    def __init__(self, on: TextIO) -> None:
        super().__init__()
        self._on = on

    def write(self, text: str) -> int:
        self._on.write(text)
        return super().write(text)


@contextlib.contextmanager
def listening(solver: str, began: float, *, asked: bool, show: bool) -> Iterator[Listened]:
    """Options with which a solver tells its iterations, and a list that is filled afterwards.

    What is written to standard output meanwhile is kept: that of the whole process, of other threads as well.

    solver : cvxpy's name. began : seconds of the clock. asked : without it there are no options, and nothing
    is read. show : write it out all the same; what is printed below Python, afterwards.
    """
    found: list[Iteration] = []
    remarks = logging.getLogger("__cvxpy__")  # they go past sys.stdout where that was replaced
    level = remarks.level
    is_below = solver in PRINT_BELOW
    above = _Both(sys.stdout) if show and not is_below else io.StringIO()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as below:
        log = Path(folder, "scs.csv")
        quiet = quiet_output(below.fileno()) if is_below else contextlib.nullcontext()
        try:
            if not show:
                remarks.setLevel(logging.WARNING)
            with quiet, contextlib.redirect_stdout(above):
                options = {"log_csv_filename": str(log)} if solver == "SCS" else {"verbose": True}
                yield options if asked else {}, found
        finally:
            remarks.setLevel(level)
            below.seek(0)
            text = below.read().decode(errors="replace") + above.getvalue()
            if asked:
                found += read_log(log, began) if log.exists() else read_lines(solver, text)
            if show and is_below:
                sys.stdout.write(text)
