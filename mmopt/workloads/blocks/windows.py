"""All ranges of a given number of neighbouring cells."""

from __future__ import annotations

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints
from mmopt.workloads.blocks.closed_forms import Identity
from mmopt.workloads.blocks.factor_base import Counting, Factor
from mmopt.workloads.classes import ordered
from mmopt.workloads.domain import Attribute
from mmopt.workloads.labels import range_labels

__all__ = ["WidthRange"]


class WidthRange(Counting):
    """Row i counts cells i to i + width - 1; n - width + 1 rows."""

    kind = "width_range"

    def __init__(self, size: int, width: int) -> None:
        super().__init__(size)
        if not 1 <= width <= size:
            raise WorkloadError(
                f"ranges of {width:,} cells over {size:,} cells, expected a width from 1 to {size:,}"
            )
        self.width = int(width)

    @property
    def rows(self) -> int:
        return self.size - self.width + 1

    @property
    def full_rank(self) -> bool:
        return self.width == 1

    def _ends(self) -> tuple[Ints, Ints]:
        """First and last range that holds each cell, (size,) each."""
        cells = np.arange(self.size)
        return np.maximum(cells - self.width + 1, 0), np.minimum(cells, self.rows - 1)

    def _take(self, index: Ints) -> Array:
        off = np.arange(self.size) - index[:, None]
        return ((off >= 0) & (off < self.width)).astype(np.float64)

    def _gram(self) -> Array:
        first, last = self._ends()
        both = np.minimum.outer(last, last) - np.maximum.outer(first, first) + 1
        return np.asarray(np.maximum(both, 0), dtype=np.float64)

    def _root(self) -> Array:
        return self._dense()  # independent rows

    def _apply(self, x: Array) -> Array:
        return _windows(x, self.width)

    def _adjoint(self, y: Array) -> Array:
        beside = np.zeros((*y.shape[:-1], self.width - 1))
        return _windows(np.concatenate([beside, y, beside], axis=-1), self.width)

    def column_powers(self, norm: int) -> Array:
        first, last = self._ends()
        return (last - first + 1).astype(np.float64)

    def squared_norms(self) -> Array:
        return np.full(self.rows, float(self.width))

    def classes(self) -> Ints:
        first, last = self._ends()
        return ordered(first * self.size + last)

    def spanning(self) -> Factor:
        return Identity(self.size) if self.full_rank else self

    def labels(self, attribute: Attribute) -> list[str]:
        return range_labels(attribute, [(i, i + self.width - 1) for i in range(self.rows)])

    def describe(self) -> list[object]:
        return [self.kind, self.size, self.width]

    def __repr__(self) -> str:
        return f"width_range({self.size}, {self.width})"


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
