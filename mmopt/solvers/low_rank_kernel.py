"""The halves of the low-rank mechanism, natively.

Both have the objective ‖R‖²_F + β ‖V - R A‖²_F, one also ν ‖A - S‖²_F. For a fixed A it is least squares with
a closed form; for a fixed R every column of A is sought in a unit ball, closest to given columns, by
accelerated projected gradients.
"""

import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.solvers.options_points_and_clock import Clock, KernelStep, Options, Pace, Point

STEPS_BETWEEN_GAPS = 10  # steps between two counts of the gap


@dataclass(frozen=True)
class Approximation:
    """A (p, n), ``columns``, after so many steps, with objective and bound by its own arithmetic."""

    columns: Array
    iterations: int
    objective: float
    bound: float

    @property
    def gap(self) -> float:
        ratio = self.objective / self.bound if self.bound > 0 else math.inf
        return 0.0 if self.objective <= self.bound else ratio - 1.0


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
    kept = (descending * np.arange(1, len(size) + 1)[:, None] > excess).sum(axis=0)
    level = excess[kept - 1, np.arange(len(over))] / kept
    result[:, over] = np.sign(columns[:, over]) * np.maximum(size[:, over] - level, 0.0)
    return result


def approach(
    reconstruction: Array, target: Array, price: float, before: Array, near: float, norm: int
) -> Iterator[Approximation]:
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
    ahead, momentum, steps = columns, 1.0, 0
    best, bound, least = columns, -math.inf, math.inf
    while True:
        rest, moved = target - reconstruction @ columns, columns - before
        missed = price * float(np.square(rest).sum())
        away = near * float(np.square(moved).sum())
        slope = 2 * price * (reconstruction.T @ rest) - 2 * near * moved
        # The dual norm of the slope, column by column: the most that a step within the balls can gain.
        pull = float(np.linalg.norm(slope, ord=math.inf if norm == 1 else 2, axis=0).sum())
        linear = 2 * price * float((rest * target).sum()) - 2 * near * float((moved * before).sum())
        bound = max(bound, fixed + linear - missed - away - pull)
        if fixed + missed + away < least:
            best, least = columns, fixed + missed + away
        yield Approximation(best, steps, least, bound)
        if not steepest > 0:
            continue  # R = 0: every A is as good
        for _ in range(STEPS_BETWEEN_GAPS):
            after = project(ahead - (square @ ahead - right) / steepest, norm)
            if ((ahead - after) * (after - columns)).sum() > 0:
                momentum = 1.0
                after = project(columns - (square @ columns - right) / steepest, norm)
            following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            ahead = after + (momentum - 1) / following * (after - columns)
            columns, momentum = after, following
        steps += STEPS_BETWEEN_GAPS


# Fitted on one thread of a shared core, to a factor of about three.
SECONDS_OF_STEP = 1e-9  # of a step, per entry of A and row of A
TYPICAL_STEPS = 500
ARRAYS_OF_STRATEGY = 12  # of the size of A that are held at a time


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (besides those of any solve) and seconds for the givens of a program that the kernel claims."""
    n = env["V"].shape[1]
    p = env["A"].shape[0] if "A" in env else env["R"].shape[1]
    steps = 1 if "A" in env else TYPICAL_STEPS
    return 8.0 * ARRAYS_OF_STRATEGY * p * n, 0.001 + SECONDS_OF_STEP * steps * p * n * max(p, 20)


NORMS: Mapping[str, int] = {"low_rank_strategy": 1, "low_rank_gaussian_strategy": 2}
PROGRAMS = ("low_rank_reconstruction", *NORMS)
LEAST_GAP = 1e-15


def reconstruction(strategy: Array, target: Array, price: float) -> Array:
    """R (r, p) with the least ‖R‖² + β ‖V - R A‖²: β V Aᵀ (I + β A Aᵀ)⁻¹.

    By the singular value decomposition of A (p, n), which does not square its condition.
    """
    left, values, right = np.linalg.svd(strategy, full_matrices=False)
    return np.asarray(((target @ right.T) * (price * values / (1.0 + price * values**2))) @ left.T)


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Points of a shipped program, each when the kernel's own gap is half of what is asked, or at the end.

    Parameters
    ----------
    program : one of ``PROGRAMS``.
    env : its givens and parameters by name.
    options : ``tolerance`` and ``max_iterations`` (steps) count.
    clock : looked at after every count of the gap.
    """
    target, price = np.asarray(env["V"], dtype=float), float(env["beta"])
    if program not in NORMS:
        half = reconstruction(np.asarray(env["A"], dtype=float), target, price)
        yield Point({"R": half}, {}, 1, "closed form", Stop.SOLVED)
        return
    fixed, before = np.asarray(env["R"], dtype=float), np.asarray(env["S"], dtype=float)
    yield from Pace.of(options, clock, 0.5, 1e-2, most=5_000).points(
        KernelStep(s.iterations, s.gap, (s.objective, s.bound), partial(_point, s), s.gap <= LEAST_GAP)
        for s in approach(fixed, target, price, before, float(env["near"]), NORMS[program])
    )


def _point(state: Approximation, stop: Stop | None) -> Point:
    """The point of an approximation: A."""
    raw, estimate = f"gap {state.gap:.1e} by its own arithmetic", (state.objective, state.bound)
    return Point({"A": state.columns}, {}, state.iterations, raw, stop, estimate=estimate)
