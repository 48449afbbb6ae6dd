"""Algorithm 3 as it has to be: what every query is in the new queries of one block."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmopt.errors import SolverError
from mmopt.numerics.arrays import Array
from mmopt.strategies.orthogonal.blocks import Block
from mmopt.strategies.orthogonal.rows import first_independent, is_whole

__all__ = ["Inexact", "coefficients"]

Exact = NDArray[Any]  # of Python's integers

CLOSE = 1e-9  # largest ‖part left over‖ / ‖query‖ where the queries are not integers


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
    if (left > CLOSE * size).any():
        worst = float((left[size > 0] / size[size > 0]).max())
        raise Inexact(
            f"over a block of {len(block.cells)} cells the {count} new queries leave a part {worst:.1e} "
            f"of a query over, expected at most {CLOSE:g}",
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
