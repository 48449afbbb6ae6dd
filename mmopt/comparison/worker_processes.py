"""The processes of a comparison: what is said to them and by them, and the memory that they may take.

Messages are length-prefixed pickles over private pipes. Both ends are this program, so nothing that is
unpickled comes from elsewhere; what is saved for others (``Solution.save``) is never pickled. Of memory: what
a process holds, its peak, and a limit. Where the system cannot say: None.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from mmopt.comparison.predicted_errors import Predicted, Stated, predicted, predicted_baseline
from mmopt.driver.accepted_inputs import named_givens, reads
from mmopt.driver.rank_search import predicted_search
from mmopt.driver.solve import solve
from mmopt.driver.solve_plan import FEW_CELLS, Report, plan_solve
from mmopt.errors import OptionError, TooLargeError
from mmopt.language import Program, check
from mmopt.results import Solution
from mmopt.solvers import KERNELS, memory_limit
from mmopt.strategies.baselines import Evaluated, evaluate
from mmopt.workloads import Workload

LENGTH_BYTES = 8  # bytes of the length
PATIENCE_SHARE = 3  # of its time limit, one over: what a search that nobody named may be predicted to take


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
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
    def predictions(self, found: Any) -> dict[int, Predicted]:
        """What a release would be like, by norm, for the result."""

    @property
    def needs_conic(self) -> bool:
        """Whether a conic solver is to be loaded for it: that is done once for all tasks."""
        return False


@dataclass(frozen=True, kw_only=True)
class Solving(Task):
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
        is_plain = self.program.klass == "closed form" or (
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
        if not self.was_named and self.program.klass == "rank":
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

    def predictions(self, found: Mapping[str, Any]) -> dict[int, Predicted]:
        """One, for the norm of the strategy."""
        solution = Solution.from_fields(found)
        return {solution.strategy.norm: predicted(self.workload, solution, self.stated)}


@dataclass(frozen=True, kw_only=True)
class Costing(Task):
    """One baseline, to be evaluated for noise of these norms."""

    baseline: str
    norms: tuple[int, ...]

    def result(self, report: Report) -> Evaluated:
        """What the baseline costs."""
        return evaluate(self.baseline, self.workload, self.norms)

    def predictions(self, found: Evaluated) -> dict[int, Predicted]:
        """One for each norm that it was evaluated for."""
        return {
            cost.norm: predicted_baseline(self.workload, self.baseline, cost, self.stated)
            for cost in found.costs
        }


@dataclass(frozen=True)
class Started:
    """The process that works on the task, and its memory in bytes before it began."""

    pid: int
    memory: int


@dataclass(frozen=True)
class Done:
    """What was found: the ``result`` of the task.

    ``memory`` is the peak above the start, ``cpu`` the CPU seconds of all threads since the task began.
    """

    found: Any
    memory: int | None
    cpu: float | None = None


@dataclass(frozen=True)
class Predictions:
    """What comes after ``Done``: what releases would be like, by norm."""

    by_norm: Mapping[int, Predicted]


@dataclass(frozen=True)
class Failed:
    """No solution: ``stop`` in one or two words, ``reason`` in a sentence, ``problem`` in full."""

    stop: str
    reason: str
    problem: str
    memory: int | None


@dataclass(frozen=True)
class Ended:
    """The process is gone: its exit status, or minus the signal that ended it.

    ``whole``: so is the one that started it, if that was another.
    """

    status: int
    whole: bool = False


def send(file: IO[bytes], message: object) -> None:
    """Write one message and flush."""
    data = pickle.dumps(message)
    file.write(len(data).to_bytes(LENGTH_BYTES, "big") + data)
    file.flush()


def receive(file: IO[bytes]) -> Any:
    """The next message; None at the end, also in the middle of a message."""
    header = file.read(LENGTH_BYTES)
    data = file.read(int.from_bytes(header, "big")) if len(header) == LENGTH_BYTES else b""
    if len(header) < LENGTH_BYTES or len(data) < int.from_bytes(header, "big"):
        return None
    return pickle.loads(data)


def frames(buffer: bytearray) -> Iterator[bytes]:
    """Take the complete messages out of a buffer, as they are."""
    while len(buffer) >= LENGTH_BYTES:
        end = LENGTH_BYTES + int.from_bytes(buffer[:LENGTH_BYTES], "big")
        if len(buffer) < end:
            return
        yield bytes(buffer[:end])
        del buffer[:end]


KEEPS_LIMITS = sys.platform == "linux"  # macOS accepts these limits and ignores them


def check_memory_limit(gib: float | None) -> None:
    """Raise OptionError for a limit that is not positive, or that this system cannot keep."""
    if gib is None:
        return
    if not gib > 0:
        raise OptionError(f"a memory limit is a positive number of GiB, not {gib}")
    if not KEEPS_LIMITS:
        raise OptionError("a memory limit can be kept on Linux only", hint="leave it out")


def allowed(gib: float | None) -> int | None:
    """A limit in bytes, by default three quarters of the machine's memory; None where none can be kept.

    Raises
    ------
    OptionError : as ``check_memory_limit``.
    """
    check_memory_limit(gib)
    size = gib * 2**30 if gib is not None else memory_limit() if KEEPS_LIMITS else None
    return None if size is None else int(size)


def held(pid: int) -> int:
    """Bytes of its own (not of files mapped into it) that a process holds; 0 where it cannot be read."""
    return _status(pid).get("RssAnon", 0)


def peak_above(start: int, pid: int) -> int | None:
    """The largest number of bytes that a running process has held of its own, above ``start``.

    The kernel keeps the peak of all that is resident; what is mapped from files now is taken off it.
    """
    found = _status(pid)
    if "VmHWM" not in found:
        return None
    return max(0, found["VmHWM"] - found["RssFile"] - start)


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
