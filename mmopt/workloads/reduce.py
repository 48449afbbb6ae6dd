"""Roots, ranks and bases of a list of query blocks, on merged cells.

With E (c, n) the indicator of the classes of cells that no query tells apart, W = W_c E where W_c (m, c) has
the column of one representative per class. All factorisations below are of c columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import scipy.linalg

from mmopt.numerics.arrays import Array, Ints, has_independent_columns, require_memory, stacked_root, svd
from mmopt.workloads.classes import refine
from mmopt.workloads.group import Explicit
from mmopt.workloads.product import Product

__all__ = [
    "IMPLICIT",
    "Block",
    "Merged",
    "fix_signs",
    "independent_rows",
    "integer_basis",
    "integer_candidates",
    "merged",
    "root",
    "span",
    "whole_rows",
]

Block = Product | Explicit
Numbers = TypeVar("Numbers", Array, Ints)
IMPLICIT = "work with the workload's factors, or with fewer cells"


@dataclass(frozen=True, eq=False)
class Merged:
    """Classes of cells: ``classes`` (n,) with -1 for untouched cells, ``first`` (c,), ``sizes`` (c,)."""

    classes: Ints
    first: Ints
    sizes: Ints

    @property
    def count(self) -> int:
        """Number of classes, c."""
        return len(self.first)

    def expand(self, matrix: Numbers) -> Numbers:
        """M E: columns (·, c) copied to every cell of their class, 0 for untouched cells; (·, n)."""
        require_memory((matrix.shape[0], len(self.classes)), "matrix", IMPLICIT)
        if np.array_equal(self.classes, np.arange(self.count)):
            return matrix
        padded = np.concatenate([matrix, np.zeros((matrix.shape[0], 1), dtype=matrix.dtype)], axis=1)
        return padded[:, self.classes]  # class -1 reads the last column


def merged(blocks: Sequence[Block]) -> Merged:
    """Classes of cells that no query of the blocks tells apart, numbered by their first cell."""
    classes = refine([block.classes() for block in blocks])
    found, first, sizes = np.unique(classes, return_index=True, return_counts=True)
    touched = found >= 0
    return Merged(classes, first[touched], sizes[touched])


def root(blocks: Sequence[Block], cells: Merged, weighted: bool) -> Array:
    """R (r, c) with RᵀR = W_cᵀ W_c, r <= min(m, c), by QR.

    Weighted as the workload says; otherwise scaled so that no query counts for more than a unit vector (each
    row of a matrix to norm 1, each product to largest norm 1), which leaves the row space as it is.
    """
    rows = min(sum(block.m for block in blocks), 2 * cells.count)
    require_memory((rows, cells.count), "root of the Gram matrix", IMPLICIT)
    return stacked_root(_scaled_roots(blocks, cells, weighted), cells.count)


def _scaled_roots(blocks: Sequence[Block], cells: Merged, weighted: bool) -> Iterator[Array]:
    for block in blocks:
        if isinstance(block, Product):
            scale = block.weight if weighted else 1.0 / float(block.squared_norms().max())
            scaled = block.weighed() if weighted else block
            yield np.sqrt(scale) * scaled.root(cells.first)
        else:
            scales = block.weights if weighted else 1.0 / block.squared_norms()
            for start, rows in block.chunks(max(1024, cells.count)):
                own = scales[start : start + len(rows)]
                is_whole = np.array_equal(cells.first, np.arange(rows.shape[1]))
                rows = rows if is_whole else rows[:, cells.first]
                yield rows if (own == 1.0).all() else np.sqrt(own)[:, None] * rows


def span(unit_root: Array, cells: Merged) -> Array:
    """Orthonormal rows (k, c), in coordinates where class C stands for the unit vector 1_C/√|C|.

    The identity when all classes are independent. The rank k counts the singular values above
    8 max(r, c) ε times the largest, of queries scaled to at most unit norm.
    """
    scaled = unit_root * np.sqrt(cells.sizes)
    if has_independent_columns(scaled):
        return np.eye(cells.count)
    values, rows = svd(scaled)
    rank = int((values > 8 * max(scaled.shape) * np.finfo(np.float64).eps * values[0]).sum())
    return np.eye(cells.count) if rank == cells.count else fix_signs(rows[:rank])


def fix_signs(rows: Array) -> Array:
    """Each row times ±1 so that its largest entry in magnitude is positive (the first of near ties)."""
    size = np.abs(rows)
    lead = np.argmax(size >= (1 - 1e-6) * size.max(axis=1, keepdims=True), axis=1)
    return rows * np.where(rows[np.arange(len(rows)), lead] < 0, -1.0, 1.0)[:, None]


def integer_basis(blocks: Sequence[Block], cells: Merged, rank: int) -> Ints | None:
    """``Workload.integer_basis``: the classes' indicators, or integer queries chosen by QR with pivoting."""
    if cells.count == rank:
        require_memory((cells.count, len(cells.classes)), "integer basis", IMPLICIT)
        return cells.expand(np.eye(cells.count, dtype=np.int64))
    rows = integer_candidates(blocks, cells)
    chosen = None if rows is None else independent_rows(rows, rank)
    return None if chosen is None else cells.expand(chosen)


def integer_candidates(blocks: Sequence[Block], cells: Merged) -> Ints | None:
    """Integer rows (·, c) with the row space of W_c, or None if some query is not integer.

    A query that is one number times a row of -1, 0 and 1 counts as that row.
    """
    found: list[Array] = []
    for block in blocks:
        small = block.queries.spanning()
        require_memory(small.shape, "matrix of independent queries")
        found.append(small.matrix()[:, cells.first])
    require_memory((sum(map(len, found)), cells.count), "matrix of independent queries")
    rows = whole_rows(np.vstack(found))
    if rows is None:
        return None
    _, first = np.unique(rows, axis=0, return_index=True)
    return np.asarray(rows[np.sort(first)], dtype=np.int64)


def whole_rows(rows: Array) -> Ints | None:
    """The rows (k, c) as integers, or None if some are not.

    A row that is one number times a row of -1, 0 and 1 counts as that row.
    """
    size = np.abs(rows)
    largest = size.max(axis=1, keepdims=True)
    flat = ((size == 0) | (size == largest)).all(axis=1, keepdims=True)
    rows = np.where(flat, np.sign(rows), rows)
    if not (rows == np.rint(rows)).all() or np.abs(rows).max() > 2**53:
        return None
    return rows.astype(np.int64)


def independent_rows(rows: Ints, rank: int) -> Ints | None:
    """``rank`` independent rows, chosen by QR with pivoting; None if the rank it finds is another one."""
    triangle, pivots = scipy.linalg.qr(rows.T.astype(np.float64), mode="r", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    found = int((diagonal > 8 * max(rows.shape) * np.finfo(np.float64).eps * diagonal[0]).sum())
    return rows[np.sort(pivots[:rank])] if found == rank else None
