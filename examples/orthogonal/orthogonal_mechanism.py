"""The orthogonal mechanism of a workload: what is measured, how it is put together, its error.

Huang, Han, Li, Yu: Orthogonal mechanism for answering batch queries with differential privacy, CIKM 2013.
Nothing is optimised: new queries over disjoint sets of cells are measured (``cell_blocks.py``),
and those asked are put together from them. ``orthogonal_least_squares`` is an improvement of ours. How the
paper is read where it leaves room stands in ``programs/ERRATA.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from cell_blocks import coefficients, disjoint_blocks, first_independent

from mmopt.errors import OptionError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import Array, Ints, column_norms, frozen, rounded
from mmopt.strategies import Strategy, normalise
from mmopt.workloads import Workload

__all__ = ["OrthogonalMechanism", "orthogonal", "orthogonal_least_squares"]


@dataclass(frozen=True, eq=False, repr=False)
class OrthogonalMechanism:
    """Measure W̃ x + noise; answer W x by R (W̃ x + noise).

    workload : the queries W (m, n).
    selected : the independent queries that W̃ was made of, positions in W (r,).
    strategy : W̃ (s, n); its rows are block after block.
    reconstruction : R (m, s) with W = R W̃, W unweighted. The paper writes B.
    blocks : the cells of each block; disjoint.
    owner : the block of each row of W̃, (s,).
    """

    workload: Workload
    selected: Ints
    strategy: Strategy
    reconstruction: Array
    blocks: tuple[Ints, ...]
    owner: Ints

    @property
    def variances(self) -> Array:
        """Variance of each unweighted answer at unit noise on W̃ x (no sensitivity), (m,)."""
        return np.asarray(np.square(self.reconstruction).sum(axis=1))

    @property
    def total_error(self) -> float:
        """‖W̃‖² tr(R Rᵀ) with weighted queries, in units of the noise's variance at sensitivity 1."""
        return self.strategy.sensitivity**2 * float(self.workload.weights @ self.variances)

    def expected_error(self, epsilon: float) -> float:
        """Theorem 5: 2 tr(R Rᵀ) S(W̃)² / ε², total squared error of the answers under ε-privacy.

        Raises
        ------
        OptionError : ε is not positive, or the strategy is for Gaussian noise (norm 2).
        """
        if not epsilon > 0:
            raise OptionError(f"epsilon is {epsilon!r}, expected a positive number")
        if self.strategy.norm != 1:
            raise OptionError(
                f"the strategy has norm {self.strategy.norm}, and Theorem 5 is on Laplace noise (norm 1)",
                hint="write: orthogonal(workload, norm=1)",
            )
        return 2.0 * self.total_error / epsilon**2

    def __repr__(self) -> str:
        return (
            f"OrthogonalMechanism({self.workload.m} queries from {self.strategy.p} over "
            f"{len(self.blocks)} blocks, sensitivity {rounded(self.strategy.sensitivity, 6, up=True)})"
        )


def orthogonal(workload: Workload, norm: int = 1) -> OrthogonalMechanism:
    """The orthogonal mechanism (Huang et al., CIKM 2013, Algorithms 1-3).

    The paper's random choice of rank(W) independent queries is here the first independent ones. A new query
    has largest entry 1. The error is that of R, as in the paper; since the rows of W̃ are independent, R is
    the only reconstruction, the one of least squares too.

    Parameters
    ----------
    workload : the queries, formed as a matrix.
    norm : 1 (Laplace noise, as in the paper) or 2 (Gaussian noise).

    Raises
    ------
    Inexact : the new queries do not span the queries (of nearly dependent ones).
    OptionError : another norm.
    TooLargeError : the workload is too large to be formed.
    """
    queries = workload.queries
    selected = first_independent(queries)
    blocks = disjoint_blocks(queries[selected])
    count = sum(len(block.queries) for block in blocks)
    require_memory((count, workload.n), "strategy of the orthogonal mechanism")
    require_memory((workload.m, count), "reconstruction of the orthogonal mechanism")
    matrix = np.zeros((count, workload.n))
    parts, owner, start = [], [], 0
    for number, block in enumerate(blocks):
        rows = len(block.queries)
        matrix[start : start + rows, block.cells] = block.queries
        parts.append(coefficients(queries[:, block.cells], block))
        owner += [number] * rows
        start += rows
    return OrthogonalMechanism(
        workload,
        frozen(selected),
        Strategy(frozen(matrix), norm),
        frozen(np.hstack(parts)),
        tuple(block.cells for block in blocks),
        frozen(np.array(owner, dtype=np.int64)),
    )


def orthogonal_least_squares(workload: Workload, norm: int = 1) -> Strategy:
    """W̃ with every block scaled to sensitivity 1 and shorter columns completed, for least squares.

    Least squares on W̃ alone changes nothing: its rows are independent. But the blocks are disjoint, so each
    may be scaled to the sensitivity of the largest; and a cell whose column is shorter still is measured
    once more by itself (PODS 2010, Theorem 5.27), which makes the rows dependent. Neither costs privacy, and
    ``total_error`` is at most that of ``orthogonal``.

    Raises
    ------
    Inexact, OptionError, TooLargeError : as ``orthogonal``.
    """
    found = orthogonal(workload, norm)
    norms = column_norms(found.strategy.matrix, norm)
    largest = np.array([norms[cells].max() for cells in found.blocks])
    scaled = found.strategy.matrix / largest[found.owner][:, None]
    return normalise(Strategy(frozen(np.vstack([scaled, _missing(scaled, norm)])), norm))


def _missing(matrix: Array, norm: int) -> Array:
    """A row for each touched cell whose column is shorter than 1, which makes it 1."""
    lengths = np.sum(np.abs(matrix) ** norm, axis=0)
    short = np.flatnonzero((lengths > 0) & (lengths < 1 - 1e-12))
    rows = np.zeros((len(short), matrix.shape[1]))
    rows[np.arange(len(short)), short] = (1 - lengths[short]) ** (1 / norm)
    return rows
