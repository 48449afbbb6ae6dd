"""The worker of a comparison: a program that does tasks, which solve a combination or evaluate a baseline.

``python -m mmopt.comparison.worker`` starts a child for each task that arrives on standard input, passes on
what that one says, and tells how it ended. With ``--fork`` it loads the solvers once, before the first task
that needs one, and the children are forked. It never sees the user's main module, so a script needs no
``if __name__ == "__main__"``. Linux forks. macOS does not: its Accelerate framework, which numpy may use,
breaks in forked children.

Messages are pickles over private connections; the other end is ``isolated_tasks.py``. Both ends are this
package, so nothing that is unpickled comes from elsewhere; what is saved for others (``Solution.save``) is
never pickled.
"""

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing.connection import Connection, wait
from typing import Any, ClassVar

from mmopt.comparison.predicted_errors import Predicted, Stated, predicted, predicted_baseline
from mmopt.comparison_process import Ended, limited, memory_of, peak_above
from mmopt.compiler import bind, lower
from mmopt.driver.accepted_options_and_inputs import named_givens, reads_option
from mmopt.driver.rank_search import predicted_search
from mmopt.driver.solve_and_tune import solve
from mmopt.driver.task_and_plan import FEW_CELLS, Progress, Report, plan_solve
from mmopt.errors import (
    Error,
    SolverError,
    TimeLimitError,
    TooLargeError,
    UnsuitableError,
    WorkloadError,
)
from mmopt.language import Program, check, program_names, shipped
from mmopt.limits import Stop
from mmopt.results import Solution
from mmopt.solvers import KERNELS, SOLVERS
from mmopt.solvers.conic_problem import hand_over
from mmopt.strategies.baselines import Evaluated, evaluate
from mmopt.workloads import Workload

PATIENCE_SHARE = 3  # a search that nobody named may be predicted to take its time limit over this
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
    """Something to be done in a process of its own.

    ``time_limit`` in seconds, a solver's where there is one; ``memory_limit`` counts bytes above the start of
    the process. ``has_points``: whether it reports certified points.
    """

    has_points: ClassVar[bool] = False
    time_limit: float
    memory_limit: int | None = None

    @abstractmethod
    def result(self, report: Report) -> Any:
        """Do it there, and report each certified point on the way."""

    def predictions(self, result: Any) -> dict[int, Predicted]:
        """Predictions for a release of the result, by norm, where it can be released."""
        return {}

    @property
    def needs_conic(self) -> bool:
        """Whether a conic solver is to be loaded for it: that is done once for all tasks."""
        return False


@dataclass(frozen=True, kw_only=True)
class ComparedTask(WorkerTask):
    """A task of a comparison for a workload; ``stated``: the privacy that errors are predicted for."""

    workload: Workload
    stated: Stated | None = None


@dataclass(frozen=True, kw_only=True)
class Solving(ComparedTask):
    """One combination; ``options`` are further keywords of ``solve``, of which it takes those that it reads.

    was_named : by the caller; else a search is left out that is predicted to take more than its share of the
        time limit: forecasts are right to a factor of about three.
    """

    has_points: ClassVar[bool] = True
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
            givens = named_givens(self.options.get("givens"), checked.written, self.workload)
            seconds = predicted_search(plan_solve(checked, self.workload, givens).instance, self.solver)
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
            **{
                name: value
                for name, value in self.options.items()
                if reads_option(checked, name, self.solver)
            },
        ).fields()

    def predictions(self, result: Mapping[str, Any]) -> dict[int, Predicted]:
        """One, for the norm of the strategy."""
        solution = Solution.from_fields(result)
        return {solution.strategy.norm: predicted(self.workload, solution, self.stated)}


@dataclass(frozen=True, kw_only=True)
class Costing(ComparedTask):
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
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            task = parent.recv()
            if forks and task.has_points:
                for name in program_names():  # kernels and searches know a program by comparing it with these
                    shipped(name)
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
    hand_over(lower(bind(shipped("l2_strategy"), Workload.from_matrix([[1.0, 0.0], [0.0, 1.0]]))), "SCS")


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
    start = memory_of(pid)
    certified = False  # whether there is a certified point, which Ctrl-C keeps, or a result

    def pressed(*_: object) -> None:
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
        reason = "; ".join(text for text in (error.message, error.hint) if text)
        answer = Failed(stop_word(error), reason, str(error), peak_above(start, pid))
    except MemoryError:
        answer = Failed(Stop.MEMORY, "", "", peak_above(start, pid))
    except KeyboardInterrupt:
        reason = "interrupted before it had a certified point" if isinstance(task, Solving) else "interrupted"
        answer = Failed(Stop.INTERRUPTED, reason, reason, peak_above(start, pid))
    except Exception as error:  # noqa: BLE001 - the last line of defence, as in cli/app.py
        answer = Failed(*bug_words(error), peak_above(start, pid))
    send(answer)


def stop_word(error: Error) -> str:
    """Name in one vocabulary how a task ended that raised this error."""
    return next((word for kind, word in STOP_WORDS if isinstance(error, kind)), Stop.REFUSED)


def bug_words(error: Exception) -> tuple[str, str, str]:
    """Stop, reason and problem of an error that nothing expects."""
    reason = f"a bug in mmopt ({type(error).__name__}: {error})"
    return Stop.CRASHED, reason, f"{reason}\n  please report it"


if __name__ == "__main__":
    # Under its name, so that the other end knows the classes of what is sent.
    from mmopt.comparison.worker import main as serve

    serve()
