"""What a comparison and its processes say to each other, as length-prefixed pickles over private pipes.

Both ends are this program, so nothing that is unpickled comes from elsewhere; what is saved for others
(``Solution.save``) is never pickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from mmopt.language import Program
from mmopt.workloads import Workload

__all__ = ["Costing", "Done", "Ended", "Failed", "Solving", "Started", "frames", "receive", "send"]

HEADER = 8  # bytes of the length


@dataclass(frozen=True)
class Solving:
    """One combination.

    ``time_limit`` is the solver's, in seconds; ``memory_limit`` counts bytes above the start of the
    process; ``options`` are further keywords of ``solve``.
    """

    workload: Workload
    program: Program
    solver: str | None
    tolerance: float | None
    time_limit: float
    memory_limit: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Costing:
    """One baseline, to be evaluated for noise of these norms; limits as for ``Solving``."""

    workload: Workload
    baseline: str
    norms: tuple[int, ...]
    time_limit: float
    memory_limit: int | None = None


@dataclass(frozen=True)
class Started:
    """The process that works on the task, and its memory in bytes before it began."""

    pid: int
    memory: int


@dataclass(frozen=True)
class Done:
    """What was found: ``Solution.fields()`` (plain numbers, texts and arrays), or what a baseline costs.

    ``memory`` is the peak above the start, ``cpu`` the CPU seconds of all threads since the task began.
    """

    found: Any
    memory: int | None
    cpu: float | None = None


@dataclass(frozen=True)
class Failed:
    """No solution: ``stop`` in one or two words, ``reason`` in a sentence, ``problem`` in full."""

    stop: str
    reason: str
    problem: str
    memory: int | None


@dataclass(frozen=True)
class Ended:
    """The process is gone: its exit status, or minus the signal that ended it.

    ``whole``: so is the one that started it, if that was another.
    """

    status: int
    whole: bool = False


def send(file: IO[bytes], message: object) -> None:
    """Write one message and flush."""
    data = pickle.dumps(message)
    file.write(len(data).to_bytes(HEADER, "big") + data)
    file.flush()


def receive(file: IO[bytes]) -> Any:
    """The next message; None at the end, also in the middle of a message."""
    header = file.read(HEADER)
    data = file.read(int.from_bytes(header, "big")) if len(header) == HEADER else b""
    if len(header) < HEADER or len(data) < int.from_bytes(header, "big"):
        return None
    return pickle.loads(data)


def frames(buffer: bytearray) -> Iterator[bytes]:
    """Take the complete messages out of a buffer, as they are."""
    while len(buffer) >= HEADER:
        end = HEADER + int.from_bytes(buffer[:HEADER], "big")
        if len(buffer) < end:
            return
        yield bytes(buffer[:end])
        del buffer[:end]
