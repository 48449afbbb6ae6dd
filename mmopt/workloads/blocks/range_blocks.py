"""Blocks whose every query counts a range of neighbouring cells: single cells, the total, prefixes, windows.

All ranges at once are in ``all_ranges``, trees of them in ``hierarchies``.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints
from mmopt.workloads.blocks.implicit_matrix import Implicit, ordered
from mmopt.workloads.domain import Attribute
from mmopt.workloads.query_labels import cell_label, range_labels

__all__ = ["Identity", "Independent", "Prefix", "Ranges", "Total", "WidthRange", "range_gram", "sums_from"]


class Independent(Implicit):
    """A block whose kind alone says that its columns are independent: none equals another."""

    full_rank = True

    def classes(self) -> Ints:
        return np.arange(self.size)

    def spanning(self) -> Implicit:
        return Identity(self.size)


class Ranges(Implicit):
    """A block of ranges of neighbouring cells, each asked once: its entries are 0 and 1."""

    @abstractmethod
    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        """First and last cell of the ranges of these numbers."""

    def _every(self) -> tuple[Ints, Ints]:
        return self.ends(np.arange(self.rows))

    def _take(self, index: Ints) -> Array:
        low, high = self.ends(index)
        cells = np.arange(self.size)
        return ((low[:, None] <= cells) & (cells <= high[:, None])).astype(np.float64)

    def entrywise(self, norm: int) -> Implicit:
        """Itself: |m| = m² = m."""
        return self

    def column_powers(self, norm: int) -> Array:
        return self.adjoint(np.ones(self.rows))

    def _gram(self) -> Array:
        return self.gram_of_weighted(np.ones(self.rows))

    def gram_of_weighted(self, weights: Array) -> Array:
        return range_gram(self.size, *self._every(), weights)

    def labels(self, attribute: Attribute) -> list[str]:
        low, high = self._every()
        return range_labels(attribute, zip(low.tolist(), high.tolist(), strict=True))


class Identity(Independent, Ranges):
    """One query per cell."""

    kind = "identity"

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        return index, index

    def _gram(self) -> Array:
        return np.eye(self.size)

    _root = _gram

    def _apply(self, x: Array) -> Array:
        return x

    def _adjoint(self, y: Array) -> Array:
        return y

    def labels(self, attribute: Attribute) -> list[str]:
        return [cell_label(attribute, i) for i in range(self.size)]


class Total(Ranges):
    """One query: all cells."""

    kind = "total"

    def __init__(self, size: int) -> None:
        super().__init__(size, 1)

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        return np.zeros_like(index), np.full_like(index, self.size - 1)

    def _apply(self, x: Array) -> Array:
        return np.asarray(x.sum(axis=-1, keepdims=True))

    def _adjoint(self, y: Array) -> Array:
        return np.repeat(y, self.size, axis=-1)

    def classes(self) -> Ints:
        return np.zeros(self.size, dtype=np.int64)

    def labels(self, attribute: Attribute) -> list[str]:
        return [""]


class Prefix(Independent, Ranges):
    """Query i counts cells 0 to i."""

    kind = "prefix"

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        return np.zeros_like(index), index

    def _gram(self) -> Array:
        # Cells i and j are both counted by the prefixes that end at max(i, j) or later.
        cells = np.arange(self.size)
        return (self.size - np.maximum.outer(cells, cells)).astype(np.float64)

    def _apply(self, x: Array) -> Array:
        return np.cumsum(x, axis=-1)

    def _adjoint(self, y: Array) -> Array:
        return sums_from(y)

    def labels(self, attribute: Attribute) -> list[str]:
        return range_labels(attribute, [(None, i) for i in range(self.size)])


class WidthRange(Ranges):
    """Query i counts cells i to i + width - 1; n - width + 1 queries."""

    kind = "width_range"

    def __init__(self, size: int, width: int) -> None:
        super().__init__(size, size - width + 1)
        if not 1 <= width <= size:
            raise WorkloadError(
                f"ranges of {width:,} cells over {size:,} cells, expected a width from 1 to {size:,}"
            )
        self.width = int(width)
        self.parameters = (self.width,)
        self.full_rank = self.width == 1

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        return index, index + self.width - 1

    def _apply(self, x: Array) -> Array:
        return _windows(x, self.width)

    def _adjoint(self, y: Array) -> Array:
        beside = np.zeros((*y.shape[:-1], self.width - 1))
        return _windows(np.concatenate([beside, y, beside], axis=-1), self.width)

    def classes(self) -> Ints:
        # By the first and the last range that hold a cell.
        cells = np.arange(self.size)
        return ordered(np.maximum(cells - self.width + 1, 0) * self.size + np.minimum(cells, self.rows - 1))

    def spanning(self) -> Implicit:
        return Identity(self.size) if self.full_rank else self


def range_gram(n: int, low: Ints, high: Ints, weights: Array) -> Array:
    """G (n, n) of different ranges low to high with these weights; sums of positive numbers only.

    With u(a, b) the weight of the cells a to b, G_ij = Σ u(a, b) over a <= min(i, j), b >= max(i, j): a
    running sum in two directions.
    """
    found = np.zeros((n, n))
    found[low, high] = weights
    found = np.cumsum(found, axis=0)
    found = np.cumsum(found[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.triu(found) + np.triu(found, 1).T)


def sums_from(x: Array) -> Array:
    """The sum from each place to the end of the last axis."""
    return np.asarray(np.cumsum(x[..., ::-1], axis=-1)[..., ::-1])


def _windows(x: Array, width: int) -> Array:
    """Sums of ``width`` neighbours along the last axis (shorter by width - 1).

    By doubling, in log₂ width steps; unlike differences of running sums, small results keep their digits.
    """
    length = x.shape[-1] - width + 1
    found = np.zeros((*x.shape[:-1], length))
    start, power, sums = 0, 1, x
    while True:
        if width & power:
            found += sums[..., start : start + length]
            start += power
        if 2 * power > width:
            return found
        sums = sums[..., :-power] + sums[..., power:]
        power *= 2
