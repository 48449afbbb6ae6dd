"""The deadline: a block within it, one around it, and who asks."""

import contextlib
import math
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import mmopt
from mmopt import limits
from mmopt.limits import deadline, heeded, require_memory, require_time, time_left, uninterrupted

# At its limit at once: the two seconds that are granted beyond a limit are left out.
AT_ONCE = 1e-9


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GRACE", 0.0)


def test_the_earlier_of_two_deadlines_holds(no_grace: None) -> None:
    assert time_left() == math.inf
    require_time()
    with deadline(1e6), deadline(AT_ONCE):
        with pytest.raises(mmopt.TimeLimitError, match="the time limit, 1e-09 s"), deadline(1e6):
            require_time()
        with deadline(None):
            assert time_left() == 0.0
    require_time()


def test_without_a_limit_there_is_none_to_move() -> None:
    with limits.time_not_counted("nothing"):
        pass
    assert limits._DEADLINE.get() is limits._NO_LIMIT


def test_a_first_import_is_not_counted_by_any_deadline_around_it() -> None:
    for within in (None, 1e3, 1e9):
        with deadline(1e6):
            before = limits._DEADLINE.get()
            with deadline(within), limits.time_not_counted("nothing"):
                pass
            after = limits._DEADLINE.get()
            assert (after.limit, after.started > before.started) == (1e6, True)
        assert limits._DEADLINE.get() is limits._NO_LIMIT


def test_what_is_loaded_inside_something_is_counted_once_and_as_no_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [10.0]
    monkeypatch.setattr(limits, "LOADED", {})
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    assert limits.working() == 10.0
    with limits.time_not_counted("outer"):
        now[0] += 2.0
        for seconds in (5.0, 1.0):
            with limits.time_not_counted("inner"):
                now[0] += seconds
    assert limits.LOADED == {"inner": 6.0, "outer": 2.0} and limits.working() == 10.0


def test_what_takes_too_long_before_there_is_a_point(no_grace: None) -> None:
    for program in ("l2_strategy", "eigen_design", "query_weighting"):
        with pytest.raises(mmopt.TimeLimitError):
            mmopt.solve(mmopt.Workload.from_matrix(np.tri(4)), program, time_limit=AT_ONCE)


def test_ctrl_c_is_kept_to_the_end_of_short_work() -> None:
    """The outermost block answers it, and each puts back the handler that was there before."""
    before, done = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with uninterrupted():
            done.append("inner")

    with pytest.raises(KeyboardInterrupt), uninterrupted():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
        done.append("first")
        thread = threading.Thread(target=work)  # in which no signal is handled
        thread.start()
        thread.join()
        done.append("last")
    assert done == ["first", "inner", "last"] and signal.getsignal(signal.SIGINT) == before
    with pytest.raises(ZeroDivisionError), uninterrupted():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) == before


def test_ctrl_c_that_is_lost_ends_the_block_that_heeds_it() -> None:
    """Python loses what is raised in a ``__del__``; a second one that is not lost ends the block at once."""
    before, done = signal.getsignal(signal.SIGINT), []
    for inside in (heeded, uninterrupted, contextlib.nullcontext):
        with pytest.raises(KeyboardInterrupt), heeded():
            with contextlib.suppress(KeyboardInterrupt), inside():
                signal.raise_signal(signal.SIGINT)
            done.append(inside)
        assert signal.getsignal(signal.SIGINT) == before
    with pytest.raises(KeyboardInterrupt), heeded():
        signal.raise_signal(signal.SIGINT)
        done.append(signal)
    with pytest.raises(KeyboardInterrupt), heeded():
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("Query interrupted")  # as DuckDB says it
    with pytest.raises(ZeroDivisionError), heeded():
        raise ZeroDivisionError
    with heeded():
        pass
    assert done == [heeded, uninterrupted, contextlib.nullcontext]


def test_sizes_beyond_64_bits() -> None:
    with pytest.raises(mmopt.TooLargeError, match=r"10\^100 × 10\^100 entries"):
        require_memory((10**100, 10**100), "matrix")


def test_ctrl_c_that_the_system_answers_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that sets SIG_DFL wants to be ended at once, one that ignores the key to go on."""
    before, press, raised = signal.getsignal(signal.SIGINT), signal.raise_signal, list[int]()
    monkeypatch.setattr(signal, "raise_signal", raised.append)  # the default would end the tests
    try:
        for handler in (signal.SIG_DFL, signal.SIG_IGN):
            signal.signal(signal.SIGINT, handler)
            with heeded():
                assert signal.getsignal(signal.SIGINT) == handler
            with uninterrupted():
                press(signal.SIGINT)
                assert not raised
            assert signal.getsignal(signal.SIGINT) == handler
            assert [raised.pop()] == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
