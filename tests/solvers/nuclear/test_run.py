"""Points at the gap asked for, and at what rounding allows."""

from __future__ import annotations

import numpy as np

from mmopt import Workload, solve


def test_a_gap_out_of_reach_costs_nothing() -> None:
    """What no arithmetic reaches is no reason to stop before the first step."""
    workload = Workload.from_matrix(np.tri(16))
    reached = solve(workload, "l2_strategy", tolerance=1e-10)
    for tolerance in (1e-14, 1e-15, 1e-300):
        found = solve(workload, "l2_strategy", tolerance=tolerance)
        assert found.gap is not None
        assert found.gap <= 1e-10
        assert found.objective <= reached.objective * (1 + 1e-10)
        assert found.status.stop == "gap not reached"
