"""Solvers as functions, for the tests: what a user would write, and what goes wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import scipy.optimize
import scs

from mmopt.solvers.conic_problem import ConicProblem

__version__ = "1.2"


def by_scs(problem: ConicProblem, eps: float = 1e-10) -> Any:
    """SCS itself, which returns a dictionary with x, y and more."""
    k = problem.cones
    cones = {"z": k.zero, "l": k.nonnegative, "q": list(k.second_order), "s": list(k.psd)}
    data = {"A": problem.A, "b": problem.b, "c": problem.c}
    if problem.P is not None:
        data["P"] = problem.P
    cones |= {"ep": k.exponential, "p": list(k.power)}
    return scs.solve(data, cones, verbose=False, eps_abs=eps, eps_rel=eps, max_iters=100_000)


def in_steps(problem: ConicProblem) -> Iterator[Any]:
    """Better and better points."""
    for eps in (1e-2, 1e-5, 1e-9, 1e-10):
        found = by_scs(problem, eps)
        yield {"x": found["x"], "y": found["y"], "iterations": 7, "status": f"at {eps:g}"}


def simplex(problem: ConicProblem) -> Any:
    """HiGHS of scipy, for linear programs: the example of ``conic_problem``."""
    z, a, b = problem.cones.zero, problem.A, problem.b
    found = scipy.optimize.linprog(
        problem.c,
        A_eq=a[:z],
        b_eq=b[:z],
        A_ub=a[z:],
        b_ub=b[z:],
        bounds=(None, None),
        options={"time_limit": problem.options.time_limit},
    )
    y = [*-found.eqlin.marginals, *-found.ineqlin.marginals]
    return {"x": found.x, "y": y, "iterations": found.nit, "status": found.message}


simplex.cones = {"zero", "nonnegative"}  # type: ignore[attr-defined]


def loud(problem: ConicProblem) -> Any:
    """It says so on standard output, above and below Python."""
    print("starting")
    os.write(1, b"working\n")
    return by_scs(problem)


def nonsense(problem: ConicProblem) -> Any:
    return None
