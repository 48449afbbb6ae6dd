"""SCS and Ctrl-C."""

import signal
import sys
from typing import Any

import numpy as np
import pytest
import scs

from mmopt.compiler import bind, lower
from mmopt.language import Program
from mmopt.solvers import SOLVERS, Clock, Options, run
from mmopt.workloads import Workload


@pytest.mark.skipif(sys.platform == "win32", reason="signals cannot be held back")
def test_ctrl_c_while_it_sets_up_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = scs.SCS

    def forgetful(*arguments: Any, **options: Any) -> Any:
        """As in C: its own listener while it sets up, whose word nobody asks for."""
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        signal.raise_signal(signal.SIGINT)
        found = setup(*arguments, **options)
        signal.signal(signal.SIGINT, before)
        return found

    monkeypatch.setattr(scs, "SCS", forgetful)
    row = next(row for row in SOLVERS if row.name == "scs")
    lowered = lower(bind(Program.load("l2_strategy"), Workload.from_matrix(np.tri(4))))
    with Clock(60.0) as clock:
        (point,) = run(row, lowered, Options(), clock)
        assert clock.interrupted
    assert (point.stop, point.final, point.variables) == ("stopped", True, {})
