"""Algorithm 2: the disjoint sets of cells, and the normalised independent queries over each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import Array, Ints, frozen
from mmopt.strategies.orthogonal.rows import first_independent
from mmopt.workloads.blocks.matrices import column_classes

__all__ = ["Block", "disjoint_blocks"]


@dataclass(frozen=True, eq=False)
class Block:
    """A set of cells and the new queries over it.

    cells : (c,) in increasing order.
    queries : (t, c), independent; each divided by its entry of largest magnitude, which is then 1.
    unscaled : the same before the division.
    """

    cells: Ints
    queries: Array
    unscaled: Array

    @property
    def leads(self) -> Ints:
        """Position in ``cells`` of the entry 1 of each query that it was divided by, (t,)."""
        return np.asarray(np.abs(self.unscaled).argmax(axis=1), dtype=np.int64)


def disjoint_blocks(selected: Array) -> list[Block]:
    """The blocks of independent queries (r, n), those that most queries use first.

    The loop of Algorithm 2 takes the cell that most queries use, and of the cells that are left all those
    that every one of these queries uses. None of them is used by another query too, since it would be used
    by more; so what is taken is the set of cells that exactly these queries use. The blocks are the classes
    of cells by the set of queries that use them. Cells that none uses are in no block.
    """
    used = selected != 0
    classes = column_classes(used.astype(np.float64))
    found, first = np.unique(classes, return_index=True)
    kept = [(-int(used[:, at].sum()), int(at), int(label)) for label, at in zip(found, first, strict=True)]
    return [_block(selected, np.flatnonzero(classes == label)) for _, _, label in sorted(kept) if label >= 0]


def _block(selected: Array, cells: Ints) -> Block:
    inside = selected[np.ix_(np.flatnonzero(selected[:, cells[0]]), cells)]
    unscaled = inside[:1] if len(cells) == 1 else inside[first_independent(inside)]
    largest = np.abs(unscaled).argmax(axis=1)
    queries = unscaled / unscaled[np.arange(len(unscaled)), largest][:, None]
    return Block(frozen(cells), frozen(queries), frozen(np.array(unscaled)))
