"""The blocks with closed forms: identity, total, prefix sums, all ranges."""

from __future__ import annotations

import numpy as np

from mmopt.numerics.arrays import EPS, Array, Ints, require_memory
from mmopt.workloads.blocks.factor_base import Counting, Factor
from mmopt.workloads.blocks.range_weights import range_gram, range_root
from mmopt.workloads.domain import Attribute
from mmopt.workloads.labels import cell_label, range_labels

__all__ = ["AllRange", "Identity", "Independent", "Prefix", "Total"]


class Independent(Factor):
    """A block whose kind alone says that its columns are independent: none equals another."""

    @property
    def full_rank(self) -> bool:
        return True

    def classes(self) -> Ints:
        return np.arange(self.size)

    def spanning(self) -> Factor:
        return Identity(self.size)


class Identity(Counting):
    kind = "identity"

    @property
    def rows(self) -> int:
        return self.size

    @property
    def full_rank(self) -> bool:
        return True

    def _take(self, index: Ints) -> Array:
        return np.asarray(index[:, None] == np.arange(self.size), dtype=np.float64)

    def _gram(self) -> Array:
        return np.eye(self.size)

    _root = _gram

    def _apply(self, x: Array) -> Array:
        return x

    def _adjoint(self, y: Array) -> Array:
        return y

    def column_powers(self, norm: int) -> Array:
        return np.ones(self.size)

    def squared_norms(self) -> Array:
        return np.ones(self.size)

    def classes(self) -> Ints:
        return np.arange(self.size)

    def labels(self, attribute: Attribute) -> list[str]:
        return [cell_label(attribute, i) for i in range(self.size)]


class Total(Counting):
    kind = "total"

    @property
    def rows(self) -> int:
        return 1

    def _take(self, index: Ints) -> Array:
        return np.ones((len(index), self.size))

    def _gram(self) -> Array:
        return np.ones((self.size, self.size))

    def _root(self) -> Array:
        return np.ones((1, self.size))

    def _apply(self, x: Array) -> Array:
        return np.asarray(x.sum(axis=-1, keepdims=True))

    def _adjoint(self, y: Array) -> Array:
        return np.repeat(y, self.size, axis=-1)

    def column_powers(self, norm: int) -> Array:
        return np.ones(self.size)

    def squared_norms(self) -> Array:
        return np.array([float(self.size)])

    def classes(self) -> Ints:
        return np.zeros(self.size, dtype=np.int64)

    def labels(self, attribute: Attribute) -> list[str]:
        return [""]


class Prefix(Independent, Counting):
    kind = "prefix"

    @property
    def rows(self) -> int:
        return self.size

    def _take(self, index: Ints) -> Array:
        return (index[:, None] >= np.arange(self.size)).astype(np.float64)

    def _gram(self) -> Array:
        # Cells i and j are both counted by the prefixes that end at max(i, j) or later.
        cells = np.arange(self.size)
        return (self.size - np.maximum.outer(cells, cells)).astype(np.float64)

    def _root(self) -> Array:
        return self._dense()

    def gram_of_weighted(self, weights: Array) -> Array:
        cells = np.arange(self.size)
        return np.asarray(_sums_from(weights)[np.maximum.outer(cells, cells)])

    def root_of_weighted(self, weights: Array) -> Array:
        return np.sqrt(weights)[:, None] * self._dense()

    def _apply(self, x: Array) -> Array:
        return np.cumsum(x, axis=-1)

    def _adjoint(self, y: Array) -> Array:
        return _sums_from(y)

    def column_powers(self, norm: int) -> Array:
        return np.arange(self.size, 0.0, -1.0)

    def squared_norms(self) -> Array:
        return np.arange(1.0, self.size + 1)

    def labels(self, attribute: Attribute) -> list[str]:
        return range_labels(attribute, [(None, i) for i in range(self.size)])


class AllRange(Independent, Counting):
    """Rows in the order (0..0), (0..1), …, (0..size-1), (1..1), …: first cell, then last cell."""

    kind = "all_range"

    @property
    def rows(self) -> int:
        return self.size * (self.size + 1) // 2

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        """First and last cell of the ranges of these numbers."""
        first = np.arange(self.size)
        start = first * self.size - first * (first - 1) // 2  # number of the range (first..first)
        low = np.searchsorted(start, index, side="right") - 1
        return low, low + index - start[low]

    def _take(self, index: Ints) -> Array:
        low, high = self.ends(index)
        cells = np.arange(self.size)
        return ((low[:, None] <= cells) & (cells <= high[:, None])).astype(np.float64)

    def _gram(self) -> Array:
        # Ranges that hold cells i <= j: i + 1 first cells, size - j last cells.
        cells = np.arange(self.size)
        return np.asarray(
            (np.minimum.outer(cells, cells) + 1.0) * (self.size - np.maximum.outer(cells, cells))
        )

    def _root(self) -> Array:
        # The Gram matrix is (n + 1) T⁻¹ with T tridiagonal (-1, 2, -1) = L Lᵀ; this is √(n + 1) L⁻¹:
        # entries j √((n + 1) / (i (i + 1))) for j <= i, counted from 1; exact up to rounding of each entry.
        i = np.arange(1.0, self.size + 1)
        found = np.zeros((self.size, self.size))
        for row, scale in enumerate(np.sqrt((self.size + 1) / (i * (i + 1)))):
            np.multiply(i[: row + 1], scale, out=found[row, : row + 1])
        return found

    @property
    def root_rounding(self) -> float:
        return 4 * self.size * EPS  # that of ``range_root``; without weights less

    def gram_of_weighted(self, weights: Array) -> Array:
        return range_gram(self.size, *self.ends(np.arange(self.rows)), weights)

    def root_of_weighted(self, weights: Array) -> Array:
        return range_root(self.size, *self.ends(np.arange(self.rows)), weights)

    def _apply(self, x: Array) -> Array:
        # By first cell. Sums only, here and below, no differences: small results keep their digits.
        return np.concatenate([np.cumsum(x[..., first:], axis=-1) for first in range(self.size)], axis=-1)

    def squared_lengths(self, directions: Array) -> Array:
        """From C = D Dᵀ where D has enough columns: each cell adds its own entry and twice those before.

        Fewer directions may leave nothing of a range, which only its own sums show.
        """
        if directions.shape[1] < self.size:
            return super().squared_lengths(directions)
        covariance = directions @ directions.T
        before = _sums_from(np.triu(covariance, 1).T).T  # (i, j): from cell i to the one before j
        added = 2.0 * before + np.diagonal(covariance)
        found = [np.cumsum(added[first, first:]) for first in range(self.size)]
        return np.maximum(np.concatenate(found), 0.0)

    def _adjoint(self, y: Array) -> Array:
        total = np.zeros((*y.shape[:-1], self.size))
        start = 0
        for first in range(self.size):
            stop = start + self.size - first
            total[..., first:] += _sums_from(y[..., start:stop])
            start = stop
        return total

    def column_powers(self, norm: int) -> Array:
        return (np.arange(self.size) + 1.0) * np.arange(self.size, 0.0, -1.0)

    def squared_norms(self) -> Array:
        require_memory((self.rows,), f"list of the squared norms of {self!r}")
        low, high = self.ends(np.arange(self.rows))
        return (high - low + 1).astype(np.float64)

    def labels(self, attribute: Attribute) -> list[str]:
        low, high = self.ends(np.arange(self.rows))
        return range_labels(attribute, zip(low.tolist(), high.tolist(), strict=True))


def _sums_from(x: Array) -> Array:
    """The sum from each place to the end of the last axis."""
    return np.asarray(np.cumsum(x[..., ::-1], axis=-1)[..., ::-1])
