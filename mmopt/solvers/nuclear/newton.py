"""One step of an interior-point method on the weights.

In logarithms x of the shares y the gradient of 2 N is g N and its Hessian (diag(g) - Q) N, where with Z the
rows of U and V stacked Qᵢⱼ = ± Σₖₗ Zᵢₖ Zᵢₗ Zⱼₖ Zⱼₗ sₖ sₗ / (sₖ + sₗ) / N, negative between cells and queries.
Of a query whose weight is more than its share only the part y / w of both counts.
1 / (sₖ + sₗ) as a sum of exponentials makes Q a sum of Hadamard squares of products of matrices.
The step solves for g + τ = λ y: a logarithmic barrier keeps all shares positive, and on its path the largest
gradient is known, so that the gap there is about τ times the number of shares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace as namespace

from mmopt.solvers.nuclear.exponentials import exponentials
from mmopt.solvers.nuclear.problem import Problem
from mmopt.solvers.nuclear.spectrum import Iterate, Spectrum
from mmopt.solvers.nuclear.triangle import Triangle, triangle

__all__ = ["curvature", "step"]

Array = Any
Sums = Callable[[float, float], list[tuple[float, float]]]

LEAST = 0.02  # a share falls to no less than this part of itself in one step
MOST = 2.0  # and its logarithm grows by no more


def step(
    problem: Problem, at: Iterate, barrier: float, counts: Array | None = None
) -> tuple[Array, Array | None]:
    """The next shares of cells and of queries (None when their weights are fixed).

    ``counts`` (t,): how many equal shares each share of queries is the sum of; None: of one.
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
    gone = (y < tau) & (g < 0.5 * lam * y)
    active = xp.nonzero(~gone)[0]
    hessian = curvature(problem, at, active)
    queries = int(xp.sum(xp.astype(active < t, xp.int64)))
    scaled = y[~gone] if problem.base is None else xp.where(active < t, xp.zeros_like(y[~gone]), y[~gone])
    _with_ends(hessian, scaled, queries, slack[~gone])
    delta = residual / slack
    if problem.floors is not None:
        own = xp.where(active < t, y[~gone], xp.zeros_like(y[~gone]))
        delta[~gone] = _balanced(hessian, residual[~gone], own)
    elif problem.base is not None:
        delta[~gone] = _balanced(hessian, residual[~gone], scaled)
    else:
        delta[~gone] = _solve(hessian, residual[~gone])
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


def curvature(problem: Problem, at: Iterate, active: Array, sums: Sums = exponentials) -> Triangle:
    """Q restricted to the shares ``active`` (queries before cells).

    ``sums`` gives 1 / z as exponentials: as few as a step needs, or enough for the second derivative.
    """
    xp = namespace(at.cells)
    t = 0 if at.queries is None else at.queries.shape[0]
    total = triangle(at.cells, active.shape[0])
    if problem.lines is not None and at.lengths is not None:
        total.add(problem.lines.curvature(at.lengths, active, t, at.cells.shape[0]) / at.norm)
    for number, found in zip(problem.others, at.spectra, strict=True):
        part = problem.parts[number]
        values = found.values / at.norm
        terms = sums(2 * float(xp.min(values)), 2 * float(xp.max(values)))
        factors = [values * xp.exp(-a * values) * w**0.5 for a, w in terms]
        if problem.plain:
            sides = [] if t == 0 else [_rows(found.left, active[active < t])]
            _add_plain(total, [*sides, _rows(found.right, active[active >= t] - t)], factors)
            continue
        z, labels = _stacked(found, part, t)
        sign = 2.0 * xp.astype(labels < t, z.dtype) - 1.0
        member = xp.astype(active[:, None] == labels[None, :], z.dtype) * sign
        for f in factors:
            product = (z * f) @ z.T
            total.add(part.multiplicity * (member @ product**2 @ member.T))
    if problem.floors is not None:
        parts = xp.take(at.queries / at.weights, active[active < t])
        ones = xp.ones(active.shape[0] - parts.shape[0], dtype=parts.dtype)
        _damp(total, xp.concat([parts, ones]))
    return total


def _damp(hessian: Triangle, scales: Array) -> None:
    """Q by the shares of queries that are ``scales`` of their weights."""
    for here, panel in hessian:
        panel *= scales[here, None]
        panel *= scales[None, : here.stop]


def _stacked(found: Spectrum, part: Any, t: int) -> tuple[Array, Array]:
    """The rows of U and V, and the share that each belongs to."""
    xp = namespace(found.right)
    if t == 0:
        return found.right, part.cells
    return xp.concat([found.left, found.right]), xp.concat([part.queries, part.cells + t])


def _rows(vectors: Array, active: Array) -> Array:
    """Some rows; not copied where they are all."""
    return (
        vectors if active.shape[0] == vectors.shape[0] else namespace(vectors).take(vectors, active, axis=0)
    )


def _add_plain(total: Triangle, sides: list[Array], factors: list[Array]) -> None:
    """Add the Hadamard squares, lower triangle only: half the work.

    ``sides``: the rows of U, if it counts, and of V.
    """
    first = 0
    for number, side in enumerate(sides):
        last = first + side.shape[0]
        for here, panel in total:
            start, end = max(here.start, first), min(here.stop, last)
            if start >= end:
                continue
            own = slice(start - here.start, end - here.start)
            for f in factors:
                rows = side[start - first : end - first, :] * f
                if number:
                    other = rows @ sides[0].T
                    other *= other
                    panel[own, :first] -= other
                    del other
                square = rows @ side[: end - first, :].T
                square *= square
                panel[own, first:end] += square
        first = last


def _with_ends(hessian: Triangle, y: Array, t: int, slack: Array) -> None:
    """Make it the matrix of the step: with the slack on the diagonal, and each group's scale fixed.

    Along the shares of a group N only grows by their sum, which is 1: the term takes that direction out.
    """
    xp = namespace(y)
    for here, panel in hessian:
        own, all_of = xp.arange(here.start, here.stop)[:, None], xp.arange(here.stop)[None, :]
        alike = (own < t) == (all_of < t)
        panel += xp.where(alike, y[here, None] * y[None, : here.stop], 0.0)
        panel += xp.where(own == all_of, slack[here, None], 0.0)


def _balanced(matrix: Triangle, right: Array, group: Array) -> Array:
    """The solution along which the shares in the group keep their sum (those of the others are zeros in it).

    Without a hybrid, and without costs beside, it follows: then N only grows by that sum.
    """
    xp = namespace(group)
    found = _solve(matrix, xp.stack([right, group], axis=1))
    along = float(group @ found[:, 1])
    return found[:, 0] - (float(group @ found[:, 0]) / along if along else 0.0) * found[:, 1]


def _solve(matrix: Triangle, right: Array) -> Array:
    """Solve with a positive definite matrix, which is written over."""
    if isinstance(right, np.ndarray):
        found = matrix.solve(right)
        return np.zeros_like(right) if found is None else found
    return namespace(right).linalg.solve(matrix.dense(), right)
