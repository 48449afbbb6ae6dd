"""The other open solvers, through cvxpy's own interface: one run after another, ever tighter."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from mmopt.compiler import Lowered
from mmopt.solvers.handover import current, hand_over
from mmopt.solvers.options import Clock, Options, Point
from mmopt.solvers.quiet import quiet_output

__all__ = ["OPTIONS", "points"]

ROUNDS = (1.0, 1e-2, 1e-4)  # of the gap asked for


def _cvxopt(tolerance: float, options: Options) -> dict[str, Any]:
    return {
        "abstol": tolerance,
        "reltol": tolerance,
        "feastol": tolerance,
        "max_iters": options.max_iterations or 200,
        # The Cholesky solver refuses problems with redundant rows, which ours have.
        "kktsolver": "robust",
    }


def _qoco(tolerance: float, options: Options) -> dict[str, Any]:
    limit = {"max_iters": options.max_iterations} if options.max_iterations else {}
    return {"abstol": tolerance, "reltol": tolerance, **limit}


def _sdpa(tolerance: float, options: Options) -> dict[str, Any]:
    limit = {"maxIteration": options.max_iterations} if options.max_iterations else {}
    return {"epsilonStar": tolerance, "epsilonDash": tolerance, "numThreads": options.threads or 1, **limit}


# Each solver's names for our options.
OPTIONS: Mapping[str, Callable[[float, Options], dict[str, Any]]] = MappingProxyType(
    {"CVXOPT": _cvxopt, "QOCO": _qoco, "SDPA": _sdpa}
)


def points(solver: str, lowered: Lowered, options: Options, clock: Clock) -> Generator[Point, None, None]:
    """Points of increasing accuracy. These solvers cannot be stopped between: limits hold between rounds."""
    import cvxpy

    hand_over(lowered, solver)  # cvxpy keeps it for the runs below
    clock.hand_over()
    used = 0
    for number, factor in enumerate(ROUNDS):
        left = options.max_iterations - used if options.max_iterations else None
        tolerance = max(options.tolerance * factor, 1e-12)
        chosen = OPTIONS[solver](tolerance, replace(options, max_iterations=left))
        try:
            # SDPA prints remarks on standard output, whatever it is told.
            silent = quiet_output() if solver == "SDPA" and not options.verbose else nullcontext()
            with warnings.catch_warnings(), silent:
                warnings.simplefilter("ignore")  # "may be inaccurate": every point is certified anyway
                lowered.problem.solve(solver=solver, verbose=options.verbose, **chosen)
        except (cvxpy.SolverError, ValueError, ArithmeticError) as error:
            yield Point({}, {}, used, f"{type(error).__name__}: {error}", True, "failed")
            return
        word = str(lowered.problem.status)
        stats = lowered.problem.solver_stats
        used += int(stats.num_iters or 0) if stats is not None else 0
        if "infeasible" in word or "unbounded" in word:
            yield Point({}, {}, used, word, True, word.split("_")[0])
            return
        variables, multipliers = current(lowered)
        spent = options.max_iterations is not None and used >= options.max_iterations
        final = number == len(ROUNDS) - 1 or clock.is_over or spent
        stop = "stopped" if clock.is_over else "iteration limit" if spent else "solved"
        yield Point(variables, multipliers, used, word, final, stop)
        if final:
            return
