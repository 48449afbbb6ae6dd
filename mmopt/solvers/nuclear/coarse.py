"""Where to start: weights found on every fourth cell, or orbit of cells.

Cells that lie side by side are often treated much alike (ranges, prefixes, histograms of numbers). Then the
weights of some of them tell those of all but for a factor, at a sixteenth of the cost or less. It is a start
and no more: weights that jump from cell to cell are not used.

Near the ends of an attribute weights change from cell to cell, in the same way however many cells there are;
there they are those of the few, cell by cell.

What stretching weights misses changes little from one number of cells to four times as many. It is known
of the few, whose own start was made in the same way from a sixteenth of the cells, and taken off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from array_api_compat import array_namespace as namespace
from numpy.typing import NDArray

from mmopt.solvers.nuclear.problem import Array, Problem, back, whole
from mmopt.solvers.nuclear.search import search

__all__ = ["start"]

Logs = NDArray[np.float64]

EVERY = 4  # cells
FIRST, LAST = 1, 3  # places from the beginning and from the end: cells that a reflection joins are five apart
SEAM = 6  # of the few that lie where cells that are not four apart meet
ENDS = 5, 8, 11, 16, 23, 32  # cells at each end, in turn; their mean bends less where an end begins
FEWEST = 256  # cells for which it pays
FEWEST_OF_FEW = 64  # cells that may themselves be started from every fourth
AGAIN = 0.8  # of what was missed with a fourth of the cells, found on prefixes and ranges
GAP = 2e-7  # of the coarse problem
STEPS = 8
SMOOTH = 0.5  # largest root mean square of the steps of the logarithms of neighbouring weights


def start(problem: Problem) -> Array | None:
    """Shares of the orbits of cells, of sum 1, for total error; None where uniform ones will do."""
    if problem.targets is not None or problem.lines is not None or problem.cells.shape[0] < FEWEST:
        return None
    guess = _guess(problem)
    return None if guess is None else _shares(problem, guess.mended)


@dataclass(frozen=True)
class _Guess:
    """Logarithms of weights (n,): those of every fourth orbit stretched; mended by what is known of that."""

    stretched: Logs
    mended: Logs


def _guess(problem: Problem) -> _Guess | None:
    n = problem.cells.shape[0]
    if n < FEWEST_OF_FEW:
        return None
    few = _every_fourth(problem)
    if not any(bool(namespace(part.rows).any(part.rows != 0)) for part in few.parts):
        return None  # no query asks for any of them
    known = _guess(few)
    iterates = search(few, None if known is None else (_shares(few, known.mended), None))
    found = next(iterates)
    for _ in range(STEPS):
        if found.gap <= GAP:
            break
        found = iterates.send(GAP)
    logs = np.log(back(found.cells / few.cells))
    if not float(np.sqrt(np.mean(np.diff(logs) ** 2))) <= SMOOTH:  # nor where a weight is zero
        return None
    stretched = _stretched(logs, n, logs)
    missed = 0.0 if known is None else AGAIN * _stretched(known.stretched - logs, n, logs)
    return _Guess(stretched, stretched - missed)


def _shares(problem: Problem, logs: Logs) -> Array:
    """Of weights with these logarithms."""
    xp = namespace(problem.cells)
    shares = np.exp(logs) * back(problem.cells)
    return xp.asarray(shares / shares.sum(), dtype=problem.cells.dtype)


def _stretched(values: Logs, n: int, logs: Logs) -> Logs:
    """Values at every fourth of n places as values at all, but at the ends of the weights one for one."""
    few = len(logs)
    values = values.copy()
    ends = []
    for way in slice(None), slice(None, None, -1):
        if _is_end(logs[way]):
            ends.append(way)
        else:
            values[way][:SEAM] = 2 * values[way][SEAM] - values[way][2 * SEAM : SEAM : -1]
    if n % EVERY:
        seam = min(SEAM, few // 8)
        around = slice((few + 1) // 2 - seam, (few + 1) // 2 + seam)
        values[around] = np.linspace(values[around][0], values[around][-1], 2 * seam)
    inside = np.interp(np.arange(n), _places(n), values)
    found = []
    for size in [size for size in ENDS if size <= few // 3] or [few // 3]:
        found.append(inside.copy())
        for way in ends:
            out, known = found[-1][way], values[way]
            out[:size] = known[:size] + (out[size] - known[size])
    return np.asarray(np.mean(found, axis=0))


def _is_end(logs: Logs) -> bool:
    """Whether weights change more over the first places than over as many after them.

    They do not in the middle of an attribute, where the orbits of a reflection end.
    """
    near, far = min(SEAM, len(logs) // 8), len(logs) // 4
    first, second, third = logs[[near, near + far, near + 2 * far]]
    return bool(abs(second - first) > abs(third - second))


def _places(n: int) -> NDArray[np.int64]:
    """Every fourth of n places, counted from both ends: where the halves meet they may be further apart."""
    left = np.arange(FIRST, n, EVERY)[: (n // EVERY + 1) // 2]
    right = np.arange(n - LAST, -1, -EVERY)[: n // EVERY // 2]
    return np.concatenate([left, right[::-1]])


def _every_fourth(problem: Problem) -> Problem:
    """The problem over every fourth orbit of cells."""
    xp = namespace(problem.cells)
    n = problem.cells.shape[0]
    places = _places(n)
    kept = xp.asarray(places)
    if problem.plain:
        return whole(xp.take(problem.parts[0].rows, kept, axis=1))
    number = np.full(n, -1)
    number[places] = np.arange(len(places))
    numbers = xp.asarray(number)
    parts = []
    for part in problem.parts:
        cells = xp.take(numbers, part.cells)
        own = xp.nonzero(cells >= 0)[0]
        if own.shape[0]:
            rows = xp.take(part.rows, own, axis=1)
            parts.append(replace(part, rows=rows, cells=xp.take(cells, own), rank=None))
    return Problem(tuple(parts), xp.take(problem.cells, kept))
