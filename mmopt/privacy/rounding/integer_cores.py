"""Matrices of whole numbers on sectors of indicators: products with counts, and the longest column, proved.

A row of data is a vector b' of indicators of values, so that K b' is its column. The entries of KᵀK are whole
numbers below 2⁶² in size; sums for them are taken modulo 2⁶⁴, which is exact. f = b'ᵀ KᵀK b' is then a sum
of tables over few attributes, or, of equal attributes (``integer_equal_core.py``), a polynomial in the counts
of values; their largest value is proved, and since it is a whole number, what was proved is rounded down.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase

import numpy as np

from mmopt.errors import TooLargeError
from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.privacy.rounding.integer_arithmetic import (
    integer_product,
    largest_entry,
    largest_squared_norm,
)
from mmopt.sectors.largest_length import largest_of_tables
from mmopt.sectors.row_space import Largest
from mmopt.sectors.sector_layout import SectorLayout
from mmopt.sectors.sector_operators import DenseOperator, Operator

__all__ = ["SECONDS", "DenseCore", "IntegerCore"]

SECONDS = 60.0
"""Time for ruling out cells, beyond which the largest bound that is still open counts."""

_FEW = 2**27  # entries of K on all cells, up to which columns are looked at one by one
_AT_A_TIME = 2**22  # entries of K on some of them
_LIMIT = 2.0**61  # squared columns of K, as floats: far below 2⁶³ whatever they are rounded by


@dataclass(frozen=True, eq=False)
class IntegerCore(ABC):
    """K (r, r) on the functions of a layout of indicators.

    Raises
    ------
    TooLargeError : columns whose squared length may reach 2⁶².
    """

    layout: SectorLayout

    def __post_init__(self) -> None:
        longest = float(self._squares().max())
        if not longest < _LIMIT:
            raise TooLargeError(
                f"a measured column has a squared length of about {longest:.3g}, the limit is 2^61",
                hint="use fewer bits",
            )

    @abstractmethod
    def _squares(self) -> Array:
        """The squared lengths of the columns of K, in floating point."""

    @property
    def largest_answer(self) -> int:
        """Bound on |K b'(x)| in each row."""
        return math.isqrt(self.largest_square)

    @property
    @abstractmethod
    def operator(self) -> Operator:
        """K in floating point."""

    @property
    @abstractmethod
    def pieces(self) -> tuple[Ints, ...]:
        """The arrays that it is made of, in order."""

    @abstractmethod
    def apply(self, vector: Ints) -> Ints:
        """K times whole numbers (r,), exact where the result is below 2⁶³ in size."""

    @cached_property
    @abstractmethod
    def largest_square(self) -> int:
        """At least the largest ‖K b'(x)‖² over all cells; proved."""


@dataclass(frozen=True, eq=False)
class DenseCore(IntegerCore):
    """matrix : K (r, r)."""

    matrix: Ints

    def _squares(self) -> Array:
        return np.asarray(np.square(self.matrix.astype(np.float64)).sum(axis=0))

    @property
    def operator(self) -> DenseOperator:
        return DenseOperator(self.matrix.astype(np.float64))

    @property
    def pieces(self) -> tuple[Ints, ...]:
        return (self.matrix,)

    def apply(self, vector: Ints) -> Ints:
        return np.asarray(self.matrix @ vector, dtype=np.int64)

    @cached_property
    def largest_square(self) -> int:
        """Of few cells exact, else from tables over the attributes of two sectors."""
        if self.layout.size * math.prod(self.layout.shape) <= _FEW:
            return max(largest_squared_norm(columns) for columns in self._columns())
        return math.floor(self._largest_of_tables().upper)

    def _columns(self) -> Iterator[Ints]:
        """K on some cells at a time, one of each class."""
        shape = tuple(own.shape[1] for own in self.layout.functions)
        step, n = max(1, _AT_A_TIME // self.layout.size), math.prod(shape)
        firsts = [np.unique(label, return_index=True)[1] for label in self.layout.labels]
        for start in range(0, n, step):
            codes = np.unravel_index(np.arange(start, min(start + step, n)), shape)
            cells = np.stack([first[code] for first, code in zip(firsts, codes, strict=True)], axis=1)
            yield integer_product(self.matrix, np.rint(self.layout.values(cells)).astype(np.int64))

    def _largest_of_tables(self) -> Largest:
        gram, starts, sets = self._gram(), self.layout.starts, self.layout.sets
        shape = tuple(own.shape[1] for own in self.layout.functions)
        tables: dict[tuple[int, ...], Array] = {}
        count, size = 0, 0.0
        for at, one in enumerate(sets):
            for other in sets[at:]:
                counts = [[shape[i] - 1 for i in own] for own in (one, other)]
                rows, columns = (
                    slice(starts[own], starts[own] + math.prod(c))
                    for own, c in zip((one, other), counts, strict=True)
                )
                often = 1.0 if one == other else 2.0
                block = often * gram[rows, columns].astype(np.float64).reshape([*counts[0], *counts[1]])
                union = tuple(sorted({*one, *other}))
                letters = ascii_lowercase[: len(union)]
                places = "".join(letters[union.index(i)] for i in (*one, *other))
                table = tables.setdefault(union, np.zeros([shape[i] for i in union]))
                table[(slice(1, None),) * len(union)] += np.einsum(f"{places}->{letters}", block)
                count, size = count + 1, size + float(np.abs(block).max(initial=0.0))
        # Every number of f is rounded once, and meets at most as many sums as there are pairs of sectors.
        return largest_of_tables(shape, tables, 1.01 * (count + 8) * EPS * size, SECONDS)

    def _gram(self) -> Ints:
        """KᵀK, modulo 2⁶⁴, from limbs whose products are exact in floats."""
        bits = 15 if largest_entry(self.matrix) < 2**30 and len(self.matrix) < 2**22 else 0
        if not bits:
            return np.asarray(self.matrix.T @ self.matrix, dtype=np.int64)
        low = self.matrix & (2**bits - 1)
        high, low = (self.matrix >> bits).astype(np.float64), low.astype(np.float64)
        mixed = (high.T @ low).astype(np.int64)
        squares = ((high.T @ high).astype(np.int64) << 2 * bits) + (low.T @ low).astype(np.int64)
        return np.asarray(squares + ((mixed + mixed.T) << bits), dtype=np.int64)
