"""The process that does the tasks of a comparison: its start, its messages, its memory and its end.

It imports little, so that a command starts that process before it loads the same libraries itself.

It takes the place of multiprocessing's fork server. A program has only one of those: it keeps the environment
of its first use (threads of algebra, licences of solvers), it lives as long as the program, and its children
run a script again that has no ``if __name__ == "__main__"``. This one belongs to one comparison.
"""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from mmopt.errors import SolverError
from mmopt.limits import TASK_MEMORY

FORKS = sys.platform == "linux"  # mmopt/comparison/worker.py says why
# Dense algebra in one thread by default: the times of different runs compare, and nothing that was threaded
# before the fork can hang in a child (OpenBLAS did, in one run of three).
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Ended:
    """The process of a task is gone: its exit status, or minus the signal that ended it."""

    status: int


class Worker(subprocess.Popen[bytes]):
    """The process that does the tasks, its standard input a connection to it; the end of the block kills it.

    ``messages`` of the tasks, at last its own end; ``words``: what it and its children write.

    verbose : they write to this process's standard error instead.
    forks, threads : as ``mmopt.comparison.Isolated`` has them.

    Raises
    ------
    SolverError : no process can be started.
    """

    def __init__(self, verbose: bool = False, forks: bool = FORKS, threads: int = 1) -> None:
        self.words = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with the block
        command = [sys.executable, "-P", "-m", "mmopt.comparison.worker", *["--fork"] * forks]
        # The modules that this process would find, wherever it runs.
        path = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._connection, child_end = Pipe()
        try:
            super().__init__(
                command,
                stdin=child_end.fileno(),
                stdout=2 if verbose else self.words,
                stderr=None if verbose else self.words,
                env={**os.environ, **dict.fromkeys(THREADS, str(threads)), "PYTHONPATH": path},
                start_new_session=True,  # so that Ctrl-C reaches this process only, which passes it on
            )
        except OSError as error:
            self.words.close()
            message = f"the solver process cannot be started: {error.strerror}"
            raise SolverError(message, hint=f"it is '{' '.join(command)}'") from None
        finally:
            child_end.close()
        self.messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Queue messages as they arrive, at last the end of the process."""
        with contextlib.suppress(EOFError, OSError):  # it died, perhaps in mid-message
            while True:
                self.messages.put(self._connection.recv())
        self.messages.put(Ended(self.wait()))

    def send(self, task: object) -> None:
        """Give it a task; if it has died, its end is among the messages."""
        with contextlib.suppress(ConnectionError):
            self._connection.send(task)

    def kill(self) -> None:
        """Kill it and its children."""
        # The group, of which it is the first. On macOS a group of ended processes is not permitted.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def __exit__(self, *_: object) -> None:
        if not self.words.closed:
            self.kill()
            self._reader.join()
            with self.words, self._connection:
                self.wait()


KEEPS_LIMITS = sys.platform == "linux"  # macOS accepts limits of memory and ignores them


def memory_of(pid: int) -> int:
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
    token, limit = TASK_MEMORY.set(size), _status("self")["VmData"] + size
    if before[1] != resource.RLIM_INFINITY:
        limit = min(limit, before[1])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        TASK_MEMORY.reset(token)
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _status(pid: int | str) -> dict[str, int]:
    """The sizes in /proc/PID/status, in bytes; nothing where there is none or the process is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in text.splitlines() if line.endswith(" kB"))
    return {name: int(value.split()[0]) * 1024 for name, value in pairs}
