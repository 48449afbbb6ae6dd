"""fitness_level as a problem of the nuclear norm: what the held noise leaves of queries, cells and targets.

The settled cells and queries take no part. Query j may have the variance c - v beyond what it has of the held
noise, cell i costs f whatever else is done, and with the queries L J B of what is left b = f,
the optimum is the largest of f @ p + N(p, q)² over p of sum 1 and q with (c - v) @ q = 1.
"""

from __future__ import annotations

from dataclasses import replace

from array_api_compat import array_namespace as namespace

from mmopt.solvers.nuclear.nuclear_problem import Array, Care, Env, Problem, conditioned, whole
from mmopt.solvers.nuclear.weighted_spectrum import Iterate, spectra_of

__all__ = ["multipliers", "point", "problem"]


def _left(env: Env) -> tuple[Array, Array]:
    """Whether a query, and a cell, is left to be settled."""
    return env["open"] > 0, env["free"] > 0


def _beyond(env: Env) -> tuple[Array, Array]:
    """H, the precision of the held noise, and J, which takes it out of the basis: as in the program."""
    held, start = env["D"], env["S0"]
    xp = namespace(held)
    precision = held.T @ xp.linalg.pinv(held @ start @ held.T) @ held
    return precision, xp.eye(start.shape[0], dtype=start.dtype) - start @ precision


def problem(env: Env) -> Problem:
    """What is left of the queries beyond the noise that is held."""
    queries, cells = _left(env)
    precision, rest = _beyond(env)
    left, right = env["L"][queries, :], env["B"][:, cells]
    xp = namespace(left)
    slack = env["c"][queries] - xp.sum((left @ env["K"]) * left, axis=1)
    if not bool(xp.all(slack > 0)):
        raise ArithmeticError("the noise that is held leaves a query nothing of its target")
    base = xp.sum((precision @ right) * right, axis=0)
    return replace(whole(left @ rest @ right, slack), base=base)


def point(env: Env, problem: Problem, at: Iterate, care: Care) -> dict[str, Array]:
    """P of what is left, the largest of its variances just what the target leaves."""
    xp = namespace(at.cells)
    variance = at.norm * float(xp.max(at.variance / at.weights))
    (found,) = spectra_of(problem, at)
    basis = _beyond(env)[1] @ env["B"][:, _left(env)[1]]
    rows = (basis * xp.sqrt(at.cells / variance)) @ found.right / xp.sqrt(found.values)
    return {"alpha": at.upper, "P": conditioned([rows], care.condition)[0]}


def multipliers(env: Env, problem: Problem, at: Iterate) -> dict[str, Array]:
    """Those of settled cells and queries are zero."""
    xp = namespace(at.cells)
    queries, cells = _left(env)
    privacy, accuracy = xp.zeros_like(env["free"]), xp.zeros_like(env["open"])
    privacy[cells] = at.cells
    accuracy[queries] = at.norm**2 * at.queries / problem.targets
    return {"privacy": privacy, "accuracy": accuracy}
