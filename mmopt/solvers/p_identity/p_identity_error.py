"""Total error of a p-identity strategy, and its gradient, over cells or over merged cells.

The strategy is A = [I; Θ] D⁻¹ with D = diag(s), s = 1 + 1ᵀΘ, Θ >= 0. With C = (I + ΘΘᵀ)⁻¹, k by k,

    (AᵀA)⁻¹ = D (I - Θᵀ C Θ) D,    tr(G (AᵀA)⁻¹) = Σ sᵢ² Gᵢᵢ - tr(C Θ D G D Θᵀ),

by the formula of Woodbury (McKenna, Miklau, Hay, Machanavajjhala: PVLDB 2018, section 5.2). The gradient
needs the same product Θ D G D, the only one in O(k n²); the others take O(k² n).

Where Θ is constant on blocks of neighbouring cells, Θ = T diag(r) B with the blocks' rows B of 0 and 1 and
with r = 1/√(a block's cells), then ΘΘᵀ = T Tᵀ and s is constant on blocks too: the same formula holds with
the Gram matrix diag(r) B G Bᵀ diag(r), with s = 1 + r ∘ 1ᵀT, and with the sum over each block for Gᵢᵢ. So
what is found over merged cells has the same error over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mmopt.numerics.split_arrays import Array

__all__ = ["Objective"]


@dataclass(frozen=True)
class Objective:
    """The error as a function of T (k, b), for b blocks of neighbouring cells.

    gram : diag(r) B G Bᵀ diag(r), (b, b).
    own : the sums of Gᵢᵢ over the blocks, (b,).
    cells : the number of cells of each block, (b,).
    """

    gram: Array
    own: Array
    cells: Array

    @staticmethod
    def of(gram: Array, block: int = 1) -> Objective:
        """From a workload's Gram matrix (n, n), over blocks of so many cells (the last may be shorter)."""
        n = len(gram)
        first = np.arange(0, n, block)
        cells = np.diff(np.append(first, n)).astype(float)
        own = np.diag(gram)
        if block == 1:
            return Objective(gram, own, cells)
        sums = np.add.reduceat(np.add.reduceat(gram, first, axis=0), first, axis=1)
        r = 1.0 / np.sqrt(cells)
        return Objective(sums * r * r[:, None], np.add.reduceat(own, first), cells)

    def merged(self, rows: Array) -> Array:
        """T of rows (k, n) over the cells, which are averaged over each block."""
        first = np.concatenate([[0], np.cumsum(self.cells)[:-1]]).astype(int)
        return np.asarray(np.add.reduceat(rows, first, axis=1) / np.sqrt(self.cells))

    def spread(self, t: Array) -> Array:
        """The rows Θ (k, n) over the cells that T stands for."""
        return np.asarray(np.repeat(t / np.sqrt(self.cells), self.cells.astype(int), axis=1))

    def value_and_gradient(self, t: Array) -> tuple[float, Array]:
        """Total error at sensitivity 1 for unit noise, and its derivative by T (k, b)."""
        k = len(t)
        r = 1.0 / np.sqrt(self.cells)
        s = 1.0 + r * t.sum(axis=0)
        th = ((t * s) @ self.gram) * s
        small = t @ t.T
        small[np.diag_indices(k)] += 1.0
        factor = scipy.linalg.cho_factor(small, lower=True, check_finite=False)
        ct = scipy.linalg.cho_solve(factor, t, check_finite=False)
        cth = scipy.linalg.cho_solve(factor, th, check_finite=False)
        left = self.own * s * s - np.einsum("ij,ij->j", th, ct)
        gradient = 2.0 * ((cth @ t.T) @ ct - cth + r * (left / s))
        return float(left.sum()), gradient

    def value(self, t: Array) -> float:
        """Total error alone."""
        return self.value_and_gradient(t)[0]
