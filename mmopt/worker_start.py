"""The start of the process that does the tasks of a comparison.

This file imports little, so that a command starts that process before it loads the same libraries itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from mmopt.errors import SolverError

FORKS = sys.platform == "linux"  # mmopt/comparison/worker.py has the reason
# Dense algebra in one thread by default: the times of different runs are comparable, and no thread from
# before the fork can make a child hang (OpenBLAS did, in one run of three).
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class WorkerProcess:
    """process : with pipes for tasks and answers. said : its (and its children's) output; None: not kept."""

    process: subprocess.Popen[bytes]
    said: IO[bytes] | None

    def end(self) -> None:
        """Kill it and its children, and wait for it."""
        if sys.platform == "win32":
            self.process.kill()
        else:
            # The group, of which it is the first. On macOS a group of ended processes is not permitted.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close the pipes to it, after it has ended and nothing reads from them."""
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()


def said_file(verbose: bool) -> IO[bytes] | None:
    """A file for the output of processes; None where they write to this one's standard error."""
    return None if verbose else tempfile.TemporaryFile(buffering=0)


def start_worker(output: IO[bytes] | None, forks: bool = FORKS, threads: int = 1) -> WorkerProcess:
    """Start the process; SolverError where none can be started.

    forks, threads : as ``mmopt.comparison.Isolated`` has them.
    """
    command = [sys.executable, "-P", "-m", "mmopt.comparison.worker", *["--fork"] * forks]
    # The modules that this process would find, wherever it runs.
    path = os.pathsep.join(path or os.getcwd() for path in sys.path)
    environment = {**os.environ, **dict.fromkeys(THREADS, str(threads)), "PYTHONPATH": path}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            env=environment,
            start_new_session=True,  # so that Ctrl-C reaches this process only, which passes it on
        )
    except OSError as error:
        message = f"the process that solves cannot be started: {error.strerror}"
        raise SolverError(message, hint=f"it is '{' '.join(command)}'") from None
    return WorkerProcess(process, output)


@contextlib.contextmanager
def starting_worker(verbose: bool = False) -> Iterator[WorkerProcess]:
    """A process for ``Isolated(verbose, worker=...)``, which ends with the block, if not before."""
    output = said_file(verbose)
    with contextlib.nullcontext() if output is None else output:
        worker = start_worker(output)
        try:
            yield worker
        finally:
            worker.end()
            worker.close()
