"""UGrid and AGrid on a rectangle of cells (Qardaji, Yang, Li: ICDE 2013). SIMULATION ONLY.

UGrid lays a grid of g × g blocks, g = √(N ε / 10), over the cells, measures the blocks' totals, and spreads a
total evenly over its block. AGrid begins with a coarser grid, a quarter of that each way and at least 10, and
splits each block by its noisy total v into g × g parts, g = √(v ε₂ / 5); where both levels were measured they
are averaged by least squares. N is the number of rows, which a share of ε measures. The cells here are given,
so blocks are whole cells: they are as equal as may be, and none is smaller than a cell.

Privacy (a row more or less). The noisy N has sensitivity 1. Given it, the first grid is known, and a row
changes one block's total by 1. Given the totals with their noise, the second grid is known, and a row changes
one part's total by 1. So Laplace noise of scales 1/ε₀, 1/ε₁, 1/ε₂ makes the steps ε₀-, ε₁- and ε₂-private;
they compose adaptively, and the averages are made of what was published. UGrid is that without the second
grid.

``dpcomp_core`` takes N as public, as it says. Where a row may be added it is not, and the grid shows it: for
64 × 64 cells at ε = 1 UGrid has blocks of 32 × 32 cells for 40 rows there, and of 31 × 31 for 41.

The noise is numpy's, in floating point: nothing here may be used on data that are not known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["ALPHA", "ROWS_SHARE", "Levels", "adaptive_grid", "blocks", "first_weights", "uniform_grid"]

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ROWS_SHARE = 0.05  # of ε, for the number of rows
ALPHA = 0.5  # of the rest, for AGrid's first level
ROWS_PER_BLOCK = 10.0  # the paper's c, times ε; half of it at the second level
FEWEST = 10  # blocks each way at AGrid's first level


@dataclass(frozen=True)
class Levels:
    """AGrid's first measurements: block and part of each cell (n,), noisy totals (k,) of the blocks."""

    block: Ints
    part: Ints
    totals: Array


def blocks(shape: tuple[int, int], each_way: int) -> Ints:
    """The block of each cell (n,) of a rectangle: each_way² blocks, fewer where cells are too few."""
    of = [np.arange(size) * min(each_way, size) // size for size in shape]
    return np.asarray(of[0][:, None] * (of[1][-1] + 1) + of[1]).ravel()


def noisy_rows(x: Array, epsilon: float, rng: np.random.Generator) -> float:
    """N, measured."""
    return max(0.0, float(x.sum()) + rng.laplace(scale=1.0 / (ROWS_SHARE * epsilon)))


def uniform_grid(x: Array, epsilon: float, rng: np.random.Generator) -> Ints:
    """The block of each cell, for counts x (rows, columns). What is left of ε measures the blocks."""
    rest = (1.0 - ROWS_SHARE) * epsilon
    each_way = math.floor(math.sqrt(noisy_rows(x, epsilon, rng) * rest / ROWS_PER_BLOCK))
    return blocks((x.shape[0], x.shape[1]), max(1, each_way))


def adaptive_grid(x: Array, epsilon: float, rng: np.random.Generator) -> Levels:
    """Both grids, and the totals of the first with their noise, for counts x (rows, columns)."""
    rest = (1.0 - ROWS_SHARE) * epsilon
    quarter = math.ceil(math.sqrt(noisy_rows(x, epsilon, rng) * rest / ROWS_PER_BLOCK) / 4.0)
    block = blocks((x.shape[0], x.shape[1]), max(FEWEST, quarter))
    true = np.bincount(block, x.ravel())
    totals = true + rng.laplace(scale=1.0 / (ALPHA * rest), size=len(true))
    part, parts = np.zeros(x.size, dtype=np.int64), 0
    ways = np.ceil(np.sqrt(np.maximum(totals, 0.0) * (1.0 - ALPHA) * rest / (ROWS_PER_BLOCK / 2.0)))
    for number, each_way in enumerate(ways):
        cells = np.flatnonzero(block == number)
        rows, columns = np.unravel_index(cells, x.shape)
        within = (int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1)
        part[cells] = parts + blocks(within, max(1, int(each_way)))
        parts = int(part[cells].max()) + 1
    return Levels(block, part, totals)


def first_weights(parts: npt.ArrayLike) -> Array:
    """Weight of a block's own noisy total against the sum of its parts, by their number: least variance."""
    own, summed = 1.0 / ALPHA**2, np.asarray(parts, dtype=float) / (1.0 - ALPHA) ** 2
    return np.asarray(summed / (own + summed))
