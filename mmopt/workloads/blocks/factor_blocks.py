"""Query blocks on one attribute, kept implicit.

A factor stands for a dense matrix (rows, size): one query a row, one cell of the attribute a column. The
structured kinds know their Gram matrix, a root of it and their products with vectors in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mmopt.errors import WorkloadError
from mmopt.workloads.blocks.all_ranges import AllRange
from mmopt.workloads.blocks.hierarchies import Haar, Hierarchy
from mmopt.workloads.blocks.implicit_matrix import Implicit as Factor
from mmopt.workloads.blocks.kronecker_products import Union
from mmopt.workloads.blocks.matrix_blocks import Dense, Sparse
from mmopt.workloads.blocks.placed_blocks import Padded, Reordered
from mmopt.workloads.blocks.range_blocks import Identity, Prefix, Total, WidthRange

__all__ = [
    "Factor",
    "all_range",
    "haar",
    "hierarchy",
    "identity",
    "padded",
    "predicates",
    "prefix",
    "reordered",
    "sparse_predicates",
    "total",
    "union",
    "width_range",
]


identity = Identity
"""identity(n): one query per cell."""

total = Total
"""total(n): one query, all cells."""

prefix = Prefix
"""prefix(n): n queries; query i counts cells 0 to i."""

all_range = AllRange
"""all_range(n): n (n + 1) / 2 queries, one per range of neighbouring cells; by first cell, then by last."""

width_range = WidthRange
"""width_range(n, width): n - width + 1 queries, one per range of ``width`` neighbouring cells, by first cell.

WorkloadError for a width below 1 or above n.
"""

haar = Haar
"""haar(n): the n rows of the Haar wavelet: the total, then differences of halves, coarse to fine.

WorkloadError unless n is a power of two.
"""

hierarchy = Hierarchy
"""hierarchy(n, branching=2): the total, its ``branching`` parts, their parts, down to single cells; any n.

WorkloadError for a branching below 2.
"""

predicates = Dense.read
"""predicates(matrix, labels=()): explicit queries (rows, size), one label each.

The labels are "predicate 0", "predicate 1", … if none are given.

Raises
------
WorkloadError : not a finite 2-D matrix with a row and a column, an all-zero row, or a number of labels that
    is not the number of rows.
"""

sparse_predicates = Sparse.read
"""sparse_predicates(matrix, labels=()): the same from a scipy sparse matrix, kept sparse; errors likewise."""


def reordered(block: Factor, order: Sequence[int] | npt.ArrayLike) -> Factor:
    """The block over the cells in another order: its first column is cell ``order[0]``, and so on.

    Ranges of a reordered attribute, for instance. WorkloadError unless ``order`` has every cell once.
    """
    given = np.asarray(order)
    if given.dtype.kind not in "iu" or given.shape != (block.size,):
        raise WorkloadError(
            f"the order of the cells is an array of shape {given.shape} and type {given.dtype.name}, "
            f"expected {block.size:,} integers"
        )
    missing = np.setdiff1d(np.arange(block.size), given)
    if len(missing):
        raise WorkloadError(
            f"the order of the cells lacks {missing[0]}, "
            f"expected each number from 0 to {block.size - 1:,} once"
        )
    return Reordered(block, given.astype(np.int64))


def padded(block: Factor, size: int) -> Factor:
    """The block over the first of ``size`` cells, none of whose queries counts the others.

    For cells beside the declared ones. WorkloadError for fewer cells than the block has.
    """
    if size < block.size:
        raise WorkloadError(f"a block over {block.size:,} cells does not fit into {size:,}")
    return block if size == block.size else Padded(block, size)


def union(*factors: Factor) -> Factor:
    """The queries of all factors, one factor after the other; WorkloadError if their sizes differ."""
    if not factors:
        raise WorkloadError("a union needs at least one query block, found none")
    for factor in factors:
        if factor.size != factors[0].size:
            raise WorkloadError(
                f"a union joins query blocks of {factors[0].size} and {factor.size} cells, "
                "expected equal sizes"
            )
    return Union(factors)
