"""Points of the shipped programs, by the kernel."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import numpy as np

from mmopt.numerics.components import Array
from mmopt.solvers.low_rank.columns import State, approach
from mmopt.solvers.options import Clock, Options, Point

__all__ = ["PROGRAMS", "points", "reconstruction"]


NORMS: Mapping[str, int] = {"low_rank_strategy": 1, "low_rank_gaussian_strategy": 2}
PROGRAMS = ("low_rank_reconstruction", *NORMS)
MOST = 5_000  # steps, unless an option says otherwise
FINER = 1e-2  # if a point's certified gap is too large after all, the next one's is smaller by this
FINEST = 1e-15


def reconstruction(strategy: Array, target: Array, price: float) -> Array:
    """R (r, p) with the least ‖R‖² + β ‖V - R A‖²: β V Aᵀ (I + β A Aᵀ)⁻¹.

    By the singular value decomposition of A (p, n), which does not square its condition.
    """
    left, values, right = np.linalg.svd(strategy, full_matrices=False)
    factors = price * values / (1.0 + price * values**2)
    return np.asarray(((target @ right.T) * factors) @ left.T)


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
        found = reconstruction(np.asarray(env["A"], dtype=float), target, price)
        yield Point({"R": found}, {}, 1, "closed form", True, "solved")
        return
    fixed, before = np.asarray(env["R"], dtype=float), np.asarray(env["S"], dtype=float)
    goal, most = options.tolerance / 2, options.max_iterations or MOST
    for state in approach(fixed, target, price, before, float(env["near"]), NORMS[program]):
        stop = _stop(state, clock, most)
        if state.gap > goal and not stop:
            continue
        if state.gap <= FINEST:
            stop = "solved"
        raw = f"gap {state.gap:.1e} by its own arithmetic"
        yield Point({"A": state.columns}, {}, state.iterations, raw, bool(stop), stop or "solved")
        if stop:
            return
        goal *= FINER


def _stop(state: State, clock: Clock, most: int) -> str:
    if clock.is_over:
        return "stopped"
    return "iteration limit" if state.iterations >= most else ""
