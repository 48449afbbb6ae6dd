"""Trees of ranges: hierarchies and Haar wavelets, one per attribute, and trees that split all attributes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy.sparse

from mmopt.numerics.arrays import Ints, require_memory
from mmopt.strategies.baselines.row import Design, by_attribute
from mmopt.workloads import Dense, Implicit, Sparse, Workload
from mmopt.workloads.blocks.trees import Haar, Hierarchy, levels, runs

__all__ = ["best_branching", "hierarchical", "quadtree", "wavelet"]


def hierarchical(
    workload: Workload, norm: int, branching: int | None = None, root: bool | None = None
) -> Design:
    """The Kronecker product of one hierarchy per attribute.

    Parameters
    ----------
    branching : parts of each block (Hay, Rastogi, Miklau, Suciu: PVLDB 2010); by default ``best_branching``
        of each attribute (Qardaji, Yang, Li: PVLDB 2013, HB).
    root : whether the total is measured too; by default where a branching is given, as Hay et al. do, and not
        where it is chosen, as Qardaji et al. do.
    """
    chosen = [branching or best_branching(size) for size in workload.domain.shape]
    whole = root if root is not None else branching is not None
    blocks = [_levels(size, b, whole) for size, b in zip(workload.domain.shape, chosen, strict=True)]
    return by_attribute(
        workload, blocks, f"branching {', '.join(map(str, chosen))}{'' if whole else ', no total'}"
    )


def _levels(size: int, branching: int, root: bool) -> Implicit:
    tree = Hierarchy(size, branching)
    if root or size == 1:
        return tree
    require_memory(tree.shape, "hierarchy")
    return Dense(tree.matrix()[1:])  # the total is the first row


def best_branching(size: int) -> int:
    """The branching of HB: the b with the least average variance of a range, as they count it.

    h levels below the total, h = ⌈log_b n⌉, cost (b - 1) h³ - 2 (b + 1) h² / 3 (Qardaji, Yang, Li: PVLDB
    2013, section 3: noise on all levels but the root, then least squares; to leading order in n). Noise
    variance per level h² for ε-differential privacy. It looks at the domain only, not at the workload, and is
    used under Gaussian noise too. The least b where several are equal; 2 for a single cell.
    """
    return min(range(2, max(size, 2) + 1), key=lambda b: (_cost(b, _height(size, b)), b))


def _cost(b: int, h: int) -> float:
    return (b - 1) * h**3 - 2 * (b + 1) * h**2 / 3


def _height(size: int, b: int) -> int:
    """⌈log_b n⌉, at least 1."""
    h = 1
    while b**h < size:
        h += 1
    return h


def wavelet(workload: Workload, norm: int) -> Design:
    """The Kronecker product of one Haar wavelet per attribute (Xiao, Wang, Gehrke: ICDE 2010, §IV and VI).

    Privelet's coefficient of a block is half the difference of the averages of its halves; times Privelet's
    weight, the block's length, it is the difference of the sums: so equal noise on the rows with entries -1,
    0 and 1 is Privelet's noise (PODS 2010, Proposition E.43). An attribute whose size is no power of two is
    filled up with empty cells, that is, columns are dropped: rows that only split empty cells are left out,
    and a cell whose partners are empty is measured at each of those levels, as Privelet does.
    """
    return by_attribute(workload, [_haar(size) for size in workload.domain.shape])


def _haar(size: int) -> Implicit:
    filled = 1 << (size - 1).bit_length()
    if filled == size:
        return Haar(size)
    require_memory((filled, filled), "wavelet")
    rows = Haar(filled).matrix()[:, :size]
    return Dense(rows[rows.any(axis=1)])


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
        found.append(_blocks(first, ~is_single))
        is_single = counts[first] == 1
    return Design(Sparse(scipy.sparse.csr_array(scipy.sparse.vstack(found))))


def _starts(size: int, branching: int) -> Iterator[Ints]:
    """First cell of the block that each cell is in, (size,), level by level."""
    at = np.zeros(size, dtype=np.int64)
    for start, stop in levels(size, branching):
        at[runs(start, stop - start)] = np.repeat(start, stop - start)
        yield at.copy()


def _blocks(first: Ints, is_asked: npt.NDArray[np.bool_]) -> scipy.sparse.csr_array:
    """A row for each block with cells to be asked, in the order of their first cells."""
    cells = np.flatnonzero(is_asked)
    blocks, rows = np.unique(first[cells], return_inverse=True)
    shape = (len(blocks), len(first))
    return scipy.sparse.csr_array((np.ones(len(cells)), (rows, cells)), shape=shape)
