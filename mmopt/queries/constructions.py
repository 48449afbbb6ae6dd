"""Strategies without optimisation: baselines, and rows to weight (``--given Q=haar``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from mmopt.errors import OptionError
from mmopt.queries.arrays import Array, require_memory

__all__ = ["CONSTRUCTIONS", "haar", "identity"]


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


def _check(n: int) -> None:
    if n < 1:
        raise OptionError(f"a strategy needs at least one cell, found {n}")
    require_memory((n, n), "strategy")


CONSTRUCTIONS: Mapping[str, Callable[[int], Array]] = MappingProxyType({"haar": haar, "identity": identity})
"""Constructions by name, each from the number of cells to a matrix (p, n)."""
