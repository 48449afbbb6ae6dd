"""Tasks of a comparison, each in a process of its own that cannot take the rest along, and their outcomes.

**The process that does the tasks**: solves combinations, and evaluates baselines. ``python -m
mmopt.comparison.worker`` starts a child for each task that arrives on standard input, passes on what that one
says, and tells how it ended. With ``--fork`` it loads the solvers once, before the first task that needs one,
and the children are forked. It never sees the user's main module, so a script needs no
``if __name__ == "__main__"``. Linux forks. macOS does not: its Accelerate framework, which numpy may use,
breaks in forked children. Messages are pickles over private connections. Both ends are this program, so
nothing that is unpickled comes from elsewhere; what is saved for others (``Solution.save``) is never pickled.
Of memory: what a process holds, its peak, and a limit. Where the system cannot say: None.

**The other end** (:class:`Isolated`) runs tasks one after another. What became of one combination is its
:class:`Outcome`, and how a process ended, in words.
"""

import contextlib
import importlib
import math
import multiprocessing
import os
import queue
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from mmopt.comparison.predicted_errors import NOT_PREDICTED, Predicted, Stated, predicted, predicted_baseline
from mmopt.compiler import bind, lower
from mmopt.driver.accepted_inputs import named_givens, reads
from mmopt.driver.rank_search import predicted_search
from mmopt.driver.solve import solve
from mmopt.driver.solve_plan import FEW_CELLS, Progress, Report, plan_solve
from mmopt.errors import (
    Error,
    OptionError,
    ResultError,
    SolverError,
    TimeLimitError,
    TooLargeError,
    UnsuitableError,
    WorkloadError,
)
from mmopt.language import Program, check, program_names, shipped
from mmopt.limits import hard_limit
from mmopt.notebook import Displayed
from mmopt.numerics.outward import rounded
from mmopt.privacy.noise import noise_for
from mmopt.reasons_to_stop import Stop
from mmopt.results import Solution
from mmopt.results.solution_rows_and_json import finite
from mmopt.solvers import KERNELS, SOLVERS, memory_limit
from mmopt.solvers.conic_problem import hand_over
from mmopt.strategies.baselines import Evaluated, baseline_call, evaluate
from mmopt.worker_start import FORKS, Ended, Worker
from mmopt.workloads import Workload

PATIENCE_SHARE = 3  # of its time limit, one over: what a search that nobody named may be predicted to take
# One vocabulary for what did not get as far as a status; the first class that fits.
STOP_WORDS = (
    (WorkloadError, Stop.UNSUITABLE),
    (UnsuitableError, Stop.UNSUITABLE),
    (TooLargeError, Stop.TOO_LARGE),
    (TimeLimitError, Stop.TIME),
    (SolverError, Stop.NO_RESULT),
)


@dataclass(frozen=True, kw_only=True)
class WorkerTask(ABC):
    """Something to be done for a workload in a process of its own.

    ``time_limit`` in seconds, a solver's where there is one; ``memory_limit`` counts bytes above the start of
    the process. ``stated``: the privacy that errors are predicted for.
    """

    workload: Workload
    time_limit: float
    memory_limit: int | None = None
    stated: Stated | None = None

    @abstractmethod
    def result(self, report: Report) -> Any:
        """Do it there, and report each certified point on the way."""

    @abstractmethod
    def predictions(self, result: Any) -> dict[int, Predicted]:
        """Predictions for a release of the result, by norm."""

    @property
    def needs_conic(self) -> bool:
        """Whether a conic solver is to be loaded for it: that is done once for all tasks."""
        return False


@dataclass(frozen=True, kw_only=True)
class Solving(WorkerTask):
    """One combination; ``options`` are further keywords of ``solve``, of which it takes those that it reads.

    was_named : by the caller; else a search is left out that is predicted to take more than its share of the
        time limit: forecasts are right to a factor of about three.
    """

    program: Program
    solver: str | None
    tolerance: float | None
    options: Mapping[str, Any] = field(default_factory=dict)
    was_named: bool = True

    @property
    def needs_conic(self) -> bool:
        """Unless the program is solved by a kernel, or in closed form."""
        kernels = {name for kernel in KERNELS for name in kernel.programs}
        name, text = self.program.name, self.program.text
        is_plain = self.program.problem_class == "closed form" or (
            name in kernels and text == Program.load(name).text
        )
        return not (self.solver in (None, *(kernel.name for kernel in KERNELS)) and is_plain)

    def result(self, report: Report) -> dict[str, Any]:
        """``Solution.fields()``: plain numbers, texts and arrays.

        Raises
        ------
        TooLargeError : a search that was not named is predicted to take too long.
        mmopt.Error : as ``solve``.
        """
        checked = check(self.program)
        if not self.was_named and self.program.problem_class == "rank":
            named = named_givens(self.options.get("givens"), checked.written, self.workload)
            seconds = predicted_search(plan_solve(checked, self.workload, named).instance, self.solver)
            if seconds * PATIENCE_SHARE > self.time_limit:
                raise TooLargeError(
                    f"a search that may take {seconds:.0f} s over {self.workload.n} cells, as predicted",
                    hint=f"it is tried where it is named (--programs {self.program.name}), or where every "
                    f"combination may take {PATIENCE_SHARE * seconds:.0f} s (--time-limit)",
                )
        return solve(
            self.workload,
            self.program,
            solver=self.solver,
            tolerance=self.tolerance,
            time_limit=self.time_limit,
            progress=report,
            # What is compared are the forms of a problem at the same size, where that can be solved.
            reduce=self.workload.n > FEW_CELLS,
            **{name: value for name, value in self.options.items() if reads(checked, name, self.solver)},
        ).fields()

    def predictions(self, result: Mapping[str, Any]) -> dict[int, Predicted]:
        """One, for the norm of the strategy."""
        solution = Solution.from_fields(result)
        return {solution.strategy.norm: predicted(self.workload, solution, self.stated)}


@dataclass(frozen=True, kw_only=True)
class Costing(WorkerTask):
    """One baseline, to be evaluated for noise of these norms."""

    baseline: str
    norms: tuple[int, ...]

    def result(self, report: Report) -> Evaluated:
        """Costs of the baseline."""
        return evaluate(self.baseline, self.workload, self.norms)

    def predictions(self, result: Evaluated) -> dict[int, Predicted]:
        """One for each norm that it was evaluated for."""
        return {
            cost.norm: predicted_baseline(self.workload, self.baseline, cost, self.stated)
            for cost in result.costs
        }


@dataclass(frozen=True)
class Started:
    """The process that works on the task, and its memory in bytes before it began."""

    pid: int
    memory: int


@dataclass(frozen=True)
class Done:
    """The ``result`` of a task.

    ``memory`` is the peak above the start, ``cpu`` the CPU seconds of all threads since the task began.
    """

    result: Any
    memory: int | None
    cpu: float | None = None


@dataclass(frozen=True)
class Predictions:
    """Predictions for releases by norm, sent after ``Done``."""

    by_norm: Mapping[int, Predicted]


@dataclass(frozen=True)
class Failed:
    """No solution: ``stop`` in one or two words, ``reason`` in a sentence, ``problem`` in full."""

    stop: str
    reason: str
    problem: str
    memory: int | None


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the child that solves, not for this one
    parent = Connection(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # standard input is for ourselves
    forks = "--fork" in sys.argv
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    if forks:
        for name in program_names():  # kernels and searches know a program by comparing it with these
            shipped(name)
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            task = parent.recv()
            if forks and task.needs_conic:
                _preload()
            inlet, outlet = context.Pipe(duplex=False)
            child = context.Process(target=_be_child, args=(task, outlet, parent if forks else None))
            child.start()
            outlet.close()
            pass_on(inlet, parent)
            child.join()
            parent.send(Ended(child.exitcode))
    os.killpg(0, signal.SIGKILL)  # our parent is gone: end this process, and the child if there is one


@cache
def _preload() -> None:
    """Import what solving imports. Nothing is solved: a solver's threads would not survive a fork."""
    for row in SOLVERS:
        if row.is_installed:
            with contextlib.suppress(ImportError):  # said when this solver is asked for
                importlib.import_module(row.module)
    hand_over(lower(bind(shipped("l2_strategy"), Workload.from_matrix(np.eye(2)))), "SCS")


def _be_child(task: WorkerTask, outlet: Connection, parent: Connection | None) -> None:
    """Do a task. A forked connection to the parent is closed first: its end means that a process has died."""
    if parent is not None:
        parent.close()
    if task.needs_conic:
        _preload()
    perform(task, outlet.send)


def pass_on(inlet: Connection, parent: Connection) -> None:
    """Pass on whole messages, so that a child that dies in the middle of one spoils nothing.

    Raises
    ------
    EOFError, ConnectionError : our parent is gone (nothing else arrives during a task).
    """
    while parent not in wait([inlet, parent]):
        try:
            message = inlet.recv_bytes()
        except (EOFError, OSError):
            return
        parent.send_bytes(message)
    raise EOFError


def perform(task: WorkerTask, send: Callable[[object], None]) -> None:
    """Do one task; send that it started, each certified point, how it went, and what that predicts.

    SIGINT ends it: with the best point so far once there is one, with nothing before.
    """
    started, cpu, pid = time.monotonic(), time.process_time(), os.getpid()
    start, certified = held(pid), False  # or done

    def pressed(number: int, frame: FrameType | None) -> None:
        # While a solver runs, its clock listens instead of this.
        if not certified:
            raise KeyboardInterrupt

    def report(point: Progress) -> None:
        nonlocal certified
        certified = certified or point.certified
        # Seconds since the start of the process: those of the solver begin anew with each step.
        send(replace(point, seconds=time.monotonic() - started))

    answer: Failed | Predictions
    signal.signal(signal.SIGINT, pressed)  # before our parent knows whom to interrupt
    send(Started(pid, start))
    try:
        with limited(task.memory_limit):
            result = task.result(report)
            certified = True
            send(Done(result, peak_above(start, pid), time.process_time() - cpu))
            answer = Predictions(task.predictions(result))
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
        answer = Failed(*bug_words(error), peak_above(start, pid))
    send(answer)


def bug_words(error: Exception) -> tuple[str, str, str]:
    """Stop, reason and problem of an error that nothing expects."""
    reason = f"a bug in mmopt ({type(error).__name__}: {error})"
    return Stop.CRASHED, reason, f"{reason}\n  please report it"


KEEPS_LIMITS = sys.platform == "linux"  # macOS accepts these limits and ignores them


def allowed(gib: float | None) -> int | None:
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


def held(pid: int) -> int:
    """Bytes of its own (not of files mapped into it) that a process holds; 0 where it cannot be read."""
    return _status(pid).get("RssAnon", 0)


def peak_above(start: int, pid: int) -> int | None:
    """The largest number of bytes that a running process has held of its own, above ``start``.

    The kernel keeps the peak of all that is resident; what is mapped from files now is taken off it.
    """
    memory = _status(pid)
    return max(0, memory["VmHWM"] - memory["RssFile"] - start) if "VmHWM" in memory else None


@contextlib.contextmanager
def limited(size: int | None) -> Iterator[None]:
    """Allocations beyond ``size`` bytes above what is allocated now fail, until the end of the block."""
    if size is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _status("self")["VmData"] + size
    if before[1] != resource.RLIM_INFINITY:
        limit = min(limit, before[1])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _status(pid: int | str) -> dict[str, int]:
    """The sizes in /proc/PID/status, in bytes; nothing where there is none or the process is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in text.splitlines() if line.endswith(" kB"))
    return {name: int(value.split()[0]) * 1024 for name, value in pairs}


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
        if self.solution is None or not self.solution.has_strategy:
            return ""
        return noise_for(self.solution.strategy.norm).name

    @property
    def rmse(self) -> float | None:
        """Root mean square of the queries' standard errors, in counts, at the privacy stated.

        At unit noise where none was stated; None without a solution, and where ``predicted`` has the reason.
        """
        if self.solution is None:
            return None
        return self.predicted.error(self.solution.rmse)

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
            "unit_rmse": None if self.solution is None else self.solution.rmse,
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
    """The messages of a task that runs, and its end."""

    task: WorkerTask
    report: Report | None = None
    process: Started | None = None
    started: float = 0.0
    ended: float = 0.0
    answer: Done | Failed | None = None
    predictions: Mapping[int, Predicted] | None = None
    history: list[Progress] = field(default_factory=list)
    killed: str = ""  # why we ended it: "time limit" or "interrupted"
    unpredicted: str = ""  # why there are no predictions
    memory: int | None = None

    def take(self, message: Any) -> None:
        """Take note of a message from the process."""
        if message is not None:
            self.ended = time.monotonic()
        if isinstance(message, Started):
            self.process, self.started = message, self.ended
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

    def predicted(self, norm: int) -> Predicted:
        """For a norm; why it is not there where the process ended before."""
        if self.predictions is not None:
            return self.predictions[norm]
        if self.task.stated is None:
            return NOT_PREDICTED
        why = self.unpredicted or self.killed or "its process ended"
        return Predicted(reason=f"its release was not predicted: {why}")


def outcome_of(run: Run, status: int, output: str) -> Outcome:
    """The outcome of a run whose process has ended with ``status``; ``output`` is what it wrote."""
    task = run.task
    assert isinstance(task, Solving)
    solution = None
    stop, reason, problem = _ending(run, status, output)
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
    reason = _ending(run, status, output)[1]
    return Costed(Evaluated(task.baseline, baseline_call(task.baseline).baseline.title, "", (), reason))


def _ending(run: Run, status: int, output: str) -> tuple[str, str, str]:
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
        last = f"a solver may end so for want of memory; the limit was {limit}"
    if status < 0:
        names = {number.value: f" ({number.name})" for number in signal.Signals}
        return Stop.CRASHED, f"the process ended with signal {-status}{names.get(-status, '')}", last
    return Stop.CRASHED, f"the process ended with status {status} and no result", last


def _so_far(run: Run) -> str:
    if isinstance(run.task, Costing):
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
        self, verbose: bool = False, forks: bool = FORKS, threads: int = 1, worker: Worker | None = None
    ) -> None:
        self.interrupted = False
        self._start = partial(Worker, verbose, forks, threads)
        self._worker = worker

    def __enter__(self) -> "Isolated":
        return self

    def __exit__(self, *_: object) -> None:
        with self._worker or contextlib.nullcontext():
            self._worker = None

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
        """Cost a baseline, or give the reason why that failed; killed at the time limit.

        Raises
        ------
        SolverError : no process can be started here.
        """
        run = Run(task)
        return costs_of(run, *self._follow(run, task.time_limit))

    def _follow(self, run: Run, limit: float) -> tuple[int, str]:
        """Do a task, for ``limit`` seconds at most: how its process ended, and what it wrote."""
        try:
            written = 0 if self._worker is None else os.fstat(self._worker.words.fileno()).st_size
            worker = self._worker = self._worker or self._start()
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
                f"the process that solves ended with status {message.status} before it began",
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


if __name__ == "__main__":
    # Under its name, so that the other end knows the classes of what is sent.
    from mmopt.comparison.worker import main as serve

    serve()
