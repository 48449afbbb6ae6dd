"""``python -m mmopt.comparison.worker``: the process that does the tasks of a comparison.

It solves combinations and evaluates baselines. With ``--fork`` it loads the solvers once, before the first
task that needs one, and forks for each task that arrives on standard input, passes on what the child says,
and tells how it ended; without, it does one task itself and exits. It never sees the user's main module, so
a script needs no ``if __name__ == "__main__"``.

Linux forks. macOS does not: its Accelerate framework, which numpy may use, breaks in forked children.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType
from typing import BinaryIO

import numpy as np

from mmopt.comparison.worker_processes import (
    Done,
    Ended,
    Failed,
    Predictions,
    Solving,
    Started,
    Task,
    frames,
    held,
    limited,
    peak_above,
    receive,
    send,
)
from mmopt.compiler import bind, lower
from mmopt.driver.solve_plan import Progress
from mmopt.errors import (
    Error,
    SolverError,
    TimeLimitError,
    TooLargeError,
    UnsuitableError,
    WorkloadError,
)
from mmopt.language import program_names, shipped
from mmopt.limits import Stop
from mmopt.solvers import SOLVERS
from mmopt.solvers.conic_solvers import hand_over
from mmopt.workloads import Workload

# One vocabulary for what did not get as far as a status; the first class that fits.
STOP_WORDS = (
    (WorkloadError, Stop.UNSUITABLE),
    (UnsuitableError, Stop.UNSUITABLE),
    (TooLargeError, Stop.TOO_LARGE),
    (TimeLimitError, Stop.TIME),
    (SolverError, Stop.NO_RESULT),
)


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the child that solves, not for this one
    with _streams() as (orders, answers):
        if "--fork" in sys.argv:
            is_loaded = False
            for name in program_names():  # kernels and searches know a program by comparing it with these
                shipped(name)
            while (task := receive(orders)) is not None:
                if task.needs_conic and not is_loaded:
                    _preload()
                    is_loaded = True
                send(answers, Ended(_in_child(task, orders, answers)))
        elif (task := receive(orders)) is not None:
            threading.Thread(target=_end_with, args=(orders,), daemon=True).start()
            if task.needs_conic:
                _preload()
            perform(task, answers)


@contextlib.contextmanager
def _streams() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Standard input and output for ourselves; what libraries print goes to standard error."""
    sys.stdout.flush()
    with os.fdopen(os.dup(0), "rb") as orders, os.fdopen(os.dup(1), "wb") as answers:
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, 0)
        os.close(nowhere)
        os.dup2(2, 1)
        yield orders, answers


def _preload() -> None:
    """Import what solving imports. Nothing is solved: a solver's threads would not survive a fork."""
    for row in SOLVERS:
        if row.is_installed:
            with contextlib.suppress(ImportError):  # said when this solver is asked for
                importlib.import_module(row.module)
    hand_over(lower(bind(shipped("l2_strategy"), Workload.from_matrix(np.eye(2)))), "SCS")


def perform(task: Task, answers: BinaryIO) -> None:
    """Do one task; say that it started, each certified point, how it went, and what that predicts.

    SIGINT ends it: with the best point so far once there is one, with nothing before.
    """
    started, cpu = time.monotonic(), time.process_time()
    pid = os.getpid()
    start = held(pid)
    certified = False  # or done

    def pressed(number: int, frame: FrameType | None) -> None:
        # While a solver runs, its clock listens instead of this.
        if not certified:
            raise KeyboardInterrupt

    def report(point: Progress) -> None:
        nonlocal certified
        certified = certified or point.certified
        # Seconds since the start of the process: those of the solver begin anew with each step.
        send(answers, replace(point, seconds=time.monotonic() - started))

    answer: Done | Failed | Predictions
    signal.signal(signal.SIGINT, pressed)  # before our parent knows whom to interrupt
    send(answers, Started(pid, start))
    try:
        with limited(task.memory_limit):
            found = task.result(report)
            certified = True
            send(answers, Done(found, peak_above(start, pid), time.process_time() - cpu))
            answer = Predictions(task.predictions(found))
    except Error as error:
        word = next((word for kind, word in STOP_WORDS if isinstance(error, kind)), Stop.REFUSED)
        reason = "; ".join(text for text in (error.message, error.hint) if text)
        answer = Failed(word, reason, str(error), peak_above(start, pid))
    except MemoryError:
        answer = Failed(Stop.MEMORY, "", "", peak_above(start, pid))
    except KeyboardInterrupt:
        reason = "interrupted before it had a certified point" if isinstance(task, Solving) else "interrupted"
        answer = Failed(Stop.INTERRUPTED, reason, reason, peak_above(start, pid))
    except Exception as error:  # noqa: BLE001 - the last line of defence, as in cli/command_output.py
        reason = f"a bug in mmopt ({type(error).__name__}: {error})"
        answer = Failed(Stop.CRASHED, reason, f"{reason}\n  please report it", peak_above(start, pid))
    send(answers, answer)


def _in_child(task: Task, orders: BinaryIO, answers: BinaryIO) -> int:
    """Do a task in a forked child; its exit status, or minus the signal that ended it."""
    inlet, outlet = os.pipe()
    with warnings.catch_warnings():
        # Threads that algebra libraries hold at rest; OpenBLAS ends and restarts its own around a fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _be_child(task, inlet, outlet, (orders, answers))
    os.close(outlet)
    try:
        _pass_on(inlet, orders, answers)
    finally:
        os.close(inlet)
        # It has closed its pipe, so it is about to exit; or our parent is gone, so it has to.
        if _is_over(orders):
            os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status


def _be_child(task: Task, inlet: int, outlet: int, others: tuple[BinaryIO, BinaryIO]) -> None:
    status = 1
    try:
        os.close(inlet)
        for other in others:
            os.close(other.fileno())
        with os.fdopen(outlet, "wb") as answers:
            perform(task, answers)
        status = 0
    finally:
        sys.stderr.flush()
        os._exit(status)  # the parent's buffers and exit handlers are not the child's to run


def _pass_on(inlet: int, orders: BinaryIO, answers: BinaryIO) -> None:
    """Pass on whole messages, so that a child that dies in the middle of one spoils nothing."""
    buffer = bytearray()
    while not _is_over(orders, inlet):
        chunk = os.read(inlet, 1 << 16)
        if not chunk:
            return
        buffer += chunk
        for frame in frames(buffer):
            answers.write(frame)
        answers.flush()


def _is_over(orders: BinaryIO, inlet: int | None = None) -> bool:
    """Whether our parent is gone (nothing else arrives during a task); waits for ``inlet`` if given."""
    descriptors = [orders.fileno(), *([] if inlet is None else [inlet])]
    ready, _, _ = select.select(descriptors, [], [], 0 if inlet is None else None)
    return orders.fileno() in ready


def _end_with(orders: BinaryIO) -> None:
    """End this process when its parent has gone. (A buffered read would keep the file from being closed.)"""
    os.read(orders.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    main()
