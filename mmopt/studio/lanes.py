"""The processes that answer pages: two for each of two pages, one for checks and one for solves.

A check is answered while a solve runs, and a page does not wait for another. A process that passes a limit or
is stopped is killed; what a page asks for anew ends what it had asked for before.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mmopt.comparison.isolated_tasks import Isolated, Run, ending_of
from mmopt.comparison.worker import Done, WorkerTask
from mmopt.comparison_process import Worker
from mmopt.errors import SolverError
from mmopt.limits import Stop, hard_limit
from mmopt.studio.calls import Offers, PageCall, Solve, problem_of

PAGES = 2  # at work at the same time


class Lane:
    """A process that answers the calls of a page one after another; the newest of each kind counts."""

    def __init__(self, worker: Worker | None = None) -> None:
        self._isolated = Isolated(worker=worker)
        self._free = threading.Lock()
        self._newest: dict[type[WorkerTask], Run] = {}
        self.users = 0  # requests of pages that it was handed out to

    @property
    def is_used(self) -> bool:
        """Whether it was ever asked."""
        return bool(self._newest)

    def answer(self, call: PageCall) -> dict[str, Any]:
        """The answer to a call, or why there is none; from any thread."""
        return self.followed(Run(call))

    def followed(self, run: Run) -> dict[str, Any]:
        """The answer of a run, which others may stop; it ends the one of its kind before it."""
        kind, limit = type(run.task), hard_limit(run.task.time_limit)
        before, self._newest[kind] = self._newest.get(kind), run
        if before is not None:
            before.stop()
        with self._free:
            if run.killed or self._isolated.is_over:
                return _no_answer(Stop.INTERRUPTED, "stopped before it began")
            run.clock = threading.Timer(limit, run.stop, (Stop.TIME,))
            try:
                status, words = self._isolated.follow(run, 2 * limit)
            except (SolverError, OSError) as error:
                return _no_answer(Stop.NO_RESULT, str(error))
            finally:
                run.clock.cancel()
        if isinstance(run.answer, Done) and not run.killed:
            return dict(run.answer.result)
        stop, reason, _ = ending_of(run, status, words)
        return _no_answer(stop, reason or stop)

    def stop(self) -> bool:
        """End all that it was asked for; whether something ran or waited."""
        runs = list(self._newest.values())
        is_running = not all(run.is_over or run.killed for run in runs)
        for run in runs:  # also one that is over: a comparison goes on after its list
            run.stop()
        return is_running

    def close(self) -> None:
        """End the process, also one that is about to start; none starts from now on."""
        self._isolated.end()
        with self._free:
            self._isolated.__exit__()


def _no_answer(stop: str, message: str) -> dict[str, Any]:
    """The words on a call that ended without an answer."""
    return {"problem": problem_of(SolverError(message)), "stop": stop}


def _load(checks: Lane, solves: Lane) -> None:
    """Load what checks need, which a page does first, and then the solvers: a solve of no program does."""
    checks.answer(Offers())
    if not solves.is_used:  # or a page would wait for this
        solves.answer(Solve(text="", workload={}))


class Lanes:
    """The lanes of the pages: a page that comes takes those of one that does nothing, the longest unused.

    Closed by the end of the block. worker : a process that was started for the first check.
    """

    def __init__(self, worker: Worker | None = None) -> None:
        self._lock = threading.Lock()
        self._pairs: dict[str, tuple[Lane, Lane]] = {}
        self._spare = [(Lane(one), Lane()) for one in (*[None] * (PAGES - 1), worker)]
        self._start()

    def _start(self) -> None:
        """Start the processes of the next pair, before they are needed."""
        for pair in self._spare[-1:]:
            threading.Thread(target=_load, args=pair, daemon=True).start()

    @contextmanager
    def of(self, page: str, *, is_work: bool) -> Iterator[Lane | None]:
        """The lane for a call of a page, for the block; None while all others are at work."""
        with self._lock:
            lane = None
            if (pair := self._pairs.pop(page, None) or self._free_pair()) is not None:
                self._pairs[page] = pair  # the last used stands last
                lane = pair[is_work]
                lane.users += 1
        try:
            yield lane
        finally:
            if lane is not None:
                with self._lock:
                    lane.users -= 1

    def _free_pair(self) -> tuple[Lane, Lane] | None:
        """A pair that no page has, or that of a page that does nothing."""
        if self._spare:
            pair = self._spare.pop()
            self._start()
            return pair
        idle = (name for name, pair in self._pairs.items() if not any(lane.users for lane in pair))
        return self._pairs.pop(next(idle, ""), None)

    def __enter__(self) -> "Lanes":
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            pairs = [*self._pairs.values(), *self._spare]
        for pair in pairs:
            for lane in pair:
                lane.close()
