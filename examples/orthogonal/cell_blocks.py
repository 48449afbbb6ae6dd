"""Algorithms 1-3 of CIKM 2013: independent queries, disjoint sets of cells, each query in those of a set."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmopt.errors import SolverError
from mmopt.numerics.arrays import Array, Ints, frozen
from mmopt.strategies.baselines import orthogonal_rows

__all__ = ["Block", "Inexact", "coefficients", "disjoint_blocks", "first_independent", "is_whole"]

# Rows that are independent modulo a prime are independent. The converse fails with a chance of about one in
# the prime; what is written in too few rows is then found out (``coefficients``).
PRIME = 2**31 - 1
Exact = NDArray[Any]  # of Python's integers

MOST_LEFT_OVER = 1e-9  # largest ‖part left over‖ / ‖query‖ where the queries are not integers


def is_whole(matrix: Array) -> bool:
    """Whether all entries are integers that floats hold exactly."""
    return bool((matrix == np.rint(matrix)).all() and np.abs(matrix).max(initial=0.0) <= 2**53)


def first_independent(matrix: Array) -> Ints:
    """Positions of the rows of a matrix (m, n) that are no combination of the rows before them, in order."""
    return _modulo(matrix) if is_whole(matrix) else orthogonal_rows.first_independent(matrix)


def _modulo(matrix: Array) -> Ints:
    """By elimination modulo a prime; every pivot row is 1 at its pivot, the others 0 there."""
    reduced = np.zeros((0, matrix.shape[1]), dtype=np.int64)
    pivots: list[int] = []
    chosen: list[int] = []
    for position, row in enumerate(matrix.astype(np.int64) % PRIME):
        rest = row.copy()
        for factor, known in zip(row[pivots], reduced, strict=True):
            if factor:
                rest = (rest - factor * known) % PRIME
        if not rest.any():
            continue
        pivot = int(np.argmax(rest != 0))
        rest = rest * pow(int(rest[pivot]), -1, PRIME) % PRIME
        reduced = (reduced - reduced[:, [pivot]] * rest) % PRIME
        reduced = np.vstack([reduced, rest])
        pivots.append(pivot)
        chosen.append(position)
        if len(chosen) == matrix.shape[1]:
            break
    return np.array(chosen, dtype=np.int64)


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
    return [_block(selected, cells) for _, cells in orthogonal_rows.cell_sets(selected)]


def _block(selected: Array, cells: Ints) -> Block:
    inside = selected[np.ix_(np.flatnonzero(selected[:, cells[0]]), cells)]
    unscaled = inside[:1] if len(cells) == 1 else inside[first_independent(inside)]
    largest = np.abs(unscaled).argmax(axis=1)
    queries = unscaled / unscaled[np.arange(len(unscaled)), largest][:, None]
    return Block(frozen(cells), frozen(queries), frozen(np.array(unscaled)))


class Inexact(SolverError):
    """The new queries do not span the queries."""


def coefficients(inside: Array, block: Block) -> Array:
    """C (m, t) with C Q = the queries' part inside the block (m, c), Q its new queries (t, c).

    With one new query this is the queries' entry where the new one is 1. With more it is a linear system
    (the paper's Algorithm 3 looks for a parallel query instead). Integers are solved without rounding, and
    C is rounded once; that C Q is the part is checked, for integers exactly.

    Raises
    ------
    Inexact : they do not span the part.
    """
    count = len(block.queries)
    if is_whole(inside) and is_whole(block.unscaled):
        return _whole(inside, block)
    if count == 1:
        found: Array = inside[:, block.leads]
    else:
        found = np.asarray(np.linalg.lstsq(block.queries.T, inside.T, rcond=None)[0].T, dtype=np.float64)
    left = np.linalg.norm(inside - found @ block.queries, axis=1)
    size = np.linalg.norm(inside, axis=1)
    if (left > MOST_LEFT_OVER * size).any():
        worst = float((left[size > 0] / size[size > 0]).max())
        raise Inexact(
            f"over a block of {len(block.cells)} cells the {count} new queries leave a part {worst:.1e} "
            f"of a query over, expected at most {MOST_LEFT_OVER:g}",
            hint="queries that are nearly dependent: leave one of them out, or scale them to integers",
        )
    return found


def _whole(inside: Array, block: Block) -> Array:
    """By fractions with one denominator; the new queries are the unscaled ones over their largest entries."""
    rows, right = _integers(block.unscaled), _integers(inside)
    at = first_independent(block.unscaled.T)
    inverse, denominator = _inverse(rows[:, at])
    found = right[:, at].dot(inverse)
    if len(at) != len(rows) or (found.dot(rows) != denominator * right).any():
        raise Inexact(
            f"over a block of {len(block.cells)} cells the {len(rows)} new queries do not span the queries",
            hint="the integers are too large to be compared modulo a prime: divide the queries by a number",
        )
    lead = rows[np.arange(len(rows)), block.leads]
    exact = [
        [float(Fraction(int(c * s), denominator)) for c, s in zip(row, lead, strict=True)] for row in found
    ]
    return np.array(exact, dtype=np.float64).reshape(len(inside), len(rows))


def _integers(matrix: Array) -> Exact:
    return np.array([[int(v) for v in row] for row in matrix.tolist()], dtype=object).reshape(matrix.shape)


def _inverse(matrix: Exact) -> tuple[Exact, int]:
    """(N, d) with matrix⁻¹ = N / d, by elimination without fractions (Bareiss); the matrix has an inverse."""
    size = len(matrix)
    work = np.concatenate([matrix, _integers(np.eye(size))], axis=1)
    before = 1
    for k in range(size):
        pivot = next(i for i in range(k, size) if work[i, k] != 0)
        work[[k, pivot]] = work[[pivot, k]]
        for i in range(size):
            if i != k:
                work[i] = (work[k, k] * work[i] - work[i, k] * work[k]) // before
        before = work[k, k]
    return work[:, size:], int(before)
