"""Basis vectors of a component that its Gram matrix does not connect: they are components of their own.

Flipping the signs of a block's vectors leaves the Gram matrix as it is and the diagonal of any X too, so some
optimal X has zeros between the blocks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mmopt.numerics.arrays import Array, Ints

__all__ = ["connected", "independent", "independent_columns"]


def independent(root: Array) -> list[Ints]:
    """Columns of a root (r, d) by blocks of RᵀR that are zero between each other, to rounding.

    An entry counts as zero below 8 max(r, d) ε times the lengths of both columns, what a QR of the root is
    off by, and the root of that in singular values: more than one block is a guess, for ``connected`` to
    check. Columns of zeros are in no block.
    """
    if root.shape[1] == 1:
        return [np.zeros(1, dtype=np.int64)] if root.any() else []
    lengths = np.linalg.norm(root, axis=0)
    unit = root / np.where(lengths > 0, lengths, 1.0)
    tiny = 8 * max(root.shape) * float(np.finfo(np.float64).eps)
    return _reached(np.flatnonzero(lengths), lambda new, old: np.abs(unit[:, new].T @ unit[:, old]) > tiny)


def connected(linked: NDArray[np.bool_]) -> list[Ints]:
    """Columns by blocks, from which pairs of them are linked (d, d); none that is not linked to itself."""
    return _reached(np.flatnonzero(linked.diagonal()), lambda new, old: linked[np.ix_(new, old)])


def independent_columns(rows: Array) -> list[Ints]:
    """Columns by blocks that no row connects; a row has an entry other than zero in one block only."""
    if rows.shape[1] == 1:
        return [np.zeros(1, dtype=np.int64)] if rows.any() else []
    used = rows != 0
    return _reached(
        np.flatnonzero(used.any(axis=0)),
        lambda new, old: used[used[:, new].any(axis=1)][:, old].any(axis=0)[None, :],
    )


def _reached(columns: Ints, linked: Callable[[Ints, Ints], np.ndarray]) -> list[Ints]:
    """Connected sets of columns; ``linked(new, old)``: which of ``old`` each of ``new`` is linked to."""
    found: list[Ints] = []
    left = columns
    while len(left):
        block, new, left = [left[:1]], left[:1], left[1:]
        while len(new) and len(left):
            hit = linked(new, left).any(axis=0)
            new, left = left[hit], left[~hit]
            block.append(new)
        found.append(np.sort(np.concatenate(block)))
    return found
