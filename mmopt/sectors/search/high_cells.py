"""Cells where a strategy's columns are long, found by changing one attribute's value at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mmopt.numerics.arrays import Array, Ints

__all__ = ["climbed", "high_neighbours", "neighbours"]

Profile = Callable[[Ints], Array]
"""f at cells (c, k)."""

MOST_SWEEPS = 50
NEARLY = 0.3  # of what the highest f is above 1: what a neighbour has to have


def neighbours(cells: Ints, shape: Sequence[int]) -> Ints:
    """(c, Σ o, k) each cell with each value of each attribute in turn, itself k times among them."""
    attributes = np.repeat(np.arange(len(shape)), shape)
    values = np.concatenate([np.arange(count) for count in shape])
    found = np.repeat(cells[:, None, :], len(values), axis=1)
    found[:, np.arange(len(values)), attributes] = values
    return found


def climbed(profile: Profile, shape: Sequence[int], cells: Ints) -> tuple[Ints, Array]:
    """The cells (c, k) moved to the best neighbour until none is better; once each, and f, descending."""
    best = np.unique(cells, axis=0)
    heights = profile(best)
    moving = np.ones(len(best), dtype=bool)
    for _ in range(MOST_SWEEPS):
        if not moving.any():
            break
        near = neighbours(best[moving], shape)
        found = profile(near.reshape(-1, near.shape[-1])).reshape(near.shape[:2])
        at, own = np.arange(len(near)), found.argmax(axis=1)
        rises = found[at, own] > heights[moving] * (1.0 + 1e-12)
        which = np.flatnonzero(moving)
        best[which] = near[at, own]
        heights[which] = np.maximum(found[at, own], heights[which])
        moving[which] = rises
        best, kept = np.unique(best, axis=0, return_index=True)
        heights, moving = heights[kept], moving[kept]
    order = np.argsort(-heights, kind="stable")
    return best[order], heights[order]


def high_neighbours(profile: Profile, shape: Sequence[int], cells: Ints, heights: Array) -> Ints:
    """Neighbours of cells with an f nearly as far above 1 as the highest of all, the highest first."""
    near = np.unique(neighbours(cells, shape).reshape(-1, cells.shape[1]), axis=0)
    found = profile(near)
    high = found > 1.0 + NEARLY * (float(heights.max()) - 1.0)
    order = np.argsort(-found[high], kind="stable")
    return np.asarray(near[high][order])
