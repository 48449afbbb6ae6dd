"""Messages over a pipe are whole, or none; memory of a process has a peak and a limit."""

import io
import os

import numpy as np
import pytest
from processes import linux_only

from mmopt.comparison import worker_processes as memory
from mmopt.comparison.worker_processes import (
    Ended,
    Started,
    allowed,
    check_memory_limit,
    frames,
    held,
    limited,
    peak_above,
    receive,
    send,
)
from mmopt.errors import OptionError
from mmopt.solvers import memory_limit

MESSAGES = [Started(7, 2**40), Ended(-9), Ended(0, whole=True)]


@pytest.fixture
def sent() -> bytes:
    file = io.BytesIO()
    for message in MESSAGES:
        send(file, message)
    return file.getvalue()


def test_back_and_forth(sent: bytes) -> None:
    file = io.BytesIO(sent)
    assert [receive(file) for _ in MESSAGES] == MESSAGES
    assert receive(file) is None


def test_frames_in_pieces(subtests: pytest.Subtests, sent: bytes) -> None:
    for piece in [1, 3, 50, 10_000]:
        with subtests.test(piece=piece):
            buffer, found = bytearray(), b""
            for start in range(0, len(sent), piece):
                buffer += sent[start : start + piece]
                found += b"".join(frames(buffer))
            assert (found, buffer) == (sent, b"")


def test_a_message_that_breaks_off_is_none(sent: bytes) -> None:
    for missing in [1, 20]:
        file = io.BytesIO(sent[:-missing])
        assert [receive(file) for _ in MESSAGES] == [*MESSAGES[:-1], None]
        buffer = bytearray(sent[:-missing])
        assert len(list(frames(buffer))) == len(MESSAGES) - 1 and buffer


MIB = 2**20


def test_a_limit_where_the_system_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "KEEPS_LIMITS", False)
    check_memory_limit(None)
    with pytest.raises(OptionError) as error:
        check_memory_limit(1.0)
    assert str(error.value) == "a memory limit can be kept on Linux only\n  leave it out"


def test_a_limit_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "KEEPS_LIMITS", True)
    assert allowed(0.5) == 2**29
    assert allowed(None) == int(memory_limit())
    with pytest.raises(OptionError):
        allowed(0.0)
    monkeypatch.setattr(memory, "KEEPS_LIMITS", False)
    assert allowed(None) is None


@linux_only
def test_the_limit_holds_inside_its_block_only() -> None:
    with limited(50 * MIB), pytest.raises(MemoryError):
        np.ones(100 * MIB // 8)
    with limited(None):
        assert np.ones(100 * MIB // 8).all()


@linux_only
def test_the_peak_is_remembered() -> None:
    start = held(os.getpid())
    block = np.ones(100 * MIB // 8)
    assert held(os.getpid()) >= start + 90 * MIB
    del block
    peak = peak_above(start, os.getpid())
    assert peak is not None and peak >= 90 * MIB


def test_a_process_that_is_gone() -> None:
    assert (held(2**22 + 1), peak_above(0, 2**22 + 1)) == (0, None)
