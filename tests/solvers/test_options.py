"""The clock of a solve."""

from __future__ import annotations

import numpy as np
import pytest

from mmopt.compiler import bind, lower
from mmopt.language import Program
from mmopt.queries import Workload
from mmopt.solvers import SOLVERS, Clock, Options, SolverRow, run


@pytest.mark.parametrize("row", [row for row in SOLVERS if "psd" in row.cones], ids=lambda row: row.name)
def test_the_clock_knows_when_the_solver_had_the_problem(row: SolverRow) -> None:
    # cvxpy's part of compiling happens on the way: it must count as that, not as solving.
    lowered = lower(bind(Program.load("l2_strategy"), Workload.from_matrix(np.tri(4))))
    with Clock(60.0) as clock:
        assert clock.handed_over == 0.0
        next(run(row, lowered, Options(), clock))
        assert 0.0 < clock.handed_over < clock.elapsed
