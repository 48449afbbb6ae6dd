"""Where the search begins: hierarchies of neighbouring cells, the total, the queries, random rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.components import Array

__all__ = ["Start", "starts"]


# Cells of the smallest blocks and weight of all rows, in the order in which they proved good on prefix sums
# and all ranges over 64 to 2048 cells; None: random rows.
ORDER: tuple[tuple[int, float] | None, ...] = (
    (16, 0.3),
    (20, 0.3),
    None,
    (18, 0.3),
    (24, 0.3),
    None,
    (12, 0.3),
    (16, 1.0),
    None,
    (20, 1.0),
    (32, 0.3),
    None,
    (8, 0.3),
)
SHARES = (16, 24, 12)  # cells for each random row, in turn
FEW = 64  # up to so many cells every third random start has all rows that there may be
NOISE = 1e-2  # added to what has symmetries, from which a gradient does not lead away


@dataclass(frozen=True)
class Start:
    """A start: rows (k, n), all nonnegative, with a name."""

    name: str
    rows: Array


def starts(n: int, most: int, seed: int, queries: Array | None = None) -> Iterator[Start]:
    """Starts without end, those that are good on ranges first; each depends on the seed and its number.

    Parameters
    ----------
    n : cells.
    most : rows that a start may have.
    queries : rows (r, n) of which those that count several cells are a start, if they are few.
    """
    rng = np.random.default_rng([seed, n])

    def noisy(rows: Array) -> Array:
        return np.asarray(rows + NOISE * rng.random(rows.shape))

    yield Start("total", noisy(np.full((1, n), 0.3)))
    rows = np.zeros((0, n)) if queries is None else _counts(queries)
    if 0 < len(rows) <= most:
        yield Start("queries", noisy(0.3 * rows))
    number = 0
    for known in itertools.chain(ORDER, itertools.repeat(None)):
        if known is None:
            number += 1
            wanted = most if n <= FEW and number % 3 == 0 else round(n / SHARES[number % 3])
            yield Start(f"random {number}", rng.random((min(most, max(1, wanted)), n)))
            continue
        size, weight = known
        if 2 * size <= n:
            rows = _hierarchy(n, size)
            if len(rows) <= most:
                yield Start(f"blocks of {size}, weight {weight:g}", noisy(weight * rows))


def _hierarchy(n: int, size: int) -> Array:
    """Blocks of ``size`` cells, of ``size``² and so on, and the total."""
    levels = []
    length = size
    while length < n:
        levels.append(np.arange(n)[None, :] // length == np.arange(-(-n // length))[:, None])
        length *= size
    return np.vstack([*levels, np.ones((1, n), dtype=bool)]).astype(float)


def _counts(queries: Array) -> Array:
    """The rows that count several cells, their largest entry 1; of a rotated root these are hardly any."""
    rows = queries[(queries >= 0).all(axis=1) & ((queries > 0).sum(axis=1) > 1)]
    return np.asarray(rows / rows.max(axis=1, keepdims=True, initial=0.0))
