"""Keep a C library off standard output, where ``--json`` prints."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quiet_output"]


@contextmanager
def quiet_output() -> Iterator[None]:
    """What is written to standard output below Python goes nowhere; Python's own is written before."""
    runtime = ctypes.CDLL(None if os.name == "posix" else "ucrtbase")
    sys.stdout.flush()
    runtime.fflush(None)
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        runtime.fflush(None)  # a pipe is buffered: without this the text comes out later
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
