"""A combination that runs away, crashes or is interrupted leaves an outcome, the rest, and no process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from processes import Marked, linux_only, wait_for

from mmopt import Program, SolverError, Workload, compare, solve
from mmopt.comparison import Outcome, combinations, isolate, outcomes
from mmopt.comparison.isolate import Isolated
from mmopt.comparison.worker_processes import Solving
from mmopt.driver import Progress
from mmopt.limits import hard_limit

pytestmark = linux_only

SMALL = Workload.from_matrix(np.tri(4))
LARGE = Workload.from_matrix(np.tri(48), targets=np.ones(48))
LONG = "fitness_for_use"  # takes SCS a dozen seconds for LARGE, with a certified point in each
ENDLESS = 1e-15  # a gap that SCS does not reach


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Marked]:
    """Processes of the test; none may be left, not even one that only waits to be counted."""
    found = Marked(monkeypatch)
    yield found
    assert wait_for(lambda: not found.alive(), 10.0)  # the system takes a moment to clear away the killed
    assert not waits_to_be_counted()


def waits_to_be_counted() -> bool:
    """Whether some process of ours has ended unnoticed."""
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(-1, os.WNOHANG) != (0, 0)
    return False


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Marked, Isolated]]:
    """A process that loads the solvers, for several tests."""
    with pytest.MonkeyPatch.context() as patch:
        found = Marked(patch)
        with Isolated() as isolated:
            yield found, isolated
        assert wait_for(lambda: not found.alive(), 10.0)


@pytest.fixture
def compared(shared: tuple[Marked, Isolated]) -> Iterator[Callable[..., list[Outcome]]]:
    """``compare`` in that process, of which no child may be left."""
    found, isolated = shared

    def call(workload: Workload, *chosen: Any, **options: Any) -> list[Outcome]:
        return list(outcomes(workload, combinations(*chosen), isolated=isolated, **options))

    yield call
    assert wait_for(lambda: not found.solving(), 10.0)
    assert not waits_to_be_counted()


def test_one_that_cannot_be_stopped_is_killed(compared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.limits.GRACE", 0.88)
    # CVXOPT takes no time limit; this would take it half a minute.
    runaway, after = compared(LARGE, ["l2_strategy", "query_weighting"], ["cvxopt"], time_limit=0.1)
    assert runaway.solution is None and runaway.was_tried
    assert runaway.stop == "time limit"
    assert runaway.reason == "stopped after 1 s by the time limit of 0.1 s, before it had a certified point"
    assert runaway.seconds >= hard_limit(0.1)
    assert runaway.memory is not None and runaway.memory > 2**20
    assert after.solution is not None


def test_one_that_can_be_stopped_gives_what_it_has(compared: Any) -> None:
    (outcome,) = compared(LARGE, [LONG], ["scs"], ENDLESS, time_limit=0.3)
    assert outcome.solution is not None
    assert outcome.stop == outcome.solution.status.stop == "time limit"


def test_one_that_takes_too_much_memory(compared: Any) -> None:
    # Rust aborts, Python raises, SCS takes little.
    rust, python, small = compared(LARGE, ["l2_strategy"], ["clarabel", "cvxopt", "scs"], memory_limit=0.1)
    for outcome in (rust, python):
        assert (outcome.solution, outcome.stop) == (None, "memory limit")
        assert outcome.problem == (
            "needed more than 0.1 GiB\n"
            "  allow more memory, or try another solver (a first-order one needs least) or formulation"
        )
    assert small.solution is not None
    assert small.memory is not None and small.memory < 0.1 * 2**30


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGSEGV, "the process ended with signal 11 (SIGSEGV)"),
        (signal.SIGKILL, "the process was killed (signal 9), as the system does when memory runs out"),
    ],
    ids=["segmentation fault", "out of memory"],
)
def test_one_that_dies(
    number: signal.Signals, reason: str, compared: Any, shared: tuple[Marked, Isolated]
) -> None:
    def kill(point: Progress) -> None:
        if point.program == LONG:
            os.kill(shared[0].solving()[0], number)

    programs = [LONG, "query_weighting"]
    dead, after = compared(LARGE, programs, ["scs"], [1e-9], progress=kill, memory_limit=4.0)
    assert (dead.solution, dead.stop, dead.reason) == (None, "crashed", reason)
    assert dead.history and dead.seconds > 0
    assert after.solution is not None


def test_a_process_that_cannot_start(marked: Marked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(SolverError) as error:
        compare(SMALL, ["query_weighting"])
    assert str(error.value) == (
        "the process that solves cannot be started: No such file or directory\n"
        "  it is '/nowhere/python -P -m mmopt.comparison.worker --fork'"
    )


def test_a_process_that_ends_before_it_begins(marked: Marked, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "scs.py"), "w", encoding="utf-8") as file:
            file.write("raise SystemExit('no scs today')")
        monkeypatch.setattr(sys, "path", [folder, *sys.path])
        with pytest.raises(SolverError) as error:
            compare(SMALL, ["query_weighting"], ["clarabel"])
    assert str(error.value) == "the process that solves ended with status 1 before it began\n  no scs today"


@pytest.mark.slow
def test_without_fork_each_has_a_fresh_process(marked: Marked) -> None:
    tasks = [
        Solving(workload=SMALL, program=Program.load(name), solver=None, tolerance=None, time_limit=60.0)
        for name in ("l2_strategy", "query_weighting")
    ]
    seen: list[Progress] = []
    with Isolated(forks=False) as isolated:
        outcomes = [isolated.run(task, seen.append) for task in tasks]
    for task, outcome in zip(tasks, outcomes, strict=True):
        assert outcome.solution is not None
        here = solve(SMALL, task.program, time_limit=60.0)
        untimed = {"seconds": {}, "history": ()}
        assert replace(outcome.solution, **untimed) == replace(here, **untimed)
        assert outcome.seconds < hard_limit(60.0)  # it ended by itself
    assert [point.program for point in seen if point.certified] == ["l2_strategy", "query_weighting"]


@pytest.mark.slow
def test_without_fork_a_runaway_is_killed_too(marked: Marked) -> None:
    slow = Solving(
        workload=LARGE, program=Program.load("l2_strategy"), solver="cvxopt", tolerance=None, time_limit=0.1
    )
    with Isolated(forks=False) as isolated:
        assert isolated.run(slow).stop == "time limit"
        assert isolated.run(replace(slow, solver="scs")).solution is not None


def test_ctrl_c_keeps_what_there_is(
    compared: Any, shared: tuple[Marked, Isolated], monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed: list[Progress] = []
    monkeypatch.setattr(shared[1], "interrupted", False)  # as it will be for other tests

    def press(point: Progress) -> None:
        if point.program == LONG and not pressed:  # a second Ctrl-C would not wait
            pressed.append(point)
            signal.raise_signal(signal.SIGINT)

    programs = ["query_weighting", LONG, "eigen_design"]
    done, stopped, left = compared(LARGE, programs, ["scs"], ENDLESS, progress=press)
    assert done.solution is not None and done.stop == "gap not reached"
    assert stopped.stop == "interrupted" and stopped.solution is not None
    assert left == replace(left, solution=None, stop="not started", seconds=0.0, history=())
    assert left.problem == "not started: the comparison was interrupted" and not left.was_tried


def test_ctrl_c_does_not_wait_for_one_that_cannot_be_stopped(
    marked: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolate, "HANDOVER_SECONDS", 0.2)

    def press() -> None:
        if wait_for(marked.solving):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    (outcome,) = compare(LARGE, ["l2_strategy"], ["cvxopt"])
    thread.join()
    assert (outcome.solution, outcome.stop) == (None, "interrupted")
    assert outcome.reason.startswith("interrupted")


def test_a_second_ctrl_c_does_not_wait_at_all(marked: Marked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolate, "HANDOVER_SECONDS", 1000.0)

    def press(point: Progress) -> None:
        # The process stops, so that it does not answer the first.
        os.kill(marked.solving()[0], signal.SIGSTOP)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        signal.raise_signal(signal.SIGINT)

    (outcome,) = compare(LARGE, [LONG], ["scs"], ENDLESS, progress=press)
    assert (outcome.solution, outcome.stop) == (None, "interrupted")
    assert outcome.reason.startswith("interrupted; its last certified point, after ")


def test_nothing_outlives_a_parent_that_is_killed(marked: Marked) -> None:
    code = (
        "import numpy as np, mmopt\n"
        "w = mmopt.Workload.from_matrix(np.tri(48))\n"
        "mmopt.compare(w, ['l2_strategy'], ['cvxopt'])\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        assert wait_for(lambda: [p for p in marked.solving() if marked.alive().get(p) != parent.pid])
        parent.kill()
    assert wait_for(lambda: not marked.alive())
