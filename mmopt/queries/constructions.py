"""Strategies without optimisation: baselines, and rows to weight (``--given Q=haar``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from mmopt.errors import OptionError, WorkloadError
from mmopt.queries.arrays import Array, require_memory
from mmopt.queries.factor_base import Factor
from mmopt.queries.trees import Haar, Hierarchy

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
    return _made(Haar, n)


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
    return _made(Hierarchy, n, branching)


def _made(kind: Callable[..., Factor], n: int, *options: int) -> Array:
    _check(n)
    try:
        factor = kind(n, *options)
    except WorkloadError as error:
        raise OptionError(error.message, hint=error.hint) from None
    require_memory(factor.shape, "strategy")
    return factor.matrix()


def _check(n: int) -> None:
    if n < 1:
        raise OptionError(f"a strategy needs at least one cell, found {n}")
    require_memory((n, n), "strategy")


CONSTRUCTIONS: Mapping[str, Callable[[int], Array]] = MappingProxyType(
    {"haar": haar, "hierarchy": hierarchy, "identity": identity}
)
"""Constructions by name, each from the number of cells to a matrix (p, n); branching is 2."""
