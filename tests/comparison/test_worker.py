"""Messages from a child are whole, or none; memory of a process has a peak and a limit."""

import os
from multiprocessing import Pipe

import numpy as np
import pytest
from processes import linux_only

from mmopt.comparison import isolated_tasks
from mmopt.comparison.isolated_tasks import limit_in_bytes
from mmopt.comparison.worker import pass_on
from mmopt.comparison_process import limited, memory_of, peak_above
from mmopt.errors import OptionError
from mmopt.solvers import memory_limit


@linux_only
def test_a_message_that_breaks_off_is_not_passed_on() -> None:
    (inlet, outlet), (parent, child) = Pipe(duplex=False), Pipe()
    with inlet, child:
        outlet.send("whole")
        os.write(outlet.fileno(), (100).to_bytes(4, "big") + b"a part")
        outlet.close()
        pass_on(inlet, child)
        with parent:
            assert parent.recv() == "whole" and not parent.poll()
        with pytest.raises(EOFError):
            pass_on(inlet, child)


MIB = 2**20


def test_a_limit_where_the_system_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated_tasks, "KEEPS_LIMITS", False)
    assert limit_in_bytes(None) is None
    with pytest.raises(OptionError) as error:
        limit_in_bytes(1.0)
    assert str(error.value) == "a memory limit can be kept on Linux only\n  leave it out"


def test_a_limit_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated_tasks, "KEEPS_LIMITS", True)
    assert limit_in_bytes(0.5) == 2**29
    assert limit_in_bytes(None) == int(memory_limit())
    with pytest.raises(OptionError):
        limit_in_bytes(0.0)


@linux_only
def test_the_limit_holds_inside_its_block_only() -> None:
    with limited(50 * MIB), pytest.raises(MemoryError):
        np.ones(100 * MIB // 8)
    with limited(None):
        assert np.ones(100 * MIB // 8).all()


@linux_only
def test_the_peak_is_remembered() -> None:
    start = memory_of(os.getpid())
    block = np.ones(100 * MIB // 8)
    assert memory_of(os.getpid()) >= start + 90 * MIB
    del block
    peak = peak_above(start, os.getpid())
    assert peak is not None and peak >= 90 * MIB


def test_a_process_that_is_gone() -> None:
    assert (memory_of(2**22 + 1), peak_above(0, 2**22 + 1)) == (0, None)
