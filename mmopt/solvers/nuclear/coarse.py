"""Where to start: weights found on every fourth cell.

Cells that lie side by side are often treated much alike (ranges, prefixes, histograms of numbers). Then the
weights of some of them tell those of all but for a factor, at a sixteenth of the cost or less. It is a start
and no more: weights that jump from cell to cell are not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace as namespace

from mmopt.solvers.nuclear.placed import back
from mmopt.solvers.nuclear.problem import Problem, whole
from mmopt.solvers.nuclear.search import search

__all__ = ["start"]

Array = Any

EVERY = 4  # cells
FEWEST = 256  # cells for which it pays
GAP = 1e-3  # of the coarse problem
STEPS = 8
SMOOTH = 0.5  # largest root mean square of the steps of the logarithms of neighbouring weights


def start(problem: Problem) -> Array | None:
    """Shares of the cells, of sum 1, for a plain problem of total error; None where uniform ones will do."""
    n = problem.cells.shape[0]
    if not problem.plain or problem.targets is not None or n < FEWEST:
        return None
    rows = problem.parts[0].rows
    xp = namespace(rows)
    few = whole(xp.take(rows, xp.arange(EVERY // 2, n, EVERY), axis=1))
    first = start(few)
    iterates = search(few, None if first is None else (first, None))
    found = next(iterates)
    for _ in range(STEPS):
        if found.gap <= GAP:
            break
        found = iterates.send(GAP)
    logs = np.log(back(found.cells))
    if float(np.sqrt(np.mean(np.diff(logs) ** 2))) > SMOOTH:
        return None
    shares = np.exp(np.interp(np.arange(n), np.arange(EVERY // 2, n, EVERY), logs))
    return xp.asarray(shares / shares.sum(), dtype=rows.dtype)
