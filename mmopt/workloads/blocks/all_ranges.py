"""All ranges of neighbouring cells: products, Gram matrix and roots, with weights and under reversal.

No query needs a row here. A range sums differences of running totals, x_a + … + x_b = c_{b+1} - c_a, so that
with u(a, b) the weight of the cells a to b, xᵀ G x = Σ u(a, b) (c_{b+1} - c_a)², the Laplacian of a complete
graph on the n + 1 ends.
"""

from __future__ import annotations

import numpy as np

from mmopt.numerics.arrays import EPS, Array, Ints, require_memory
from mmopt.workloads.blocks.range_blocks import Independent, Ranges, sums_from

__all__ = ["AllRange", "range_root", "reflected_ranges"]


class AllRange(Independent, Ranges):
    """Rows in the order (0..0), (0..1), …, (0..size-1), (1..1), …: first cell, then last cell."""

    kind = "all_range"

    def __init__(self, size: int) -> None:
        super().__init__(size, size * (size + 1) // 2)
        self.root_rounding = 4 * self.size * EPS  # that of ``range_root``; without weights less

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        first = np.arange(self.size)
        start = first * self.size - first * (first - 1) // 2  # number of the range (first..first)
        low = np.searchsorted(start, index, side="right") - 1
        return low, low + index - start[low]

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

    def root_of_weighted(self, weights: Array) -> Array:
        return range_root(self.size, *self._every(), weights)

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
        before = sums_from(np.triu(covariance, 1).T).T  # (i, j): from cell i to the one before j
        added = 2.0 * before + np.diagonal(covariance)
        found = [np.cumsum(added[first, first:]) for first in range(self.size)]
        return np.maximum(np.concatenate(found), 0.0)

    def _adjoint(self, y: Array) -> Array:
        total = np.zeros((*y.shape[:-1], self.size))
        start = 0
        for first in range(self.size):
            stop = start + self.size - first
            total[..., first:] += sums_from(y[..., start:stop])
            start = stop
        return total

    def column_powers(self, norm: int) -> Array:
        return (np.arange(self.size) + 1.0) * np.arange(self.size, 0.0, -1.0)


def range_root(n: int, low: Ints, high: Ints, weights: Array) -> Array:
    """R (n, n) with RᵀR = G, upper triangular; every range has a positive weight.

    Ends are eliminated one by one. Each elimination joins the others by w_k w_l / Σ w, which needs no
    subtraction (Grassmann, Taksar, Heyman: Operations Research 33, 1985), nor does the sum that leads from
    ends to cells: every entry is right to a few n units in its last place.
    """
    require_memory((n + 1, n + 1), "weights of all ranges")
    joined = np.zeros((n + 1, n + 1))
    joined[low, high + 1] = weights
    joined += joined.T
    root = np.zeros((n, n))
    for end in range(n):
        own = joined[end, end + 1 :].copy()
        after = np.cumsum(own[::-1])[::-1]  # over the ends behind each cell
        root[end, end:] = after / np.sqrt(after[0])
        joined[end + 1 :, end + 1 :] += np.outer(own, own / after[0])
    return root


def reflected_ranges(n: int) -> tuple[Array, Array]:
    """The Gram matrix of all ranges on even and on odd vectors under the reversal of the cells, as roots.

    Upper triangles R (⌈n/2⌉, ⌈n/2⌉) on even vectors and (⌊n/2⌋, ⌊n/2⌋) on odd ones; n > 1. With
    G_ij = (i + 1) (n - j) for i <= j, cells counted from 0, and i, j before the middle:

    - on (e_i + e_(n-1-i)) / √2 it is G_ij + G_i,n-1-j = (n + 1) (i + 1), prefix sums over half of the cells;
    - on (e_i - e_(n-1-i)) / √2 it is G_ij - G_i,n-1-j = (i + 1) b_j with b_j = n - 1 - 2 j. As (i + 1) / b_i
      grows by (n + 1) / (b_i b_(i-1)), row k of a root is b_j √((n + 1) / (b_k b_(k-1))) for j >= k.

    Every entry is right to a few roundings, where a QR of the whole root is right next to its norm.
    """
    even = np.triu(np.full((-(-n // 2), -(-n // 2)), np.sqrt(n + 1.0)))
    if n % 2:
        even[:, -1] /= np.sqrt(2.0)  # the cell in the middle has no other
    b = n - 1.0 - 2.0 * np.arange(n // 2)
    odd = np.triu(np.outer(np.sqrt((n + 1.0) / (b * (b + 2.0))), b))
    return even, odd
