"""Clarabel, an interior-point method: rounds with ever tighter tolerances.

Reference: Goulart & Chen, Clarabel: an interior-point solver for conic programs with quadratic
objectives, 2024.
"""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from mmopt.compiler import Lowered
from mmopt.errors import SolverError
from mmopt.solvers.handover import hand_over
from mmopt.solvers.options import Clock, Options, Point, Vectors

__all__ = ["points"]

ROUNDS = (1e-2, 1e-4, 1e-6)  # of the gap asked for
INFEASIBLE = {"PrimalInfeasible": "infeasible", "DualInfeasible": "unbounded"}


def points(lowered: Lowered, options: Options, clock: Clock) -> Generator[Point, None, None]:
    """Points of increasing accuracy; the consumer stops when its certified gap is reached."""
    import clarabel
    from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import dims_to_solver_cones

    handed = hand_over(lowered, "CLARABEL")
    clock.hand_over()
    q = handed.data["c"]
    p = sp.csc_array((q.size, q.size))
    cones = dims_to_solver_cones(handed.cones)  # type: ignore[no-untyped-call]
    used = 0
    for number, factor in enumerate(ROUNDS):
        settings = clarabel.DefaultSettings()
        settings.verbose = options.verbose
        tolerance = max(options.tolerance * factor, 1e-13)
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        settings.max_threads = options.threads or 0
        if options.max_iterations is not None:
            settings.max_iter = max(1, options.max_iterations - used)
        try:
            solver = clarabel.DefaultSolver(p, q, handed.data["A"], handed.data["b"], cones, settings)
            # A callback instead of the solver's own limit: it also sees Ctrl-C.
            solver.set_termination_callback(lambda info: clock.is_over)
            raw = solver.solve()
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # what Rust calls a bug of its own; not exported
                raise
            raise SolverError(
                f"clarabel failed: {error}", hint="another solver may do: --solver scs"
            ) from None
        word = str(raw.status)
        used += int(raw.iterations)
        stopped = clock.is_over or word.startswith("CallbackTerminated")
        spent = options.max_iterations is not None and used >= options.max_iterations
        vectors = Vectors(handed, np.array(raw.x), np.array(raw.z))
        if word in INFEASIBLE:
            yield Point({}, {}, used, word, True, INFEASIBLE[word], vectors)
            return
        final = number == len(ROUNDS) - 1 or stopped or spent
        stop = "stopped" if stopped else "iteration limit" if spent else "solved"
        # An iterate is worth certifying whatever the solver calls it, if it is made of numbers.
        if np.isfinite(vectors.x).all() and np.isfinite(vectors.y).all():
            known = SimpleNamespace(
                x=vectors.x,
                z=vectors.y,
                status="AlmostSolved",
                obj_val=0.0,
                solve_time=0.0,
                iterations=used,
            )
            variables, multipliers = handed.named(known)
            yield Point(variables, multipliers, used, word, final, stop, vectors)
        if final:
            return
