"""Memory of one process: what it holds, its peak, and a limit. Where the system cannot say: None."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from mmopt.errors import OptionError
from mmopt.solvers import memory_limit

__all__ = ["allowed", "check_memory_limit", "held", "limited", "peak_above"]

LIMITS = sys.platform == "linux"  # macOS accepts these limits and ignores them


def check_memory_limit(gib: float | None) -> None:
    """Raise OptionError for a limit that is not positive, or that this system cannot keep."""
    if gib is None:
        return
    if not gib > 0:
        raise OptionError(f"a memory limit is a positive number of GiB, not {gib}")
    if not LIMITS:
        raise OptionError("a memory limit can be kept on Linux only", hint="leave it out")


def allowed(gib: float | None) -> int | None:
    """A limit in bytes, by default three quarters of the machine's memory; None where none can be kept.

    Raises
    ------
    OptionError : as ``check_memory_limit``.
    """
    check_memory_limit(gib)
    size = gib * 2**30 if gib is not None else memory_limit() if LIMITS else None
    return None if size is None else int(size)


def held(pid: int) -> int:
    """Bytes of its own (not of files mapped into it) that a process holds; 0 where it cannot be read."""
    return _status(pid).get("RssAnon", 0)


def peak_above(start: int, pid: int) -> int | None:
    """The largest number of bytes that a running process has held of its own, above ``start``.

    The kernel keeps the peak of all that is resident; what is mapped from files now is taken off it.
    """
    found = _status(pid)
    if "VmHWM" not in found:
        return None
    return max(0, found["VmHWM"] - found["RssFile"] - start)


@contextlib.contextmanager
def limited(size: int | None) -> Iterator[None]:
    """Allocations beyond ``size`` bytes above what is allocated now fail, until the end of the block."""
    if size is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _status("self")["VmData"] + size
    if before[1] != resource.RLIM_INFINITY:
        limit = min(limit, before[1])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _status(pid: int | str) -> dict[str, int]:
    """The sizes in /proc/PID/status, in bytes; nothing where there is none or the process is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in text.splitlines() if line.endswith(" kB"))
    return {name: int(value.split()[0]) * 1024 for name, value in pairs}
