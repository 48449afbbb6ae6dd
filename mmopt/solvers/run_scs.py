"""SCS, a first-order method: run in stretches, each point certified, stopped on the certified gap.

Reference: O'Donoghue, Chu, Parikh & Boyd, Conic optimization via operator splitting and homogeneous
self-dual embedding, JOTA 2016.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mmopt.compiler import Lowered
from mmopt.solvers.handover import hand_over
from mmopt.solvers.options import Clock, Options, Point, Vectors

__all__ = ["points"]

FIRST = 100  # iterations of the first stretch; each further one is half as long again
GROWTH = 1.5
LIMIT = 200_000
SIGINT = -5
FAILED = {-1: "unbounded", -6: "unbounded", -2: "infeasible", -7: "infeasible", -4: "failed", -3: "failed"}
INACCURATE = (-6, -7)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block: SCS listens for it while it sets up, and forgets it."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def points(lowered: Lowered, options: Options, clock: Clock) -> Generator[Point, None, None]:
    """Points of increasing accuracy; the consumer stops when its certified gap is reached."""
    import scs
    from cvxpy.reductions.solvers.conic_solvers.scs_conif import dims_to_solver_dict

    handed = hand_over(lowered, "SCS")
    clock.hand_over()
    data = {"A": handed.data["A"], "b": handed.data["b"], "c": handed.data["c"]}
    cones = dims_to_solver_dict(handed.cones)  # type: ignore[no-untyped-call]
    limit = options.max_iterations or LIMIT
    start: dict[str, Any] = {}
    used, length = 0, float(FIRST)
    # Far below what is asked: the stretch, not the solver's own test, ends a run.
    tight = max(options.tolerance * 1e-5, 1e-12)
    while True:
        stretch = int(min(length, limit - used))
        seconds = min(max(clock.left, 1e-3), 1e9)  # 0 means no limit
        with _interrupts_later():
            solver = scs.SCS(
                data,
                cones,
                verbose=options.verbose,
                eps_abs=tight,
                eps_rel=tight,
                max_iters=stretch,
                time_limit_secs=seconds,
            )
        if clock.interrupted:
            yield Point({}, {}, used, "interrupted", True, "stopped")
            return
        raw = solver.solve(warm_start=bool(start), **start)
        info = raw["info"]
        code, word = info["status_val"], info["status"]
        if code == SIGINT:
            clock.press()
        used += int(info["iter"])
        vectors = Vectors(handed, np.array(raw["x"]), np.array(raw["y"]))
        if code in FAILED:
            # What it calls infeasible or unbounded only because its time is over is not looked into.
            stop = "stopped" if clock.is_over and code in INACCURATE else FAILED[code]
            yield Point({}, {}, used, word, True, stop, vectors)
            return
        if code == SIGINT or not np.isfinite(raw["x"]).all():
            yield Point({}, {}, used, word, True, "stopped" if code == SIGINT else "failed")
            return
        start = {"x": raw["x"], "y": raw["y"], "s": raw["s"]}
        spent = used >= limit
        final = code == 1 or spent or clock.is_over
        stop = "stopped" if clock.is_over else "iteration limit" if spent and code != 1 else "solved"
        raw["info"]["status_val"] = 2
        variables, multipliers = handed.named(raw)
        yield Point(variables, multipliers, used, word, final, stop, vectors)
        if final:
            return
        length *= GROWTH
