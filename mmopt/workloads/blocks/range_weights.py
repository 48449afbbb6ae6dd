"""All ranges with a weight each: Gram matrix and root without a row per range.

With u(a, b) the weight of the cells a to b, G_ij = Σ u(a, b) over a <= min(i, j), b >= max(i, j): a running
sum in two directions. A range sums differences of running totals, x_a + … + x_b = c_{b+1} - c_a, so that
xᵀ G x = Σ u(a, b) (c_{b+1} - c_a)², the Laplacian of a complete graph on the n + 1 ends.
"""

from __future__ import annotations

import numpy as np

from mmopt.numerics.arrays import Array, Ints, require_memory

__all__ = ["range_gram", "range_root"]


def range_gram(n: int, low: Ints, high: Ints, weights: Array) -> Array:
    """G (n, n) of ranges low to high with these weights; sums of positive numbers only."""
    found = np.zeros((n, n))
    found[low, high] = weights
    found = np.cumsum(found, axis=0)
    found = np.cumsum(found[:, ::-1], axis=1)[:, ::-1]
    upper = np.triu(found)
    return np.asarray(upper + np.triu(found, 1).T)


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
