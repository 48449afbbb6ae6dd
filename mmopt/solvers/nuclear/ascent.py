"""From uniform weights to a certified gap: steps of an interior-point method, or of equalising.

In logarithms x of the shares y the gradient of 2 N is g N and its Hessian (diag(g) - Q) N, where with Z the
rows of U and V stacked Qᵢⱼ = ± Σₖₗ Zᵢₖ Zᵢₗ Zⱼₖ Zⱼₗ sₖ sₗ / (sₖ + sₗ) / N, negative between cells and queries.
A query whose weight w is more than its share y counts with the part y / w of both.
The step solves for g + τ = λ y: a logarithmic barrier keeps all shares positive, and on its path the largest
gradient is known, so that the gap there is about τ times the number of shares.

Orbits of queries whose weights may be kept equal (attributes that are asked about alike, say) are folded. On
parts of one column N is Σ μ √(p Σⱼ qⱼ tⱼ²). Colour the parts and the orbits of queries until parts of one
colour see the same numbers t² from each colour of queries, and queries from each colour of parts (an
equitable partition). The mean of q over each colour then gives every part the mean over the parts of its
colour, and as the root is concave N does not fall (as for linear programs: Grohe, Kersting, Mladenov & Selman
2014, Dimension reduction via colour refinement). So a step has one unknown per colour.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace as namespace

from mmopt.numerics.split_arrays import Ints
from mmopt.solvers.nuclear.nuclear_problem import Array, Problem
from mmopt.solvers.nuclear.second_order import Triangle, by_size, curvature
from mmopt.solvers.nuclear.weighted_spectrum import Iterate, count_marked, iterate

__all__ = ["Fold", "fold_of", "search", "step"]


SHARE_KEPT = 0.02  # a share falls to no less than this part of itself in one step
MOST_GROWTH = 2.0  # and its logarithm grows by no more
# The least of the barrier, over the average share, for single precision. Along scalings of queries against
# cells the matrix has only the barrier, and far below its rounding (6e-8) that would be lost.
SINGLE = 1e-8
TIMES_BARRIER = 10  # shares below so many times the barrier may be next to nothing


def step(
    problem: Problem, at: Iterate, barrier: float, counts: Array | None = None, *, careful: bool = True
) -> tuple[Array, Array | None]:
    """The next shares of cells and of queries (None when their weights are fixed).

    ``counts`` (t,): how many equal shares each share of queries is the sum of; None: of one. ``careful``: as
    of ``second_order``.
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
    gone = (y < TIMES_BARRIER * tau) & (g < 0.5 * lam * y)
    active = by_size(problem, at, xp.nonzero(~gone)[0])
    right, own, near = (xp.take(array, active) for array in (residual, y, slack))
    queries, cells = xp.where(active < t, own, 0.0), xp.where(active < t, 0.0, own)
    group = queries if problem.floors is not None else cells if problem.base is not None else None
    found = None
    single = not careful and barrier * y.shape[0] > SINGLE
    for precise in (False, True) if single else (True,):
        hessian = curvature(problem, at, active, careful=careful, single=not precise)
        _with_ends(hessian, own if problem.base is None else cells, count_marked(active < t), near)
        found = _solve(hessian, right) if group is None else _balanced(hessian, right, group)
        del hessian  # before another is made
        if found is not None:
            break
    delta = residual / slack
    delta[~gone] = 0.0 if found is None else xp.take(found, xp.argsort(active))
    y = y * xp.where(
        delta < 0, xp.clip(1.0 + delta, SHARE_KEPT, None), xp.exp(xp.clip(delta, None, MOST_GROWTH))
    )
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


# Of logarithms: numbers that only rounding tells apart count as equal. Bounds are of the numbers themselves.
DIGITS_OF_LOGARITHMS = 10


@dataclass(frozen=True, eq=False)
class Fold:
    """A problem over the colours of queries: ``labels`` (t,) the colour of each orbit, ``counts`` of each."""

    problem: Problem
    labels: Ints
    counts: Array

    def iterate(self, at: Iterate) -> Iterate:
        """What a step wants to know, the shares of a colour added up."""
        weights = self._sums(at.weights)
        return replace(at, queries=self._sums(at.queries), weights=weights, variance=self._sums(at.variance))

    def spread(self, queries: Array | None) -> Array:
        """Shares of colours as shares of orbits."""
        assert queries is not None
        return np.asarray((queries / self.counts)[self.labels])

    def _sums(self, shares: Array) -> Array:
        return np.bincount(self.labels, shares, minlength=len(self.counts)).astype(np.float64, copy=False)


def fold_of(problem: Problem) -> Fold | None:
    """The colours of a problem whose parts have one column each; None for another, or where all differ."""
    lines = problem.lines
    if lines is None or problem.others or lines.queries is None:
        return None
    floors = np.zeros_like(problem.targets) if problem.floors is None else problem.floors
    queries = _numbered(_rounded(problem.targets), _rounded(floors))
    parts = _numbered(_rounded(lines.multiplicities), lines.cells)
    entries = _numbered(_rounded(lines.entries))
    known, count = 0, int(queries.max()) + 1
    while known < count:
        parts = _numbered(parts, _seen(queries[lines.queries], entries, lines.rows, lines.count))
        queries = _numbered(queries, _seen(parts[lines.rows], entries, lines.queries, len(queries)))
        known, count = count, int(queries.max()) + 1
    if count == len(queries):
        return None
    counts = np.bincount(queries).astype(np.float64)
    own = tuple(replace(part, queries=queries[part.queries]) for part in problem.parts)
    targets, floors = (np.bincount(queries, values) for values in (problem.targets, floors))
    return Fold(
        replace(problem, parts=own, targets=targets, floors=None if problem.floors is None else floors),
        queries,
        counts,
    )


def _rounded(values: Any) -> Array:
    """Logarithms of magnitudes, rounded."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.round(np.log(np.abs(values)), DIGITS_OF_LOGARITHMS) + 0.0)


def _numbered(*keys: npt.NDArray[Any]) -> Ints:
    """A number for each different tuple of keys."""
    out = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        own = np.unique(key, return_inverse=True)[1].reshape(-1)
        out = np.unique(out * (int(own.max()) + 1) + own, return_inverse=True)[1].reshape(-1)
    return out


def _seen(colours: Ints, entries: Ints, places: Ints, count: int) -> npt.NDArray[np.uint64]:
    """A random number for the colours with their entries that each place sees, whatever their order."""
    pairs = _numbered(colours, entries)
    drawn = np.random.default_rng(0).integers(2**63, size=int(pairs.max()) + 1, dtype=np.uint64)
    out = np.zeros(count, dtype=np.uint64)
    np.add.at(out, places, drawn[pairs])
    return out


BARRIER_OF_GAP = 0.05  # the barrier aims at this part of the gap
# Of the privacy costs; 1 is the plain fixed point, above 2 what is stiff overshoots a little
COST_POWER = 2.1
GAP_LEFT = 0.2  # what equalising has to leave of the gap
# Shares up to which steps are careful: it costs nothing, and workloads that are hard for arithmetic need it.
CAREFUL_SHARES = 512
SLOW_STEPS = 3  # steps that have not halved the gap, after which they are too


def search(
    problem: Problem, start: tuple[Array, Array | None] | None = None
) -> Generator[Iterate, float, None]:
    """Iterates of falling gap, without end; the consumer sends the gap that it wants and stops.

    ``start`` holds shares of cells and queries, each of sum 1. What is wrong with a good start of the
    cells' shares is local, and equalising privacy costs mends it at the price of an iterate; where that is
    not fast, or with weights of queries, steps are of second order.
    """
    xp = namespace(problem.cells)
    cells, queries = start or (problem.cells / xp.sum(problem.cells), None)
    if queries is None and problem.targets is not None:
        queries = xp.full_like(problem.targets, 1.0 / problem.targets.shape[0])
    count = cells.shape[0] + (0 if queries is None else queries.shape[0])
    tau = 1.0 / count
    ranks = [problem.parts[number].rank for number in problem.others]
    fold = fold_of(problem)
    before = float("inf") if start is not None and queries is None else 0.0
    best, slow = float("inf"), 0
    while True:
        at = iterate(problem, ranks, cells, queries)
        best, slow = (at.gap, 0) if at.gap <= 0.5 * best else (best, slow + 1)
        ranks = [found.values.shape[0] for found in at.spectra]
        wanted = yield at
        is_fast = at.gap < before and (at.gap < GAP_LEFT * before or at.gap**2 < wanted * before)
        if is_fast and float(xp.min(at.cost)) > 0:  # a cell that costs nothing would get no weight at all
            before, cells = at.gap, _equalised(at)
            del at  # before the next takes as much
            continue
        before = 0.0
        # The barrier is relative to N², of which costs beside may leave little.
        share = at.lower / at.norm**2
        slope = at.slope if problem.base is None else at.gap * share
        tau = min(tau, BARRIER_OF_GAP * max(slope, 0.3 * (wanted or 1e-12) * share) / count)
        careful = count <= CAREFUL_SHARES or slow >= SLOW_STEPS
        if fold is None:
            cells, queries = step(problem, at, tau, careful=careful)
        else:
            cells, colours = step(fold.problem, fold.iterate(at), tau, fold.counts, careful=careful)
            queries = fold.spread(colours)
        del at


def _equalised(at: Iterate) -> Array:
    """Shares by which cells that cost more privacy than others get the noise for it: p diag(X)^POWER."""
    xp = namespace(at.cells)
    shares = at.cells * (at.cost / at.cells) ** COST_POWER
    return shares / xp.sum(shares)
