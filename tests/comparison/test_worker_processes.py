"""Messages over a pipe: whole, or not at all."""

import io

import pytest

from mmopt.comparison.worker_processes import Ended, Started, frames, receive, send

pytestmark = pytest.mark.quick

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


def test_a_message_that_breaks_off_is_none(subtests: pytest.Subtests, sent: bytes) -> None:
    for missing in [1, 20]:
        with subtests.test(missing=missing):
            file = io.BytesIO(sent[:-missing])
            assert [receive(file) for _ in MESSAGES] == [*MESSAGES[:-1], None]
            buffer = bytearray(sent[:-missing])
            assert len(list(frames(buffer))) == len(MESSAGES) - 1 and buffer
