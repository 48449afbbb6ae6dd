"""Columns in a unit ball that a matrix takes closest to given columns: accelerated projected gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.components import Array

__all__ = ["State", "approach", "project"]

EVERY = 10  # steps between two counts of the gap


@dataclass(frozen=True)
class State:
    """A (p, n) after so many steps, with objective and bound by its own arithmetic."""

    columns: Array
    iterations: int
    objective: float
    bound: float

    @property
    def gap(self) -> float:
        if self.objective <= self.bound:
            return 0.0
        return self.objective / self.bound - 1.0 if self.bound > 0 else math.inf


def project(columns: Array, norm: int) -> Array:
    """The nearest columns of L1 or L2 norm at most 1 (norm 1: Duchi et al., ICML 2008, by sorting)."""
    if norm == 2:
        return np.asarray(columns / np.maximum(1.0, np.linalg.norm(columns, axis=0)))
    size = np.abs(columns)
    over = np.flatnonzero(size.sum(axis=0) > 1.0)
    if not len(over):
        return columns
    result = columns.copy()
    descending = -np.sort(-size[:, over], axis=0)
    excess = np.cumsum(descending, axis=0) - 1.0
    count = np.arange(1, len(size) + 1)[:, None]
    kept = (descending * count > excess).sum(axis=0)
    level = excess[kept - 1, np.arange(len(over))] / kept
    result[:, over] = np.sign(columns[:, over]) * np.maximum(size[:, over] - level, 0.0)
    return result


def approach(
    reconstruction: Array, target: Array, price: float, before: Array, near: float, norm: int
) -> Iterator[State]:
    """Better and better A for min ‖R‖² + β ‖V - R A‖² + ν ‖A - S‖², columns of norm at most 1; without end.

    A step that leads uphill restarts the acceleration (O'Donoghue & Candès 2015). The bound is that of the
    programs at Y = 2 β (V - R A) and T = A - S.

    Parameters
    ----------
    reconstruction : R (r, p). target : V (r, n). price : β > 0. before : S (p, n), where it starts
    when ν > 0. near : ν >= 0. norm : 1 or 2.
    """
    square = price * (reconstruction.T @ reconstruction) + near * np.eye(len(before))
    right = price * (reconstruction.T @ target) + near * before
    fixed = float(np.square(reconstruction).sum())
    steepest = float(np.linalg.eigvalsh(square)[-1])
    start = before if near > 0 else np.asarray(np.linalg.lstsq(reconstruction, target, rcond=None)[0])
    columns = project(start.astype(np.float64), norm)
    ahead, momentum = columns, 1.0
    best, bound = columns, -math.inf
    least = math.inf
    steps = 0
    while True:
        rest, moved = target - reconstruction @ columns, columns - before
        missed = price * float(np.square(rest).sum())
        away = near * float(np.square(moved).sum())
        slope = 2 * price * (reconstruction.T @ rest) - 2 * near * moved
        pull = float(np.linalg.norm(slope, ord=_dual(norm), axis=0).sum())
        linear = 2 * price * float((rest * target).sum()) - 2 * near * float((moved * before).sum())
        bound = max(bound, fixed + linear - missed - away - pull)
        if fixed + missed + away < least:
            best, least = columns, fixed + missed + away
        yield State(best, steps, least, bound)
        if not steepest > 0:
            continue  # R = 0: every A is as good
        for _ in range(EVERY):
            after = project(ahead - (square @ ahead - right) / steepest, norm)
            if ((ahead - after) * (after - columns)).sum() > 0:
                momentum = 1.0
                after = project(columns - (square @ columns - right) / steepest, norm)
            following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            ahead = after + (momentum - 1) / following * (after - columns)
            columns, momentum = after, following
        steps += EVERY


def _dual(norm: int) -> float:
    return math.inf if norm == 1 else 2
