"""Solve a row and lay the result beside what others reach."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from mmopt.driver import solve
from mmopt.driver.templates import templates
from mmopt.strategies.baselines import evaluate
from mmopt.testing.peers.rows import Row
from mmopt.workloads import Workload

__all__ = ["Reached", "computed", "reach"]


@dataclass(frozen=True)
class Reached:
    """value : the row's figure. bound : proved, of the same figure; None without one.

    cpu, wall : seconds of building the workload and solving it. peer, theirs : the best of the others, and
    its figure.
    """

    row: Row
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

    @property
    def gap(self) -> float | None:
        """The figure over its bound, less 1."""
        return None if self.bound is None else self.value / self.bound - 1.0


def reach(row: Row, **options: Any) -> Reached:
    """Solve a row, with ``mmopt.solve``'s options where a program does it; errors as there."""
    cpu, wall = time.process_time(), time.monotonic()
    workload = row.build()
    value, bound = _templates(workload) if row.program == "templates" else _solved(row, workload, options)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    peer = min(row.peers, key=lambda name: row.peers[name])
    return Reached(row, value, bound, cpu, wall, peer, row.peers[peer])


def computed(row: Row) -> dict[str, float]:
    """The row's peers that are baselines, computed here under Laplace noise: root mean square per query."""
    workload = row.build()
    return {peer: evaluate(name, workload, (1,)).costs[0].rmse for peer, name in row.baselines.items()}


def _solved(row: Row, workload: Workload, options: dict[str, Any]) -> tuple[float, float | None]:
    solution = solve(workload, row.program, **options)
    if row.figure == "objective":
        return solution.objective, solution.bound
    bound = solution.bound
    return solution.rmse, None if bound is None else _per_query(bound, workload)


def _templates(workload: Workload) -> tuple[float, float]:
    found = templates(workload, 1)
    return found.best.rmse, _per_query(found.bound, workload)


def _per_query(error: float, workload: Workload) -> float:
    """Root mean square of a total error where all weights are 1."""
    return float((error / workload.m) ** 0.5)
