"""How the workload of one attribute is solved, by the noise."""

from __future__ import annotations

from functools import cache

import numpy as np

from mmopt.components import Level, lift
from mmopt.highdim.kron import Block, Solve
from mmopt.pipeline import solve
from mmopt.queries import Strategy, Workload, as_dense
from mmopt.queries.arrays import Array, Ints

__all__ = ["block_for"]

TOLERANCE = 1e-7


def block_for(norm: int) -> Solve:
    """Norm 2: the best strategy over all, certified. Norm 1: the best p-identity strategy found.

    Equal workloads are solved once.
    """
    return cache(_gaussian if norm == 2 else _laplace)


def _gaussian(workload: Workload) -> Block:
    found = solve(workload, "l2_strategy", tolerance=TOLERANCE)
    multipliers = found.error_multipliers
    own = lift(multipliers) if isinstance(multipliers, Level) else np.asarray(multipliers)
    return Block(as_dense(found.strategy), own)


def _laplace(workload: Workload) -> Block:
    """Over classes of cells that no query tells apart: counting such cells one by one tells nothing more."""
    classes = workload.cell_classes
    count = int(classes.max()) + 1
    first = [int(np.flatnonzero(classes == c)[0]) for c in range(count)]
    merged = Workload.from_matrix(workload.root[:, first])
    found = solve(merged, "p_identity")
    matrix = as_dense(found.strategy).matrix
    multipliers = np.asarray(found.error_multipliers)
    sizes = np.bincount(classes[classes >= 0], minlength=count)
    return Block(
        Strategy(_expanded(matrix, classes), norm=1), _expanded((multipliers / sizes)[None], classes)[0]
    )


def _expanded(columns: Array, classes: Ints) -> Array:
    """A column per cell from one per class; 0 for cells of no class."""
    return np.asarray(np.where(classes >= 0, columns[:, np.maximum(classes, 0)], 0.0))
