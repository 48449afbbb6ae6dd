"""From uniform weights to a certified gap."""

from __future__ import annotations

from collections.abc import Generator

from array_api_compat import array_namespace as namespace

from mmopt.solvers.nuclear.fold import fold_of
from mmopt.solvers.nuclear.newton import step
from mmopt.solvers.nuclear.problem import Array, Problem
from mmopt.solvers.nuclear.spectrum import Iterate, iterate

__all__ = ["search"]


FALL = 0.05  # the barrier aims at this part of the gap
POWER = 2.1  # of the privacy costs; 1 is the plain fixed point, above 2 what is stiff overshoots a little
FAST = 0.2  # what equalising has to leave of the gap
# Shares up to which steps are careful: it costs nothing, and workloads that are hard for arithmetic need it.
SMALL = 512
SLOW = 3  # steps that have not halved the gap, after which they are too


def search(
    problem: Problem, start: tuple[Array, Array | None] | None = None
) -> Generator[Iterate, float, None]:
    """Iterates of falling gap, without end; the consumer sends the gap that it wants and stops.

    ``start`` holds shares of cells and queries, each of sum 1. Of a good start of the cells' shares what is
    wrong is local, and equalising privacy costs mends it at the price of an iterate; where that does not go
    fast, or with weights of queries, steps are of second order.
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
        is_fast = at.gap < before and (at.gap < FAST * before or at.gap**2 < wanted * before)
        if is_fast and float(xp.min(at.cost)) > 0:  # a cell that costs nothing would get no weight at all
            before, cells = at.gap, _equalised(at)
            del at  # before the next takes as much
            continue
        before = 0.0
        # The barrier is relative to N², of which costs beside may leave little.
        share = at.lower / at.norm**2
        slope = at.slope if problem.base is None else at.gap * share
        tau = min(tau, FALL * max(slope, 0.3 * (wanted or 1e-12) * share) / count)
        careful = count <= SMALL or slow >= SLOW
        if fold is None:
            cells, queries = step(problem, at, tau, careful=careful)
        else:
            cells, colours = step(fold.problem, fold.iterate(at), tau, fold.counts, careful=careful)
            queries = fold.spread(colours)
        del at


def _equalised(at: Iterate) -> Array:
    """Shares by which cells that cost more privacy than others get the noise for it: p diag(X)^POWER."""
    xp = namespace(at.cells)
    shares = at.cells * (at.cost / at.cells) ** POWER
    return shares / xp.sum(shares)
