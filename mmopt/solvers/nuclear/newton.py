"""One step of an interior-point method on the weights.

In logarithms x of the shares y the gradient of 2 N is g N and its Hessian (diag(g) - Q) N, where with Z the
rows of U and V stacked Qᵢⱼ = ± Σₖₗ Zᵢₖ Zᵢₗ Zⱼₖ Zⱼₗ sₖ sₗ / (sₖ + sₗ) / N, negative between cells and queries.
Of a query whose weight is more than its share only the part y / w of both counts.
The step solves for g + τ = λ y: a logarithmic barrier keeps all shares positive, and on its path the largest
gradient is known, so that the gap there is about τ times the number of shares.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace as namespace

from mmopt.solvers.nuclear.curvature import by_size, curvature
from mmopt.solvers.nuclear.problem import Array, Problem
from mmopt.solvers.nuclear.spectrum import Iterate, count
from mmopt.solvers.nuclear.triangle import Triangle

__all__ = ["step"]


LEAST = 0.02  # a share falls to no less than this part of itself in one step
MOST = 2.0  # and its logarithm grows by no more
# The least of the barrier, over the average share, for single precision. Along scalings of queries against
# cells the matrix has only the barrier, and far below its rounding (6e-8) that would be lost.
SINGLE = 1e-8
GONE = 10  # shares below so many times the barrier may be next to nothing


def step(
    problem: Problem, at: Iterate, barrier: float, counts: Array | None = None, *, careful: bool = True
) -> tuple[Array, Array | None]:
    """The next shares of cells and of queries (None when their weights are fixed).

    ``counts`` (t,): how many equal shares each share of queries is the sum of; None: of one. ``careful``: as
    of ``curvature``.
    """
    xp = namespace(at.cells)
    tau = xp.full_like(at.cells, barrier)
    y, g, lam = at.cells, at.cost, xp.full_like(at.cells, 1.0 + float(xp.sum(tau)))
    t = 0
    if at.queries is not None:
        t = at.queries.shape[0]
        gradient = at.variance * (at.queries / at.weights)
        own = xp.full_like(at.queries, barrier) if counts is None else barrier * counts
        tau = xp.concat([own, tau])
        y = xp.concat([at.queries, y])
        g = xp.concat([gradient, g])
        lam = xp.concat([xp.full_like(at.queries, float(xp.sum(gradient)) + float(xp.sum(own))), lam])
    if problem.base is not None:
        g, lam = _with_base(g, lam, y, problem.base / at.norm**2)
    slack = lam * y - g
    residual = tau - slack
    slack = xp.where(slack > tau, slack, tau)
    # What is nearly gone and pushed further down hardly touches anything else.
    gone = (y < GONE * tau) & (g < 0.5 * lam * y)
    active = by_size(problem, at, xp.nonzero(~gone)[0])
    right, own, near = (xp.take(array, active) for array in (residual, y, slack))
    queries, cells = xp.where(active < t, own, 0.0), xp.where(active < t, 0.0, own)
    group = queries if problem.floors is not None else cells if problem.base is not None else None
    found = None
    single = not careful and barrier * y.shape[0] > SINGLE
    for precise in (False, True) if single else (True,):
        hessian = curvature(problem, at, active, careful=careful, single=not precise)
        _with_ends(hessian, own if problem.base is None else cells, count(active < t), near)
        found = _solve(hessian, right) if group is None else _balanced(hessian, right, group)
        del hessian  # before another is made
        if found is not None:
            break
    delta = residual / slack
    delta[~gone] = 0.0 if found is None else xp.take(found, xp.argsort(active))
    y = y * xp.where(delta < 0, xp.clip(1.0 + delta, LEAST, None), xp.exp(xp.clip(delta, None, MOST)))
    cells = y[t:] / xp.sum(y[t:])
    return cells, None if at.queries is None else y[:t] / xp.sum(y[:t])


def _with_base(gradient: Array, levels: Array, y: Array, base: Array) -> tuple[Array, Array]:
    """Gradient and levels of b @ p + 2 N √t - t in the weights t q, at t = N² where it is largest, over N².

    Queries share what they like, and their level is 1; the shares of the cells keep their sum.
    """
    xp = namespace(y)
    t = y.shape[0] - base.shape[0]
    beside = xp.concat([xp.zeros_like(y[:t]), base * y[t:]])
    levels = xp.concat([xp.ones_like(y[:t]), levels[t:] + float(xp.sum(beside))])
    return gradient + beside, levels


def _with_ends(hessian: Triangle, y: Array, t: int, slack: Array) -> None:
    """Make it the matrix of the step: with the slack on the diagonal, and each group's scale fixed.

    Along the shares of a group N only grows by their sum, which is 1: the term takes that direction out.
    """
    xp, dtype = namespace(y), hessian.panels[0].dtype
    y, slack = xp.astype(y, dtype, copy=False), xp.astype(slack, dtype, copy=False)
    for here, panel in hessian:
        for start, stop in ((here.start, min(here.stop, t)), (max(here.start, t), here.stop)):
            if start < stop:
                columns = slice(0, stop) if stop <= t else slice(t, stop)
                own = slice(start - here.start, stop - here.start)
                panel[own, columns] += y[start:stop, None] * y[None, columns]
        panel[:, here] += xp.eye(here.stop - here.start, dtype=y.dtype) * slack[here, None]


def _balanced(matrix: Triangle, right: Array, group: Array) -> Array | None:
    """The solution along which the shares in the group keep their sum (those of the others are zeros in it).

    Without a hybrid, and without costs beside, it follows: then N only grows by that sum. None as ``_solve``.
    """
    xp = namespace(group)
    found = _solve(matrix, xp.stack([right, group], axis=1))
    if found is None:
        return None
    along = float(group @ found[:, 1])
    return found[:, 0] - (float(group @ found[:, 0]) / along if along else 0.0) * found[:, 1]


def _solve(matrix: Triangle, right: Array) -> Array | None:
    """Solve with a matrix, which is written over; None where it is not positive definite, to rounding."""
    if isinstance(right, np.ndarray):
        return matrix.solve(right)
    xp = namespace(right)
    return xp.linalg.solve(xp.astype(matrix.dense(), right.dtype, copy=False), right)
