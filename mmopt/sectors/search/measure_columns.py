"""The products of a mixture as columns: moments, slopes and curvature in their weights.

With weights w the moments are Σ_j w_j Q_j, t(w) = Σ μ tr (R Q R^T)^{1/2} is concave and homogeneous of degree
1/2, and in the eigenvectors U and roots σ of R Q Rᵀ, with A_j = Uᵀ R Q_j Rᵀ U,

    ∂t/∂w_j = ½ Σ μ Σ_a A_j[a, a] / σ_a = ½ t · (the integral of f under product j)
    ∂²t/∂w_j∂w_l = -½ Σ μ Σ_ab A_j[a, b] A_l[a, b] / (σ_a σ_b (σ_a + σ_b)).

A cell's Q_j is a square v vᵀ (``RowSpace.vectors``). Between cells 1 / (x + y) = Σ_q g_q e^{-(x + y) s_q}
to a thousandth then makes a curvature out of matrix products, however many cells there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmopt.numerics.arrays import Array, Ints
from mmopt.sectors.measures import Mixture
from mmopt.sectors.row_space import RowSpace
from mmopt.sectors.search.asked_shares import AskedShares
from mmopt.sectors.search.spectrum import Spectrum

__all__ = ["Columns", "columns_of", "columns_of_cells", "slopes_and_curvature"]

NODE_STEP = 1.0
"""Step of the trapezoidal rule for 1 / z = ∫ exp(u - z e^u) du: off by 2 |Γ(1 + 2πi)| of it, some 7e-4."""
NODES_BEFORE, NODES_AFTER = 9.0, 2.5


@dataclass(frozen=True, eq=False)
class Columns:
    """The moments of each product by component: matrices (p, d, d), then vectors (c, d) of cells.

    Products with matrices come first in the mixture; those with vectors after them.
    """

    matrices: tuple[Array, ...]
    vectors: tuple[Array, ...]

    def moments(self, weights: Array) -> tuple[Array, ...]:
        """Q_κ of the mixture with these weights (J,)."""
        found = []
        for own, vectors in zip(self.matrices, self.vectors, strict=True):
            first, rest = weights[: len(own)], weights[len(own) :]
            found.append(np.tensordot(first, own, axes=1) + vectors.T @ (rest[:, None] * vectors))
        return tuple(found)

    def kept(self, which: npt.NDArray[np.bool_]) -> Columns:
        """Those of a mask (J,) alone."""
        count = len(self.matrices[0])
        return Columns(
            tuple(own[which[:count]] for own in self.matrices),
            tuple(own[which[count:]] for own in self.vectors),
        )

    def joined(self, other: Columns) -> Columns:
        """With more columns; of the two that have matrices one has no vectors."""
        return Columns(
            tuple(np.concatenate(pair) for pair in zip(self.matrices, other.matrices, strict=True)),
            tuple(np.concatenate(pair) for pair in zip(self.vectors, other.vectors, strict=True)),
        )


def columns_of_cells(space: RowSpace, cells: Ints) -> Columns:
    """The columns of cells (c, k)."""
    return Columns(tuple(np.zeros((0, d, d)) for d in space.space.dims), space.vectors(cells))


def columns_of(space: RowSpace, mixture: Mixture) -> Columns:
    """The columns of a mixture's products, as matrices."""
    singles = [
        space.moments(Mixture(np.ones(1), tuple(own[at : at + 1] for own in mixture.factors)))
        for at in range(mixture.count)
    ]
    matrices = tuple(np.stack(own) for own in zip(*singles, strict=True))
    return Columns(matrices, tuple(np.zeros((0, d)) for d in space.space.dims))


def slopes_and_curvature(
    columns: Columns,
    found: Spectrum,
    multiplicities: Sequence[float],
    asked: AskedShares | None = None,
) -> tuple[Array, Array]:
    """(J,) the integral of f under each product, and (J, J) the second derivatives of t by two weights.

    With ``asked`` those by its shares come last, (J + o,) and (J + o, J + o).
    """
    rows = None if asked is None else asked.seen(found)
    slopes, curvature = [], []
    each = zip(columns.matrices, columns.vectors, found.roots, found.turned, multiplicities, strict=True)
    for at, (matrices, vectors, roots, turned, often) in enumerate(each):
        squares = turned @ matrices @ turned.T  # (p, r, r)
        seen = vectors @ turned.T  # (c, r)
        if rows is not None:
            seen = np.concatenate([seen, rows[at]])
        own = np.concatenate([np.einsum("jaa,a->j", squares, 1.0 / roots), np.square(seen) @ (1.0 / roots)])
        second = _curvature(squares, seen, roots)
        if asked is not None:
            own, second = asked.joined(own, at), asked.joined(asked.joined(second, at).T, at)
        slopes.append(often / found.total * own)
        curvature.append(-0.5 * often * second)
    found_curvature = np.sum(curvature, axis=0)
    if asked is not None:
        signs = np.ones(len(found_curvature))
        signs[-len(asked.sizes) :] = -1.0
        found_curvature *= np.multiply.outer(signs, signs)
    return np.sum(slopes, axis=0), found_curvature


def _curvature(squares: Array, seen: Array, roots: Array) -> Array:
    """Σ_ab A_j[a, b] A_l[a, b] / (σ_a σ_b (σ_a + σ_b)), A of matrices and of squares of vectors."""
    count, cells = len(squares), len(seen)
    found = np.zeros((count + cells,) * 2)
    if count:
        weighed = squares / (np.multiply.outer(roots, roots) * np.add.outer(roots, roots))
        found[:count, :count] = weighed.reshape(count, -1) @ squares.reshape(count, -1).T
        for at in range(count):
            found[at, count:] = np.einsum("ca,ca->c", seen @ weighed[at], seen)
        found[count:, :count] = found[:count, count:].T
    if cells:
        scaled = seen / np.sqrt(roots)
        low = -np.log(2.0 * roots[-1]) - NODES_BEFORE
        high = -np.log(2.0 * roots[0]) + NODES_AFTER
        for node in np.exp(np.arange(low, high + NODE_STEP, NODE_STEP)):
            rows = scaled * np.exp(-node / 2.0 * roots)
            found[count:, count:] += NODE_STEP * node * np.square(rows @ rows.T)
    return found
