"""All ranges under the reversal of the cells: their Gram matrix on even and on odd vectors, as roots.

With G_ij = (i + 1) (n - j) for i <= j, cells counted from 0, and i, j before the middle:

- on (e_i + e_(n-1-i)) / √2 it is G_ij + G_i,n-1-j = (n + 1) (i + 1), prefix sums over half of the cells;
- on (e_i - e_(n-1-i)) / √2 it is G_ij - G_i,n-1-j = (i + 1) b_j with b_j = n - 1 - 2 j. As (i + 1) / b_i
  grows by (n + 1) / (b_i b_(i-1)), row k of a root is b_j √((n + 1) / (b_k b_(k-1))) for j >= k.

Every entry is right to a few roundings, where a QR of the whole root is right next to its norm.
"""

from __future__ import annotations

import numpy as np

from mmopt.numerics.arrays import Array

__all__ = ["reflected_ranges"]


def reflected_ranges(n: int) -> tuple[Array, Array]:
    """Upper triangles R (⌈n/2⌉, ⌈n/2⌉) on even vectors and (⌊n/2⌋, ⌊n/2⌋) on odd ones; n > 1."""
    even = np.triu(np.full((-(-n // 2), -(-n // 2)), np.sqrt(n + 1.0)))
    if n % 2:
        even[:, -1] /= np.sqrt(2.0)  # the cell in the middle has no other
    b = n - 1.0 - 2.0 * np.arange(n // 2)
    odd = np.triu(np.outer(np.sqrt((n + 1.0) / (b * (b + 2.0))), b))
    return even, odd
