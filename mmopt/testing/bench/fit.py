"""The exponent e of cost ~ n^e, by least squares on logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.testing.bench.measure import Row

__all__ = ["Exponent", "exponents", "fitted"]

SPAN = 8  # sizes below an eighth of the largest are left out: there the start of things dominates


@dataclass(frozen=True)
class Exponent:
    """cost ~ n^value over sizes from ``low`` to ``high``, of which there are ``count``."""

    program: str
    problem: str
    solver: str
    cpu: float
    memory: float | None
    low: int
    high: int
    count: int


def exponents(rows: Sequence[Row]) -> list[Exponent]:
    """One for each program, problem and solver with two or more sizes solved to the gap, in order."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.cpu is not None and row.has_reached:
            groups.setdefault((row.program, row.problem, row.solver), []).append(row)
    found = []
    for (program, problem, solver), all_sizes in groups.items():
        high = max(row.n for row in all_sizes)
        kept = [row for row in all_sizes if row.n * SPAN >= high]
        cpu = fitted([(row.n, row.cpu) for row in kept if row.cpu])
        if cpu is None:
            continue
        memory = fitted([(row.n, float(row.memory)) for row in kept if row.memory])
        low = min(row.n for row in kept)
        found.append(Exponent(program, problem, solver, cpu, memory, low, high, len(kept)))
    return found


def fitted(points: Sequence[tuple[float, float]]) -> float | None:
    """The slope of log y against log x; None for fewer than two different x."""
    if len({x for x, _ in points}) < 2:
        return None
    x, y = np.log(np.array(points, dtype=float).T)
    return float(np.polyfit(x, y, 1)[0])
