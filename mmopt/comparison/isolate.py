"""Run tasks one after another, each in a process of its own that cannot take the rest along."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import signal
import subprocess
import threading
import time
from typing import IO, Any

from mmopt.comparison.compared_outcome import Costed, Outcome, Run, costs_of, outcome_of
from mmopt.comparison.worker_processes import (
    Costing,
    Ended,
    Solving,
    Started,
    Task,
    peak_above,
    receive,
    send,
)
from mmopt.driver.solve_plan import Report
from mmopt.errors import SolverError
from mmopt.limits import hard_limit
from mmopt.stop_reasons import Stop
from mmopt.worker_start import FORKS, WorkerProcess, said_file, start_worker

__all__ = ["Isolated"]

LOADING_SECONDS = 300.0  # seconds for a process to load the solvers
HANDOVER_SECONDS = 3.0  # seconds after Ctrl-C to hand over what there is
MOST_BYTES_READ = 10_000  # bytes of what a process wrote that are looked at
WAIT_SECONDS = 0.2  # seconds of waiting at a time: on Windows a longer wait would not see Ctrl-C


class Isolated:
    """A context manager that gives an outcome for each task, whatever becomes of its process.

    Ctrl-C ends the task that runs: it hands over the best certified point that it has, and
    ``interrupted`` is true from then on. A second one does not wait. No process outlives the block, nor
    this process, however it ends.

    verbose : let the processes write to this one's standard error.
    forks : fork for each task from a process that has loaded the solvers; else a fresh process for each.
    threads : of dense algebra.
    worker : a process that was started for this, as verbose as this; by default one is when it is needed.
    """

    def __init__(
        self,
        verbose: bool = False,
        forks: bool = FORKS,
        threads: int = 1,
        worker: WorkerProcess | None = None,
    ) -> None:
        self.interrupted = False
        self._forks = forks
        self._threads = threads
        self._verbose = verbose
        self._waiting = worker
        self._server: WorkerProcess | None = None
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._reader: threading.Thread | None = None
        self._said: IO[bytes] | None = None

    def __enter__(self) -> Isolated:
        self._said = said_file(self._verbose) if self._waiting is None else self._waiting.said
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        if self._said is not None:
            self._said.close()

    def run(self, task: Solving, report: Report | None = None) -> Outcome:
        """Solve a combination; ``report`` is called with each certified point.

        Its process is killed at the ``hard_limit`` of the task's time limit.

        Raises
        ------
        SolverError : no process can be started here.
        """
        run = Run(task, report)
        return outcome_of(run, *self._follow(run, hard_limit(task.time_limit)))

    def cost(self, task: Costing) -> Costed:
        """What a baseline costs, or the reason why that is not known; killed at the time limit.

        Raises
        ------
        SolverError : no process can be started here.
        """
        run = Run(task)
        return costs_of(run, *self._follow(run, task.time_limit))

    def _follow(self, run: Run, limit: float) -> tuple[int, str]:
        """Do a task, for ``limit`` seconds at most: how its process ended, and what it wrote."""
        written = 0 if self._said is None else os.fstat(self._said.fileno()).st_size
        try:
            self._begin(run.task)
        except KeyboardInterrupt:
            self.interrupted = True
            self._kill(run, Stop.INTERRUPTED)
            return 0, ""
        deadline = time.monotonic() + LOADING_SECONDS
        while True:
            try:
                message = self._next(deadline)
                run.take(message)
                if isinstance(message, Ended):
                    break
                if isinstance(message, Started):
                    deadline = run.started + limit
                if message is None:
                    self._kill(run, run.killed or Stop.TIME)
                    deadline = math.inf
            except KeyboardInterrupt:
                deadline = self._interrupt(run, deadline)
        if message.whole:
            self._kill()
        said = self._said_since(written)
        if run.process is None and not run.killed:
            words = said.strip().splitlines()
            raise SolverError(
                f"the process that solves ended with status {message.status} before it began",
                hint=words[-1].strip() if words else "",
            )
        return message.status, said

    def _begin(self, task: Task) -> None:
        """Send the task to the process that waits for one, or to a new one."""
        if self._server is None:
            waiting, self._waiting = self._waiting, None
            self._server = waiting or start_worker(self._said, self._forks, self._threads)
            self._messages = queue.SimpleQueue()
            process = self._server.process
            self._reader = threading.Thread(target=_read, args=(process, self._messages), daemon=True)
            self._reader.start()
        orders = self._server.process.stdin
        assert orders is not None
        with contextlib.suppress(BrokenPipeError):  # it died; its end is among the messages
            send(orders, task)

    def _next(self, deadline: float) -> Any:
        """The next message, or None when there is none before the deadline."""
        while True:
            left = deadline - time.monotonic()
            try:
                return self._messages.get(timeout=min(max(left, 0.0), WAIT_SECONDS))
            except queue.Empty:
                if left <= 0:
                    return None

    def _interrupt(self, run: Run, deadline: float) -> float:
        """Ask the process for what it has, once; the deadline from now on."""
        if self.interrupted or run.process is None:
            self.interrupted = True
            self._kill(run, Stop.INTERRUPTED)
            return math.inf
        self.interrupted = True
        run.killed = Stop.INTERRUPTED
        with contextlib.suppress(ProcessLookupError):
            os.kill(run.process.pid, signal.SIGINT)
        return min(deadline, time.monotonic() + HANDOVER_SECONDS)

    def _kill(self, run: Run | None = None, why: str = "") -> None:
        """End all processes, and note in the run why."""
        if run is not None:
            run.killed, run.ended = why, time.monotonic()
            if run.process is not None:
                run.memory = peak_above(run.process.memory, run.process.pid)
        server, self._server = self._server, None
        if server is None:
            return
        server.end()
        assert self._reader is not None
        self._reader.join()
        server.close()

    def _said_since(self, position: int) -> str:
        """The end of what the processes wrote since then."""
        if self._said is None:
            return ""
        self._said.seek(max(position, os.fstat(self._said.fileno()).st_size - MOST_BYTES_READ))
        return self._said.read().decode("utf-8", errors="replace")


def _read(process: subprocess.Popen[bytes], messages: queue.SimpleQueue[Any]) -> None:
    """Put what the process says, and at last its end, into the queue."""
    assert process.stdout is not None
    while (message := receive(process.stdout)) is not None:
        messages.put(message)
    messages.put(Ended(process.wait(), whole=True))
