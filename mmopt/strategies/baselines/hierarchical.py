"""Hierarchies of ranges, one per attribute: binary ones, b-ary ones, and the branching of HB."""

from __future__ import annotations

from mmopt.numerics.arrays import require_memory
from mmopt.strategies.baselines.design import Design, by_attribute
from mmopt.workloads.blocks.linear import Implicit
from mmopt.workloads.blocks.matrices import Dense
from mmopt.workloads.blocks.trees import Hierarchy
from mmopt.workloads.workload import Workload

__all__ = ["best_branching", "hierarchical"]


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
    blocks = [_block(size, b, whole) for size, b in zip(workload.domain.shape, chosen, strict=True)]
    return by_attribute(blocks, f"branching {', '.join(map(str, chosen))}{'' if whole else ', no total'}")


def _block(size: int, branching: int, root: bool) -> Implicit:
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
