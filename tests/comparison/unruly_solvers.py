"""Solvers that do not end, for the tests of what becomes of them; neither takes processor time."""

import signal
import time
from collections.abc import Iterator
from typing import Any

from own_solvers import by_scs

from mmopt.solvers.conic_problem import ConicProblem


def stuck(problem: ConicProblem) -> Any:
    """It hears no Ctrl-C."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    time.sleep(1000.0)


def endless(problem: ConicProblem) -> Iterator[Any]:
    """Yields one good point without end."""
    found = by_scs(problem)
    while True:
        yield {"x": found["x"], "y": found["y"]}
        time.sleep(0.01)
