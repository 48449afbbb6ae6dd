"""An improvement of ours on the orthogonal mechanism: no block and no cell has sensitivity to spare."""

from __future__ import annotations

import numpy as np

from mmopt.numerics.arrays import Array, frozen
from mmopt.numerics.outward import column_norms
from mmopt.strategies.dense import Strategy
from mmopt.strategies.orthogonal.mechanism import orthogonal
from mmopt.strategies.protocol import normalise
from mmopt.workloads.workload import Workload

__all__ = ["orthogonal_least_squares"]


def orthogonal_least_squares(workload: Workload, norm: int = 1) -> Strategy:
    """W̃ with every block scaled to sensitivity 1 and shorter columns completed, for least squares.

    Least squares on W̃ alone changes nothing: its rows are independent. But the blocks are disjoint, so each
    may be scaled to the sensitivity of the largest; and a cell whose column is shorter still is measured
    once more by itself (PODS 2010, Theorem 5.27), which makes the rows dependent. Neither costs privacy, and
    ``total_error`` is at most that of ``orthogonal``.

    Raises
    ------
    Inexact, OptionError, TooLargeError : as ``orthogonal``.
    """
    found = orthogonal(workload, norm)
    norms = column_norms(found.strategy.matrix, norm)
    largest = np.array([norms[cells].max() for cells in found.blocks])
    scaled = found.strategy.matrix / largest[found.owner][:, None]
    return normalise(Strategy(frozen(np.vstack([scaled, _missing(scaled, norm)])), norm))


def _missing(matrix: Array, norm: int) -> Array:
    """A row for each touched cell whose column is shorter than 1, which makes it 1."""
    lengths = np.sum(np.abs(matrix) ** norm, axis=0)
    short = np.flatnonzero((lengths > 0) & (lengths < 1 - 1e-12))
    rows = np.zeros((len(short), matrix.shape[1]))
    rows[np.arange(len(short)), short] = (1 - lengths[short]) ** (1 / norm)
    return rows
