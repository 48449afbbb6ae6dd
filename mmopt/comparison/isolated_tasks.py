"""Tasks of a comparison, each run in a process of its own that cannot take the rest along.

``Isolated`` runs tasks one after another, and ends those that pass a limit. An ``Outcome`` is what became of
a combination (a program, a solver, a tolerance): its solution, or in words how its process ended. ``Costed``
is what became of a baseline. The other end, which does the tasks, is ``worker.py``.
"""

import contextlib
import math
import os
import queue
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mmopt.comparison.predicted_errors import NOT_PREDICTED, Predicted
from mmopt.comparison.worker import (
    ComparedTask,
    Costing,
    Done,
    Failed,
    Predictions,
    Solving,
    Started,
    WorkerTask,
    bug_words,
)
from mmopt.comparison_process import FORKS, KEEPS_LIMITS, Ended, Worker, peak_above
from mmopt.display_base_classes import Displayed
from mmopt.driver.task_and_plan import Progress, Report
from mmopt.errors import OptionError, ResultError, SolverError
from mmopt.limits import Stop, hard_limit
from mmopt.numerics.arrays import rounded
from mmopt.results import Solution
from mmopt.results.solution_rows_and_json import finite
from mmopt.solvers import memory_limit
from mmopt.strategies.baselines import NOISE_NAMES, Evaluated, baseline_call


def limit_in_bytes(gib: float | None) -> int | None:
    """A limit in bytes, by default three quarters of the machine's memory; None where none can be kept.

    Raises
    ------
    OptionError : a limit that is not positive, or that this system cannot keep.
    """
    if gib is None:
        return int(memory_limit()) if KEEPS_LIMITS else None
    if not gib > 0:
        raise OptionError(f"a memory limit is a positive number of GiB, not {gib}")
    if not KEEPS_LIMITS:
        raise OptionError("a memory limit can be kept on Linux only", hint="leave it out")
    return int(gib * 2**30)


@dataclass(frozen=True)
class Outcome(Displayed):
    """A solution, or the reason why there is none.

    program, formulation_of : the program's name, and the one that it is another formulation of.
    solver, tolerance : as asked; the solver is "" when it was not chosen, the tolerance None for the
        solver's own.
    problem : in full, with what to do about it; reason : the same in one line. Both "" with a solution.
    stop : the status in one vocabulary. With a solution it is that of ``solution.status``; without one it
        is "time limit", "memory limit", "interrupted", "crashed", "no result" (the solver had no point
        that could be repaired), or, when nothing was solved: "refused", "too large", "does not apply",
        "not started".
    seconds : from the start of its process to its end. cpu : CPU seconds of all its threads, with a solution.
    memory : largest number of bytes held above the start, None where it is not known.
    history : its certified points in order; their seconds count from the start of the process.
    predicted : what its release would be like at the privacy stated; of nothing without a solution.
    """

    program: str
    solver: str
    solution: Solution | None
    problem: str = ""
    reason: str = ""
    stop: str = ""
    formulation_of: str = ""
    tolerance: float | None = None
    seconds: float = 0.0
    cpu: float | None = None
    memory: int | None = None
    history: tuple[Progress, ...] = ()
    predicted: Predicted = NOT_PREDICTED

    def __repr__(self) -> str:
        by = f"{self.program} by {self.solver}" if self.solver else self.program
        return f"Outcome({by}: {self.stop})" if self.solution is None else f"Outcome({self.solution!r})"

    @property
    def noise(self) -> str:
        """The noise that the strategy is for: "Laplace" or "Gaussian"; "" without a solution."""
        s = self.solution
        return NOISE_NAMES[s.strategy.norm] if s is not None and s.has_strategy else ""

    @property
    def rmse(self) -> float | None:
        """Root mean square of the queries' standard errors, in counts, at the privacy stated.

        At unit noise where none was stated; None without a strategy, and where ``predicted`` has the reason.
        """
        return self.predicted.error(self.solution.rmse) if self.solution and self.noise else None

    @property
    def was_tried(self) -> bool:
        """Whether a solver was started for it."""
        return self.solution is not None or self.stop not in UNTRIED

    def summary(self) -> dict[str, Any]:
        """One JSON object of the kind "program": that of the solution, if any, and what the comparison adds.

        ``points`` is the history.
        """
        unsolved = {"program": self.program, "solver": self.solver, "status": None}
        return {
            "kind": "program",
            **(unsolved if self.solution is None else self.solution.summary()),
            "noise": self.noise or None,
            "rmse": self.rmse,
            "unit_rmse": self.solution.rmse if self.solution and self.noise else None,
            **self.predicted.summary(),
            "formulation_of": self.formulation_of,
            "tolerance": self.tolerance,
            "stop": self.stop,
            "problem": self.problem,
            "elapsed": self.seconds,
            "cpu": self.cpu,
            "memory": self.memory,
            "points": [
                {
                    "program": point.program,
                    "seconds": point.seconds,
                    "iterations": point.iterations,
                    "objective": finite(point.objective),
                    "bound": finite(point.bound),
                    "gap": finite(point.gap),
                }
                for point in self.history
            ],
        }


@dataclass(frozen=True)
class Costed:
    """Costs of a baseline at unit noise, and predictions for its release, by norm."""

    evaluated: Evaluated
    predicted: Mapping[int, Predicted] = field(default_factory=dict)


# How a combination ends for which no solver is started.
UNTRIED = (Stop.REFUSED, Stop.TOO_LARGE, Stop.UNSUITABLE, Stop.NOT_STARTED)
# What C, C++, Rust and Python write when an allocation fails.
OUT_OF_MEMORY = (
    "memory allocation of",
    "ailed to allocate",
    "allocation error",
    "bad_alloc",
    "MemoryError",
    "out of memory",
)


@dataclass
class Run:
    """A task that runs, the messages that have come from its process, and how it ended.

    report : called with each point. clock : started with its process. process : known once it has started.
    started, ended : the times of the first and the last message (``time.monotonic``). memory : as in
        ``Outcome``.
    """

    task: WorkerTask
    report: Report | None = None
    clock: threading.Timer | None = None
    process: Started | None = None
    started: float = 0.0
    ended: float = 0.0
    answer: Done | Failed | None = None
    predictions: Mapping[int, Predicted] | None = None
    history: list[Progress] = field(default_factory=list)
    killed: str = ""  # why we ended it: "time limit" or "interrupted"
    unpredicted: str = ""  # why there are no predictions
    memory: int | None = None
    is_over: bool = False

    def take(self, message: Any) -> None:
        """Take note of a message from the process."""
        if message is not None:
            self.ended = time.monotonic()
        self.is_over = isinstance(message, Ended)
        if isinstance(message, Started):
            self.process, self.started = message, self.ended
            if self.clock is not None:
                self.clock.start()
        elif isinstance(message, Progress):
            if message.certified:
                self.history.append(message)
            if self.report is not None:
                self.report(message)
        elif isinstance(message, Predictions):
            self.predictions = message.by_norm
        elif isinstance(message, Failed) and isinstance(self.answer, Done):
            self.unpredicted = message.reason or message.stop
        elif isinstance(message, Done | Failed):
            self.answer, self.memory = message, message.memory

    def stop(self, why: str = Stop.INTERRUPTED) -> None:
        """End it at once, or as soon as it starts; from any thread."""
        self.killed = self.killed or why
        if self.process is not None and not self.is_over:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)

    def predicted(self, norm: int) -> Predicted:
        """The prediction for a norm; where the process ended before it, the reason why there is none."""
        if self.predictions is not None:
            return self.predictions[norm]
        if not isinstance(self.task, ComparedTask) or self.task.stated is None:
            return NOT_PREDICTED
        why = self.unpredicted or self.killed or "its process ended"
        return Predicted(reason=f"its release was not predicted: {why}")


def outcome_of(run: Run, status: int, output: str) -> Outcome:
    """The outcome of a run whose process has ended with ``status``; ``output`` is what it wrote."""
    task = run.task
    assert isinstance(task, Solving)
    solution = None
    stop, reason, problem = ending_of(run, status, output)
    if isinstance(run.answer, Done):
        try:
            solution = Solution.from_fields(run.answer.result)
            stop, reason, problem = solution.status.stop, "", ""
        except (ResultError, KeyError, TypeError) as error:
            stop, reason, problem = bug_words(error)
    return Outcome(
        task.program.name,
        solution.solver if solution is not None else task.solver or "",
        solution,
        problem=problem,
        reason=reason,
        stop=stop,
        formulation_of=task.program.formulation_of,
        tolerance=task.tolerance,
        seconds=run.ended - run.started,
        cpu=run.answer.cpu if isinstance(run.answer, Done) else None,
        memory=run.memory,
        history=tuple(run.history),
        predicted=NOT_PREDICTED if solution is None else run.predicted(solution.strategy.norm),
    )


def costs_of(run: Run, status: int, output: str) -> Costed:
    """Costs of a baseline from its run, or the reason why there are none."""
    task = run.task
    assert isinstance(task, Costing)
    if isinstance(run.answer, Done) and isinstance(run.answer.result, Evaluated):
        evaluated = run.answer.result
        return Costed(evaluated, {cost.norm: run.predicted(cost.norm) for cost in evaluated.costs})
    reason = ending_of(run, status, output)[1]
    return Costed(Evaluated(task.baseline, baseline_call(task.baseline).baseline.title, "", (), reason))


def ending_of(run: Run, status: int, output: str) -> tuple[str, str, str]:
    """Stop, reason and problem of a run without a result."""
    if isinstance(run.answer, Failed) and not _lacked_memory(run, output):
        return run.killed or run.answer.stop, run.answer.reason, run.answer.problem
    stop, reason, hint = _death(run, status, output)
    return stop, reason, f"{reason}\n  {hint}" if hint else reason


def _death(run: Run, status: int, output: str) -> tuple[str, str, str]:
    """Stop, reason and hint of a process that left no answer, or ran out of memory."""
    limit = "" if run.task.memory_limit is None else f"{run.task.memory_limit / 2**30:.3g} GiB"
    if run.killed == Stop.TIME:
        after = f"stopped after {run.ended - run.started:.0f} s"
        reason = f"{after} by the time limit of {run.task.time_limit:g} s{_so_far(run)}"
        return Stop.TIME, reason, "allow more time, or try another solver or formulation"
    if run.killed:
        return Stop.INTERRUPTED, f"interrupted{_so_far(run)}", ""
    if _lacked_memory(run, output):
        hint = "allow more memory, or try another solver (a first-order one needs least) or formulation"
        return Stop.MEMORY, f"needed more {f'than {limit}' if limit else 'memory than there is'}", hint
    if status == -signal.SIGKILL:
        reason = "the process was killed (signal 9), as the system does when memory runs out"
        return Stop.CRASHED, reason, "set a memory limit, or try another solver or formulation"
    words = output.strip().splitlines()
    last = f"it last wrote: {words[-1].strip()[:200]}" if words else ""
    if limit and not last:
        last = f"a solver may end like this when memory runs out; the limit was {limit}"
    if status < 0:
        names = {number.value: f" ({number.name})" for number in signal.Signals}
        return Stop.CRASHED, f"the process ended with signal {-status}{names.get(-status, '')}", last
    return Stop.CRASHED, f"the process ended with status {status} and no result", last


def _so_far(run: Run) -> str:
    """The last certified point of a run that was ended, in words; "" for a task that has none."""
    if not run.task.has_points:
        return ""
    if not run.history:
        return ", before it had a certified point"
    last = run.history[-1]
    gap = "no bound" if last.gap is None else f"gap {rounded(last.gap, 2, up=True, layout='e')}"
    return f"; its last certified point, after {last.seconds:.1f} s, had {gap}"


def _lacked_memory(run: Run, output: str) -> bool:
    """Whether an allocation failed: by exception, or by what a library wrote."""
    stop, reason = (run.answer.stop, run.answer.reason) if isinstance(run.answer, Failed) else ("", "")
    return stop == Stop.MEMORY or any(words in output + reason for words in OUT_OF_MEMORY)


LOADING_SECONDS = 300.0  # seconds for a process to load the solvers
HANDOVER_SECONDS = 3.0  # seconds after Ctrl-C to hand over what there is
MOST_BYTES_READ = 10_000  # bytes of what a process wrote that are looked at
WAIT_SECONDS = 60.0  # seconds of waiting at a time, as no wait can be without end


class Isolated:
    """A context manager that gives an outcome for each task, whatever becomes of the process that does it.

    Ctrl-C ends the task that runs: it hands over the best certified point that it has, and
    ``interrupted`` is true from then on. A second one does not wait. No process outlives the block, nor
    this process, however it ends.

    verbose : let the processes write to this one's standard error.
    forks : fork for each task from a process that has loaded the solvers; else a fresh process for each.
    threads : of dense algebra.
    worker : a process that was started for this, as verbose as this; by default one is when it is needed.
    """

    def __init__(
        self, verbose: bool = False, forks: bool = FORKS, threads: int = 1, worker: Worker | None = None
    ) -> None:
        self.interrupted = self.is_over = False
        self._start = partial(Worker, verbose, forks, threads)
        self._worker = worker

    def __enter__(self) -> "Isolated":
        return self

    def __exit__(self, *_: object) -> None:
        with self._worker or contextlib.nullcontext():  # the end of this block kills it
            self._worker = None

    def end(self) -> None:
        """Kill the process, also one that is about to start; from any thread, before the block is left."""
        self.is_over = True
        if (worker := self._worker) is not None:
            worker.kill()

    def run(self, task: Solving, report: Report | None = None) -> Outcome:
        """Solve a combination; ``report`` is called with each certified point.

        Its process is killed at the ``hard_limit`` of the task's time limit.

        Raises
        ------
        SolverError : no process can be started here.
        """
        run = Run(task, report)
        return outcome_of(run, *self.follow(run, hard_limit(task.time_limit)))

    def cost(self, task: Costing) -> Costed:
        """Cost a baseline, or give the reason why that failed; killed at the time limit.

        Raises
        ------
        SolverError : no process can be started here.
        """
        run = Run(task)
        return costs_of(run, *self.follow(run, task.time_limit))

    def follow(self, run: Run, limit: float) -> tuple[int, str]:
        """Do a task, for ``limit`` seconds at most: how its process ended, and what it wrote.

        Raises
        ------
        SolverError : no process can be started here.
        """
        try:
            written = 0 if self._worker is None else os.fstat(self._worker.words.fileno()).st_size
            worker = self._worker = self._worker or self._start()
            if self.is_over:
                worker.kill()
            worker.send(run.task)
        except KeyboardInterrupt:
            self.interrupted, run.killed = True, Stop.INTERRUPTED
            self.__exit__()
            return 0, ""
        deadline, message = time.monotonic() + LOADING_SECONDS, None
        while not isinstance(message, Ended):
            try:
                message = self._next(worker, deadline)
                run.take(message)
                if isinstance(message, Started):
                    deadline = run.started + limit
                    if run.killed:  # before it had started
                        run.stop()
                if message is None:
                    deadline = self._kill(run, worker, run.killed or Stop.TIME)
            except KeyboardInterrupt:
                deadline = self._interrupt(run, worker, deadline)
        # The end of what was written during the task.
        worker.words.seek(max(written, os.fstat(worker.words.fileno()).st_size - MOST_BYTES_READ))
        words = worker.words.read().decode("utf-8", errors="replace")
        if worker.returncode is not None:
            self.__exit__()
        if run.process is None and not run.killed:
            lines = words.strip().splitlines()
            raise SolverError(
                f"the solver process ended with status {message.status} before it began",
                hint=lines[-1].strip() if lines else "",
            )
        return message.status, words

    def _next(self, worker: Worker, deadline: float) -> Any:
        """The next message, or None when there is none before the deadline."""
        while (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                return worker.messages.get(timeout=min(left, WAIT_SECONDS))
        return None

    def _interrupt(self, run: Run, worker: Worker, deadline: float) -> float:
        """Ask the process for what it has, once; the deadline from now on."""
        is_second, self.interrupted = self.interrupted, True
        if is_second or run.process is None:
            return self._kill(run, worker, Stop.INTERRUPTED)
        run.killed = Stop.INTERRUPTED
        with contextlib.suppress(ProcessLookupError):
            os.kill(run.process.pid, signal.SIGINT)
        return min(deadline, time.monotonic() + HANDOVER_SECONDS)

    def _kill(self, run: Run, worker: Worker, why: str) -> float:
        """End all processes, and note in the run why; the deadline from now on: their end is certain."""
        run.killed, run.ended = why, time.monotonic()
        if run.process is not None:
            run.memory = peak_above(run.process.memory, run.process.pid)
        worker.kill()
        return math.inf
