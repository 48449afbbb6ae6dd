"""A thread that answers Ctrl-C and ends the process at its limit, while the main one is inside a solver."""

from __future__ import annotations

import math
import os
import select
import signal
import socket
import threading
import time
from dataclasses import dataclass

from mmopt.cli.output import note

__all__ = ["INTERRUPTED", "MISTAKE", "WATCH"]

MISTAKE = 2
INTERRUPTED = 130  # as shells say for SIGINT
SLICE = 0.2  # seconds of waiting at a time
PATIENCE = 1.0  # seconds that the main thread has to end by itself


@dataclass
class Watch:
    """``end``: of everything (``time.monotonic``); ``pressed``: how often Ctrl-C was."""

    end: float = math.inf
    pressed: int = 0

    def begin(self) -> None:
        """Watch from now on; called by the main thread of a process of its own."""
        inlet, outlet = socket.socketpair()
        outlet.setblocking(False)
        signal.set_wakeup_fd(outlet.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(inlet, outlet), daemon=True).start()

    def _watch(self, inlet: socket.socket, outlet: socket.socket) -> None:
        # ``outlet`` is held so that it stays open. The main thread looks at the limit itself, but not inside
        # native code.
        while time.monotonic() < self.end + PATIENCE:
            if not select.select([inlet], [], [], SLICE)[0]:
                continue
            self.pressed += inlet.recv(64).count(signal.SIGINT)
            time.sleep(PATIENCE / 2)  # mostly the main thread ends meanwhile, and this one with it
            if self.pressed > 1:
                note("interrupted, nothing written")
                os._exit(INTERRUPTED)
            if self.pressed:
                note("interrupted: ending with what there is; Ctrl-C again ends at once")
        note("error: stopped at the time limit, without a result\n  allow more time, or ask for less")
        os._exit(MISTAKE)


WATCH = Watch()
