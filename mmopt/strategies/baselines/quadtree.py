"""Trees that split all attributes at once: quadtrees, octrees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy.sparse

from mmopt.numerics.arrays import Ints, require_memory
from mmopt.strategies.baselines.design import Design
from mmopt.workloads.blocks.matrices import Sparse
from mmopt.workloads.blocks.trees import levels, runs
from mmopt.workloads.workload import Workload

__all__ = ["quadtree"]


def quadtree(workload: Workload, norm: int, branching: int = 2) -> Design:
    """The total, its branching^d parts, their parts, down to single cells: every block once.

    Each attribute's blocks split into ``branching`` parts at every level until they are single cells
    (Cormode, Procopiuc, Srivastava, Shen, Yu: ICDE 2012, §3, for two attributes, all levels alike; with other
    branchings Qardaji, Yang, Li: PVLDB 2013, §4). An attribute that is down to single cells waits for the
    others. For one attribute it is the hierarchy.
    """
    sizes = workload.domain.shape
    trees = [[*_starts(size, branching)] for size in sizes]
    depth = max(map(len, trees))
    require_memory((depth, workload.n), "list of the blocks of the quadtree")
    found = []
    is_single = np.zeros(workload.n, dtype=bool)
    for level in range(depth):
        own = [tree[min(level, len(tree) - 1)] for tree in trees]
        first = np.ravel_multi_index(np.meshgrid(*own, indexing="ij"), sizes).ravel()  # cell of each block
        counts = np.bincount(first, minlength=workload.n)
        found.append(_rows(first, ~is_single))
        is_single = counts[first] == 1
    return Design(Sparse(scipy.sparse.csr_array(scipy.sparse.vstack(found))))


def _starts(size: int, branching: int) -> Iterator[Ints]:
    """First cell of the block that each cell is in, (size,), level by level."""
    at = np.zeros(size, dtype=np.int64)
    for start, stop in levels(size, branching):
        at[runs(start, stop - start)] = np.repeat(start, stop - start)
        yield at.copy()


def _rows(first: Ints, is_asked: npt.NDArray[np.bool_]) -> scipy.sparse.csr_array:
    """A row for each block with cells to be asked, in the order of their first cells."""
    cells = np.flatnonzero(is_asked)
    blocks, rows = np.unique(first[cells], return_inverse=True)
    shape = (len(blocks), len(first))
    return scipy.sparse.csr_array((np.ones(len(cells)), (rows, cells)), shape=shape)
