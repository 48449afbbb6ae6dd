"""Solve a row and lay the result beside what others reach."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from mmopt.pipeline import solve
from mmopt.results import Solution
from mmopt.testing.peers.rows import Row

__all__ = ["Reached", "reach"]


@dataclass(frozen=True)
class Reached:
    """value : the row's figure of the solution. bound : proved, of the same figure; None without one.

    cpu, wall : seconds of building the workload and solving it. peer, theirs : the best of the others, and
    its figure.
    """

    row: Row
    solution: Solution
    value: float
    bound: float | None
    cpu: float
    wall: float
    peer: str
    theirs: float

    @property
    def ratio(self) -> float:
        """Their figure over ours: above 1 where ours is better."""
        return self.theirs / self.value


def reach(row: Row, **options: Any) -> Reached:
    """Solve a row with ``mmopt.solve``'s options; errors as there."""
    cpu, wall = time.process_time(), time.monotonic()
    workload = row.build()
    solution = solve(workload, row.program, **options)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    value, bound = solution.objective, solution.bound
    if row.figure == "rmse":
        # rmse² is the objective per query where all weights are 1.
        value = solution.rmse
        bound = None if bound is None else (bound / workload.m) ** 0.5
    peer = min(row.peers, key=lambda name: row.peers[name])
    return Reached(row, solution, value, bound, cpu, wall, peer, row.peers[peer])
