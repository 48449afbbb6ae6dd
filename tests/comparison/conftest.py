"""One process that loads the solvers, for most tests of the folder, and Ctrl-C as at a terminal."""

import signal
import sys
from collections.abc import Iterator
from multiprocessing import resource_tracker

import pytest
from processes import Marked, wait_for

from mmopt.comparison import Isolated


@pytest.fixture(scope="session")
def marked_processes() -> Iterator[tuple[Marked, Isolated]]:
    # It lives as long as this process. Whichever test needs it first would start it with the mark.
    resource_tracker.ensure_running()
    with pytest.MonkeyPatch.context() as patch:
        found = Marked(patch)
        with Isolated() as isolated:
            yield found, isolated
        assert sys.platform != "linux" or wait_for(lambda: not found.alive()), found.alive()


@pytest.fixture(scope="session")
def processes(marked_processes: tuple[Marked, Isolated]) -> Isolated:
    return marked_processes[1]


@pytest.fixture(autouse=True)
def _listening() -> Iterator[None]:
    """A shell lets what it starts in the background ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
