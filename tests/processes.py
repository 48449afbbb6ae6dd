"""The processes that a test has started, found by a mark in their environment (Linux)."""

from __future__ import annotations

import contextlib
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

MARK = "MMOPT_TEST_MARK"
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Marked:
    """Sets the mark; processes started from now on inherit it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._value = uuid.uuid4().hex
        monkeypatch.setenv(MARK, self._value)

    def alive(self) -> dict[int, int]:
        """Parent by process, of all with the mark that have not ended."""
        wanted = f"{MARK}={self._value}".encode()
        found = {}
        for folder in Path("/proc").iterdir():
            # It may end while it is looked at, or belong to somebody else.
            with contextlib.suppress(OSError):
                if folder.name.isdigit() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        return found

    def solving(self) -> list[int]:
        """Those whose parent has the mark too: the children of the process that has the solvers loaded."""
        alive = self.alive()
        return [pid for pid, parent in alive.items() if alive.get(parent) is not None]


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Whether the condition comes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False
