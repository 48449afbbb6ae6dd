"""Limits of memory and time, and the reasons why a solver, a search, a solve or a comparison ended.

A small file may ask for work of any size. So memory is checked where arrays are made, and time where steps
are repeated.
"""

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from types import FrameType

from mmopt.errors import TimeLimitError, TooLargeError, whole


class Stop(StrEnum):
    """Why a solver, a search or a solve ended: the words that are printed and saved."""

    # of a solver's last point
    SOLVED = "solved"
    STOPPED = "stopped"  # the time was over, or Ctrl-C was pressed
    FAILED = "failed"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    # of that, of a search and of a solve
    ITERATIONS = "iteration limit"
    LOCAL = "local optimum"  # of a solve: with what is known of its starts
    # of a solve
    REACHED = "gap reached"
    EVERY_STEP = "gap reached in every step"
    MISSED = "gap not reached"
    LIFTED = "gap not reached by the lifted point"
    TIME = "time limit"
    INTERRUPTED = "interrupted"
    FINISHED = "solver finished"  # of a program without a certificate
    RANK = "rank reached"  # in so many starts
    NO_RANK = "rank not reached"
    CLOSED = "closed form"
    CERTIFIED = "certified"
    # of a combination that is compared, without a solution
    MEMORY = "memory limit"
    CRASHED = "crashed"
    NO_RESULT = "no result"
    REFUSED = "refused"
    TOO_LARGE = "too large"
    UNSUITABLE = "does not apply"
    NOT_STARTED = "not started"

    __repr__ = str.__repr__


#: Bytes that one dense array may take.
MEMORY_LIMIT = 4 * 2**30
#: Bytes that a task may take in a process that has such a limit.
TASK_MEMORY: ContextVar[float] = ContextVar("task memory", default=math.inf)

GRACE, SHARE = 2.0, 0.2  # seconds, and share of the limit, to stop the solver and certify what it has


def require_memory(shape: tuple[int, ...], what: str, hint: str = "", share: int = 1) -> None:
    """Raise TooLargeError if a dense array of this shape would pass the memory limit, over ``share``."""
    if not fits_memory(shape, share):
        entries, size = " × ".join(map(whole, shape)), 8 * math.prod(shape)
        gigabytes = f"{size / 2**30:,.1f}" if size < 2**80 else whole(size // 2**30)
        raise TooLargeError(
            f"the {what} has {entries} entries, {gigabytes} GiB; "
            f"the limit is {MEMORY_LIMIT / share / 2**30:g} GiB",
            hint=hint,
        )


def fits_memory(shape: tuple[int, ...], share: int = 1) -> bool:
    """Whether a dense array of doubles of this shape is within the memory limit, divided by ``share``."""
    return 8 * share * math.prod(shape) <= MEMORY_LIMIT


def hard_limit(time_limit: float) -> float:
    """Seconds after which unfinished work is given up, where a solver has to stop after ``time_limit``."""
    return time_limit + GRACE + SHARE * time_limit


@dataclass(frozen=True)
class _Deadline:
    """A time limit, and the start from which it is counted (``time.monotonic``)."""

    limit: float
    started: float

    def left(self, seconds: float) -> float:
        """The seconds left until so many have passed since the start; negative afterwards."""
        return self.started + seconds - time.monotonic()


_NO_LIMIT = _Deadline(math.inf, 0.0)
_DEADLINE: ContextVar[_Deadline] = ContextVar("deadline", default=_NO_LIMIT)


@contextmanager
def deadline(time_limit: float | None) -> Iterator[None]:
    """Limit the time of the block to the ``hard_limit``; an earlier deadline around it stays."""
    new = _NO_LIMIT if time_limit is None else _Deadline(time_limit, time.monotonic())
    inside = new if new.limit < time_left() else _DEADLINE.get()
    token = _DEADLINE.set(inside)
    try:
        yield
    finally:
        not_counted = _DEADLINE.get().started - inside.started  # nor is it for the deadline around
        _DEADLINE.reset(token)
        if (around := _DEADLINE.get()) is not _NO_LIMIT:
            _DEADLINE.set(_Deadline(around.limit, around.started + not_counted))


def ended_after(seconds: float | None) -> AbstractContextManager[None]:
    """Limit the time of the block to ``seconds``, all in all where these are more than ``GRACE``."""
    return deadline(None if seconds is None else max(0.0, seconds - GRACE) / (1.0 + SHARE))


@contextmanager
def heeded(*, at_once: bool = True) -> Iterator[None]:
    """Answer Ctrl-C at once, and again at the end of the block.

    Python only prints an exception that is raised in a ``__del__``, and goes on; libraries raise another in
    its place. So the block ends with it. at_once : else it is answered at the end alone, as by the handler
    around the block.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not is_main or before is None or (at_once and not callable(before)):
        yield  # no signal is handled in this thread; or not by Python: the system ends the process at once
        return
    pressed: list[int] = []

    def press(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if at_once and callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, press)
    try:
        yield
    except Exception:
        if at_once and pressed:
            press(signal.SIGINT, None)
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed and callable(before):
        before(signal.SIGINT, None)
    elif pressed:
        signal.raise_signal(signal.SIGINT)  # as the system answers it


# Keep Ctrl-C to the end of the block, where it raises KeyboardInterrupt; for short work.
uninterrupted = partial(heeded, at_once=False)


LOADED: dict[str, float] = {}  # seconds of this process for what is loaded once, by its name


@contextmanager
def time_not_counted(what: str) -> Iterator[None]:
    """Leave the time of the block out: a first import may take seconds that are not part of the work.

    It is added up in ``LOADED``, under the name ``what``.
    """
    started, worked, current = time.monotonic(), working(), _DEADLINE.get()
    yield
    LOADED[what] = LOADED.get(what, 0.0) + working() - worked  # not again what is loaded inside
    if current is not _NO_LIMIT:
        _DEADLINE.set(_Deadline(current.limit, current.started + time.monotonic() - started))


def working() -> float:
    """A clock in seconds that stands still while something is loaded."""
    return time.monotonic() - sum(LOADED.values())


def time_left() -> float:
    """Seconds until a solver has to stop; infinity without a limit."""
    return max(0.0, _DEADLINE.get().left(_DEADLINE.get().limit))


def require_time() -> None:
    """Raise TimeLimitError when the ``hard_limit`` of the deadline is over."""
    current = _DEADLINE.get()
    if current.left(hard_limit(current.limit)) < 0:
        more = hard_limit(current.limit) - current.limit
        raise TimeLimitError(
            f"this takes longer than the time limit, {current.limit:g} s, and {more:g} s more",
            hint="allow more time, or ask for less: fewer cells, queries or steps",
        )
