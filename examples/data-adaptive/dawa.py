"""DAWA's partition of a line of cells into buckets (Li, Hay, Miklau, Wang: PVLDB 2014). SIMULATION ONLY.

The data are cut into intervals in which they are nearly flat; the totals of these buckets are measured, and
a total is spread evenly over its bucket. A bucket costs its L1 deviation from its mean, the bias that
spreading brings, plus 1/ε₂, the noise of its total. The partition of least total cost is found on noisy
costs by dynamic programming. As in the authors' code, a bucket has 2^k cells, and begins anywhere.

Theorem. Let every bucket b get Laplace noise of scale 2 (2 - 1/|b| - 1/L)/ε₁ on its cost, L the largest
length that is allowed. Then the best partition is ε₁-private, neighbours being a row more or less, and that
together with ε₂-private answers to any queries about its buckets is (ε₁ + ε₂)-private.

Proof. (1) One row moves one count by 1, the deviations of the bucket's other cells by 1/|b| each and its own
by 1 - 1/|b|: so the bucket's deviation, and its cost, by at most 2 (1 - 1/|b|). Only buckets with that cell
change, and each partition has just one of them. (2) Fix a partition P, its bucket b with the cell, and the
noise of all buckets but b, which is drawn alike for both tables. Partitions that have b differ from P in
buckets without the cell alone: whether P beats them, neither the row nor noise(b) changes. P beats the others
if noise(b) <= t, where t is the least of their noisy costs less that of P without noise(b). The first moves
by at most 2 (1 - 1/L), the second by at most 2 (1 - 1/|b|), so t by at most ε₁ times the scale of noise(b),
and the chance of noise(b) <= t changes by a factor of at most e^ε₁. (3) That holds for each value of the
other noise, so for its average, the chance of P. Ties have chance 0: two partitions differ in the noise of a
bucket. What a bucket is charged besides may depend on its length, as it tells nothing of the data. (4) Given
the partition, the second stage is a strategy for its totals, chosen by partition and workload alone, with
Laplace noise by its own sensitivity: a row changes one total by 1. The stages compose adaptively. ∎

The authors' code differs (``authors_noise``): half of this scale, with n for L; no noise on single cells;
deviation and noise together raised to 0 where they are below. It is *not* ε₁-private. Take n = 3 and the
tables (t, 0, 0) and (t, 1, 0). The first two cells are together if max(0, t + sX) < max(0, sY), for the first
table, or max(0, t - 1 + sX) < max(0, 1 + sY), and the left side is at most 1/ε₂; s = 7/(6 ε₁), X and Y are
Laplace noise of scale 1. For large t the second is 1.487 times as probable at ε₁ = 1/4, ε₂ = 3/4, and e^ε₁ is
1.284; as 1/ε₂ grows as well, e^(2/s) = e^(12/7 ε₁) times.

The noise is numpy's, in floating point: nothing here may be used on data that are not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "CHARGE",
    "authors_noise",
    "best_partition",
    "bucket_averages",
    "deviations",
    "lengths",
    "proved_noise",
    "proved_scale",
]

Array = npt.NDArray[np.float64]
Costs = dict[int, Array]
"""By length of the bucket, the cost of the one that begins at each cell: length l has n - l + 1 of them."""

CHARGE = 4.0
"""For a bucket, times ε₁, besides 1/ε₂: no scale of the noise is larger."""


def lengths(n: int) -> list[int]:
    """1, 2, 4, … up to n."""
    return [2**k for k in range(n.bit_length())]


def deviations(x: npt.ArrayLike, allowed: list[int]) -> Costs:
    """The sum of |x_j - mean| over each interval of x (n,) of an allowed length."""
    values = np.asarray(x, dtype=float)
    windows = {size: np.lib.stride_tricks.sliding_window_view(values, size) for size in allowed}
    return {size: np.abs(w - w.mean(axis=1, keepdims=True)).sum(axis=1) for size, w in windows.items()}


def best_partition(costs: Mapping[int, Any], n: int) -> list[int]:
    """The first cells of the buckets, with n at the end, of a partition of least cost.

    Costs may be negative. Every place must be reachable, so single cells are among the lengths. Of equal
    costs the one whose last bucket is longest is taken, as in the authors' code: their noise has ties.
    """
    least, came_from = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=int)
    least[0] = 0.0
    for end in range(1, n + 1):
        for size, cost in costs.items():
            if size <= end and (value := least[end - size] + cost[end - size]) <= least[end]:
                least[end], came_from[end] = value, end - size
    edges = [n]
    while edges[-1]:
        edges.append(int(came_from[edges[-1]]))
    return edges[::-1]


def proved_scale(size: int, largest: int) -> float:
    """The scale of the noise on the cost of a bucket of this length, times ε₁, by the theorem."""
    return 2.0 * (2.0 - 1.0 / size - 1.0 / largest)


def proved_noise(costs: Costs, first: float, second: float, rng: np.random.Generator) -> Costs:
    """Noisy costs at ε₁ = ``first``, ε₂ = ``second``, as the theorem above has them.

    The charge for a bucket is 1/ε₂ and CHARGE/ε₁ besides: else the least of many noisy costs is that of many
    small buckets whose noise is below zero.
    """
    charge, largest = 1.0 / second + CHARGE / first, max(costs)
    return {
        size: cost + charge + rng.laplace(scale=proved_scale(size, largest) / first, size=len(cost))
        for size, cost in costs.items()
    }


def authors_noise(costs: Costs, first: float, second: float, rng: np.random.Generator) -> Costs:
    """Noisy costs as in the authors' code (dpcomp_core, L1partition_approx): not ε₁-private, see above."""
    n = len(costs[1])
    noisy = {}
    for size, cost in costs.items():
        scale = 0.0 if size == 1 else (2.0 - 1.0 / size - 1.0 / n) / first
        noisy[size] = 1.0 / second + np.maximum(0.0, cost + scale * rng.laplace(size=len(cost)))
    return noisy


def bucket_averages(edges: list[int]) -> Array:
    """U (n, k): cell i of bucket b has 1/|b| of its total, so W U is what the workload asks of the totals."""
    sizes = np.diff(edges)
    spread = np.zeros((edges[-1], len(sizes)))
    spread[np.arange(edges[-1]), np.repeat(np.arange(len(sizes)), sizes)] = np.repeat(1.0 / sizes, sizes)
    return spread
