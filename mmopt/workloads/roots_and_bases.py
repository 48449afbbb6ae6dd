"""Roots, ranks and bases of queries, computed on merged cells.

With E (c, n) the indicator of the classes of cells that no query distinguishes, W = W_c E where W_c (m, c)
has the column of one representative per class. All factorisations are of c columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import scipy.linalg

from mmopt.limits import require_memory
from mmopt.numerics.arrays import (
    Array,
    Ints,
    counted,
    frozen,
    has_independent_columns,
    owned,
    spectrum,
    stacked_root,
    svd,
)
from mmopt.workloads.blocks.query_matrices import refine
from mmopt.workloads.factors_and_products import Explicit, Product

Block = Product | Explicit
Numbers = TypeVar("Numbers", Array, Ints)
TOO_LARGE_HINT = "work with the workload's factors, or with fewer cells"


@dataclass(frozen=True, eq=False)
class Merged:
    """Query blocks on classes of cells that no query distinguishes, numbered by their first cell.

    ``classes`` (n,) with -1 for untouched cells; ``first`` (c,) and ``sizes`` (c,): first cell and number of
    cells of each class.
    """

    blocks: Sequence[Block]
    classes: Ints
    first: Ints
    sizes: Ints

    @staticmethod
    def of(blocks: Sequence[Block]) -> "Merged":
        """The classes of these blocks."""
        classes = refine([block.classes() for block in blocks])
        labels, first, sizes = np.unique(classes, return_index=True, return_counts=True)
        touched = labels >= 0
        return Merged(blocks, classes, first[touched], sizes[touched])

    @property
    def count(self) -> int:
        """Number of classes, c."""
        return len(self.first)

    def expand(self, matrix: Numbers) -> Numbers:
        """M E: columns (·, c) copied to each cell of their class, 0 for untouched cells; read-only."""
        require_memory((matrix.shape[0], len(self.classes)), "matrix", TOO_LARGE_HINT)
        if np.array_equal(self.classes, np.arange(self.count)):
            return frozen(matrix)
        with_zeros = np.concatenate([matrix, np.zeros((matrix.shape[0], 1), dtype=matrix.dtype)], axis=1)
        return frozen(with_zeros[:, self.classes])  # class -1 reads the last column

    def root(self, weighted: bool) -> Array:
        """R (r, c) with RᵀR = W_cᵀ W_c, r <= min(m, c), by QR.

        Weighted as in the workload; otherwise scaled so that no query counts for more than a unit vector
        (each row of a matrix to norm 1, each product to largest norm 1), which does not change the row space.
        """
        rows = min(sum(block.m for block in self.blocks), 2 * self.count)
        require_memory((rows, self.count), "root of the Gram matrix", TOO_LARGE_HINT)
        return stacked_root(self._scaled_roots(weighted), self.count)

    def _scaled_roots(self, weighted: bool) -> Iterator[Array]:
        """Rows (·, c) whose Gram matrices add up to that of ``root``: roots of products, chunks of rows."""
        for block in self.blocks:
            if isinstance(block, Product):
                scale = block.weight if weighted else 1.0 / float(block.squared_norms().max())
                yield np.sqrt(scale) * (block.weighed() if weighted else block).root(self.first)
            else:
                scales = block.weights if weighted else 1.0 / block.squared_norms()
                for start, rows in block.chunks(max(1024, self.count)):
                    chunk_scales = scales[start : start + len(rows)]
                    is_whole = np.array_equal(self.first, np.arange(rows.shape[1]))
                    rows = rows if is_whole else rows[:, self.first]
                    yield rows if (chunk_scales == 1.0).all() else np.sqrt(chunk_scales)[:, None] * rows

    def basis(self) -> Array:
        """Orthonormal rows (k, n) that span the queries; the scaled indicators of independent classes.

        In coordinates where class C is the unit vector 1_C/√|C|. The rank k counts the singular
        values above 8 max(r, c) ε times the largest, of queries scaled to at most unit norm.
        """
        roots = np.sqrt(self.sizes)
        scaled = self.root(weighted=False) * roots
        if has_independent_columns(scaled):
            return owned(self.expand(np.eye(self.count) / roots))
        values, rows = svd(scaled)
        rank = int(counted(values, scaled.shape).sum())
        spanning = np.eye(self.count) if rank == self.count else fix_signs(rows[:rank])
        return owned(self.expand(spanning / roots))

    def integer_basis(self, rank: int) -> Ints | None:
        """``Workload.integer_basis``: indicators of the classes, or integer queries by QR with pivoting."""
        if self.count == rank:
            require_memory((self.count, len(self.classes)), "integer basis", TOO_LARGE_HINT)
            return self.expand(np.eye(self.count, dtype=np.int64))
        candidates: list[Array] = []
        for block in self.blocks:
            small = block.queries.spanning()
            require_memory(small.shape, "matrix of independent queries")
            candidates.append(small.matrix()[:, self.first])
        require_memory((sum(map(len, candidates)), self.count), "matrix of independent queries")
        rows = whole_rows(np.vstack(candidates))
        if rows is None:
            return None
        _, first = np.unique(rows, axis=0, return_index=True)
        chosen = independent_rows(rows[np.sort(first)], rank)
        return None if chosen is None else self.expand(chosen)


def eigen(root: Array, basis: Array | None) -> tuple[Array, Array]:
    """Eigenvalues (r,) > 0 of RᵀR, descending, and eigenvectors (r, n) as rows, signed by ``fix_signs``.

    In coordinates of the ``basis``, so that every vector lies in the row space even when a weight is tiny;
    None for the identity.
    """
    values, rows = spectrum(root if basis is None else root @ basis.T)
    vectors = rows if basis is None else rows @ basis
    positive = values > 0
    if not positive.all():
        values, vectors = values[positive], vectors[positive]
    return frozen(values), frozen(fix_signs(vectors))


def fix_signs(rows: Array) -> Array:
    """Each row times ±1 so that its largest entry in magnitude is positive (the first of near ties)."""
    size = np.abs(rows)
    lead = np.argmax(size >= (1 - 1e-6) * size.max(axis=1, keepdims=True), axis=1)
    return rows * np.where(rows[np.arange(len(rows)), lead] < 0, -1.0, 1.0)[:, None]


def whole_rows(rows: Array) -> Ints | None:
    """The rows (k, c) as integers, or None if some are not.

    A row that is one number times a row of -1, 0 and 1 counts as that row.
    """
    size = np.abs(rows)
    flat = ((size == 0) | (size == size.max(axis=1, keepdims=True))).all(axis=1, keepdims=True)
    rows = np.where(flat, np.sign(rows), rows)
    return None if not (rows == np.rint(rows)).all() or np.abs(rows).max() > 2**53 else rows.astype(np.int64)


def independent_rows(rows: Ints, rank: int) -> Ints | None:
    """``rank`` independent rows, chosen by QR with pivoting; None if it finds another rank."""
    triangle, pivots = scipy.linalg.qr(rows.T.astype(np.float64), mode="r", pivoting=True)
    reached = int(counted(np.abs(np.diag(triangle)), rows.shape).sum())
    return rows[np.sort(pivots[:rank])] if reached == rank else None
