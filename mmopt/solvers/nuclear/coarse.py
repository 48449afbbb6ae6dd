"""Where to start: weights found on every fourth cell, or orbit of cells.

Cells that lie side by side are often treated much alike (ranges, prefixes, histograms of numbers). Then the
weights of some of them tell those of all but for a factor, at a sixteenth of the cost or less. It is a start
and no more: weights that jump from cell to cell are not used.

Near the ends of an attribute weights change from cell to cell, in the same way however many cells there are;
there they are those of the few, cell by cell.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace as namespace

from mmopt.solvers.nuclear.placed import back
from mmopt.solvers.nuclear.problem import Problem, whole
from mmopt.solvers.nuclear.search import search

__all__ = ["start"]

Array = Any

EVERY = 4  # cells
FIRST = 1  # of four
ENDS = 16  # cells at each end
FEWEST = 256  # cells for which it pays
GAP = 1e-6  # of the coarse problem
STEPS = 8
SMOOTH = 0.5  # largest root mean square of the steps of the logarithms of neighbouring weights


def start(problem: Problem) -> Array | None:
    """Shares of the orbits of cells, of sum 1, for total error; None where uniform ones will do."""
    n = problem.cells.shape[0]
    if problem.targets is not None or problem.lines is not None or n < FEWEST:
        return None
    xp = namespace(problem.cells)
    few = _every_fourth(problem)
    first = start(few)
    iterates = search(few, None if first is None else (first, None))
    found = next(iterates)
    for _ in range(STEPS):
        if found.gap <= GAP:
            break
        found = iterates.send(GAP)
    logs = np.log(back(found.cells / few.cells))
    if float(np.sqrt(np.mean(np.diff(logs) ** 2))) > SMOOTH:
        return None
    shares = np.exp(_stretched(logs, n)) * back(problem.cells)
    return xp.asarray(shares / shares.sum(), dtype=problem.cells.dtype)


def _stretched(logs: Array, n: int) -> Array:
    """Logarithms at every fourth of n places as those at all, but at the ends one for one."""
    out = np.interp(np.arange(n), np.arange(FIRST, n, EVERY), logs)
    out[:ENDS] = logs[:ENDS] + (out[ENDS] - logs[ENDS])
    out[-ENDS:] = logs[-ENDS:] + (out[-ENDS - 1] - logs[-ENDS - 1])
    return out


def _every_fourth(problem: Problem) -> Problem:
    """The problem over every fourth orbit of cells."""
    xp = namespace(problem.cells)
    kept = xp.arange(FIRST, problem.cells.shape[0], EVERY)
    if problem.plain:
        return whole(xp.take(problem.parts[0].rows, kept, axis=1))
    parts = []
    for part in problem.parts:
        own = xp.nonzero(part.cells % EVERY == FIRST)[0]
        if own.shape[0]:
            rows, cells = xp.take(part.rows, own, axis=1), xp.take(part.cells, own) // EVERY
            parts.append(replace(part, rows=rows, cells=cells, rank=None))
    return Problem(tuple(parts), xp.take(problem.cells, kept))
