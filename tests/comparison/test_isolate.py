"""A combination that runs away, crashes or is interrupted leaves an outcome, the rest, and no process.

Guards worker.py, isolated_tasks.py, numerics/arrays.py, comparison_process.py.
"""

import contextlib
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import Marked, linux_only, wait_for

from mmopt import Program, SolverError, Workload, compare, solve
from mmopt.comparison import Outcome, combinations, isolated_tasks, outcomes
from mmopt.comparison.isolated_tasks import Isolated
from mmopt.comparison.worker import Solving
from mmopt.comparison_process import Worker
from mmopt.driver import Progress
from mmopt.limits import hard_limit

pytestmark = linux_only

SMALL = Workload.from_matrix(np.tri(4))
LARGE = Workload.from_matrix(np.tri(48))
NAME = "l2_strategy"
STUCK, ENDLESS = (f"comparison.unruly_solvers:{name}" for name in ("stuck", "endless"))
UNREACHED = 1e-15  # a gap that no point of ENDLESS has
(RUNAWAY,) = combinations([NAME], [STUCK])
(GOES_ON,) = combinations([NAME], [ENDLESS], UNREACHED)
BEFORE, AFTER = combinations(["query_weighting", "eigen_design"], ["scs"])
TASK = Solving(workload=SMALL, program=Program.load(NAME), solver=STUCK, tolerance=None, time_limit=1.0)


def waits_to_be_counted() -> bool:
    """Whether some process of ours has ended unnoticed."""
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(-1, os.WNOHANG) != (0, 0)
    return False


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Marked]:
    """Processes of the test; none may be left, not even one that only waits to be counted."""
    found = Marked(monkeypatch)
    yield found
    assert wait_for(lambda: not found.alive())  # the system takes a moment to clear away the killed
    assert not waits_to_be_counted()


@pytest.fixture
def compared(
    marked_processes: tuple[Marked, Isolated], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., list[Outcome]]]:
    """Their outcomes by the process that other tests use, of which no child may be left."""
    found, isolated = marked_processes
    monkeypatch.setattr(isolated, "interrupted", False)  # as it will be for other tests

    def call(*chosen: Any, workload: Workload = SMALL, **options: Any) -> list[Outcome]:
        return list(outcomes(workload, chosen, isolated=isolated, **options))

    yield call
    assert wait_for(lambda: not found.solving())
    assert not waits_to_be_counted()


def test_one_that_cannot_be_stopped_is_killed(compared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.limits.GRACE", 0.1)
    runaway, after = compared(RUNAWAY, AFTER, time_limit=1.0)
    assert runaway.solution is None and runaway.was_tried
    assert runaway.stop == "time limit"
    said = r"stopped after \d+ s by the time limit of 1 s, before it had a certified point"
    assert re.fullmatch(said, runaway.reason)
    assert runaway.seconds >= hard_limit(1.0) and runaway.memory is not None
    assert after.solution is not None


def test_one_that_can_be_stopped_gives_what_it_has(compared: Any) -> None:
    (outcome,) = compared(GOES_ON, time_limit=1.0)
    assert outcome.solution is not None
    assert outcome.stop == outcome.solution.status.stop == "time limit"


def test_one_that_takes_too_much_memory(compared: Any) -> None:
    # Rust aborts, Python raises, SCS takes little.
    chosen = combinations([NAME], ["clarabel", "cvxopt", "scs"])
    rust, python, small = compared(*chosen, workload=LARGE, memory_limit=0.1)
    for outcome in (rust, python):
        assert (outcome.solution, outcome.stop) == (None, "memory limit")
        assert outcome.problem == (
            "needed more than 0.1 GiB\n"
            "  allow more memory, or try another solver (a first-order one needs least) or formulation"
        )
    assert small.solution is not None
    assert small.memory is not None and small.memory < 0.1 * 2**30


def test_one_that_dies(
    subtests: pytest.Subtests, compared: Any, marked_processes: tuple[Marked, Isolated]
) -> None:
    for number, reason in (
        (signal.SIGSEGV, "the process ended with signal 11 (SIGSEGV)"),
        (signal.SIGKILL, "the process was killed (signal 9), as the system does when memory runs out"),
    ):
        with subtests.test(reason):

            def kill(point: Progress, number: signal.Signals = number) -> None:
                if point.program == NAME:
                    os.kill(marked_processes[0].solving()[0], number)

            dead, after = compared(GOES_ON, AFTER, progress=kill, memory_limit=4.0)
            assert (dead.solution, dead.stop, dead.reason) == (None, "crashed", reason)
            assert dead.history and dead.seconds > 0
            assert after.solution is not None


def test_a_process_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(SolverError) as error:
        compare(SMALL, [NAME])
    assert str(error.value) == (
        "the solver process cannot be started: No such file or directory\n"
        "  it is '/nowhere/python -P -m mmopt.comparison.worker --fork'"
    )


def test_a_process_that_ends_before_it_begins(
    marked: Marked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\necho 'no scs today' >&2\nexit 1\n", encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(SolverError) as error:
        compare(SMALL, [NAME])
    assert str(error.value) == "the solver process ended with status 1 before it began\n  no scs today"


@pytest.mark.slow
def test_without_fork_each_has_a_fresh_process(marked: Marked) -> None:
    task, seen = replace(TASK, program=Program.load("query_weighting"), solver=None, time_limit=60.0), []
    with Isolated(forks=False) as isolated:
        outcome = isolated.run(task, seen.append)
        assert isolated.run(TASK).stop == "time limit"  # a runaway is killed too
    assert outcome.solution is not None
    here = solve(SMALL, task.program, time_limit=60.0)
    untimed = {"seconds": {}, "history": (), "stages": ()}
    assert replace(outcome.solution, **untimed) == replace(here, **untimed)
    assert outcome.seconds < hard_limit(60.0)  # it ended by itself
    assert any(point.certified for point in seen)


def test_ctrl_c_keeps_what_there_is(compared: Any) -> None:
    pressed: list[Progress] = []

    def press(point: Progress) -> None:
        if point.program == NAME and not pressed:  # a second Ctrl-C would not wait
            pressed.append(point)
            signal.raise_signal(signal.SIGINT)

    done, stopped, left = compared(BEFORE, GOES_ON, AFTER, progress=press)
    assert done.solution is not None and done.stop == "gap reached"
    assert stopped.stop == "interrupted" and stopped.solution is not None
    assert left == replace(left, solution=None, stop="not started", seconds=0.0, history=())
    assert left.problem == "not started: the comparison was interrupted" and not left.was_tried


@pytest.mark.slow
def test_ctrl_c_does_not_wait_for_one_that_cannot_be_stopped(
    compared: Any, marked_processes: tuple[Marked, Isolated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated_tasks, "HANDOVER_SECONDS", 0.0)

    def press() -> None:
        if wait_for(marked_processes[0].solving):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    (outcome,) = compared(RUNAWAY)
    thread.join()
    assert (outcome.solution, outcome.stop) == (None, "interrupted")
    assert outcome.reason.startswith("interrupted")


def test_a_second_ctrl_c_does_not_wait_at_all(
    compared: Any, marked_processes: tuple[Marked, Isolated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated_tasks, "HANDOVER_SECONDS", 1000.0)
    found, isolated = marked_processes
    pressed: list[int] = []

    def press(point: Progress) -> None:
        # The process stops, so that it does not answer the first.
        os.kill(found.solving()[0], signal.SIGSTOP)
        signal.raise_signal(signal.SIGINT)

    def press_again(worker: Worker, deadline: float) -> Any:
        if isolated.interrupted and not pressed:
            pressed.append(2)
            signal.raise_signal(signal.SIGINT)
        return Isolated._next(isolated, worker, deadline)

    monkeypatch.setattr(isolated, "_next", press_again)
    (outcome,) = compared(GOES_ON, progress=press)
    assert pressed and (outcome.solution, outcome.stop) == (None, "interrupted")
    assert outcome.reason.startswith("interrupted; its last certified point, after ")


PARENT = """
import pickle, sys, time
from mmopt.comparison_process import Worker
worker = Worker()
worker.send(pickle.load(sys.stdin.buffer))
time.sleep(1000)
"""


def test_nothing_outlives_a_parent_that_is_killed(marked: Marked) -> None:
    task = pickle.dumps(replace(TASK, time_limit=1000.0))
    # The modules that this process would find: the solver is among them.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, env=environment) as parent:
        assert parent.stdin is not None
        parent.stdin.write(task)
        parent.stdin.close()
        assert wait_for(lambda: [p for p in marked.solving() if marked.alive().get(p) != parent.pid])
        parent.kill()
    assert wait_for(lambda: not marked.alive())
