"""Strategies without optimisation: baselines, and rows to weight (``--given Q=haar``)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from mmopt.errors import OptionError
from mmopt.queries.arrays import Array, require_memory

__all__ = ["CONSTRUCTIONS", "haar", "hierarchy", "identity"]


def identity(n: int) -> Array:
    """The identity (n, n): every cell by itself."""
    _check(n)
    return np.eye(n)


def haar(n: int) -> Array:
    """The Haar wavelet's rows (n, n), unnormalised: entries -1, 0, 1; n a power of two.

    The total first, then level by level, coarse to fine, the differences of the halves of each block:
    orthogonal rows, L1 sensitivity 1 + log₂ n (Xiao, Wang, Gehrke: Privelet, ICDE 2010, §IV, without the
    weights).

    Raises
    ------
    OptionError : n is not a power of two.
    """
    _check(n)
    if n & (n - 1):
        raise OptionError(
            f"the Haar wavelet needs a power of two, found {n} cells",
            hint=f"the nearest are {2 ** (n.bit_length() - 1)} and {2 ** n.bit_length()}",
        )
    rows = [np.ones((1, n))]
    size = n
    while size > 1:
        half = size // 2
        rows.append(np.kron(np.eye(n // size), np.repeat([1.0, -1.0], half)))
        size = half
    return np.vstack(rows)


def hierarchy(n: int, branching: int = 2) -> Array:
    """The hierarchy's rows (p, n), entries 0 and 1: the total, its parts, their parts, down to single cells.

    Each block splits into `branching` neighbouring parts, as equal as they can be, the longer ones first;
    every block is asked once, level by level. L1 sensitivity 1 + ⌈log n / log branching⌉. More rows than
    cells (2 n - 1 for branching 2), so not independent: to weight them, use a program that allows it
    (Hay, Rastogi, Miklau, Suciu: PVLDB 2010; H₄ in PODS 2010, Figure 1).

    Raises
    ------
    OptionError : branching below 2.
    """
    _check(n)
    if branching < 2:
        raise OptionError(f"the hierarchy's branching is {branching}, expected 2 or more")
    require_memory((2 * n, n), "strategy")
    blocks: list[tuple[int, int]] = []
    level = [(0, n)]
    while level:
        blocks += level
        level = [part for block in level for part in _parts(*block, branching)]
    start, stop = np.array(blocks).T[:, :, None]
    cells = np.arange(n)
    inside = (start <= cells) & (cells < stop)
    return np.asarray(inside, dtype=np.float64)


def _parts(start: int, stop: int, branching: int) -> list[tuple[int, int]]:
    """A block of cells in at most `branching` parts; none if it is one cell."""
    if stop - start == 1:
        return []
    parts = min(branching, stop - start)
    length, longer = divmod(stop - start, parts)
    cuts = [start + k * length + min(k, longer) for k in range(parts + 1)]
    return list(itertools.pairwise(cuts))


def _check(n: int) -> None:
    if n < 1:
        raise OptionError(f"a strategy needs at least one cell, found {n}")
    require_memory((n, n), "strategy")


CONSTRUCTIONS: Mapping[str, Callable[[int], Array]] = MappingProxyType(
    {"haar": haar, "hierarchy": hierarchy, "identity": identity}
)
"""Constructions by name, each from the number of cells to a matrix (p, n); branching is 2."""
