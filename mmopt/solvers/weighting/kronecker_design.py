"""M as rows of a Kronecker product that is never formed, and Newton's step with it.

Near the optimum few cells count: the prices of all others are small next to their slacks. With A the cells
that count, the Newton matrix is nearly Δ + M_A diag(d_A) M_Aᵀ, where Δ is diagonal and has the other cells
by their diagonals; its inverse takes a matrix of the size of A (Woodbury), however large d_A may be.
Conjugate gradients preconditioned with it end after a few steps. Where A is at least half as many as the
rows, the Newton matrix itself is formed. Both matrices are made through the factors, some columns at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.solvers.weighting.weighting_problem import Array, add_diagonal, solve_scaled

__all__ = ["FORMED", "Kronecker"]

# A cell counts when it adds at least this to one direction of the Newton matrix scaled by h: less than that
# is a matter of few conjugate gradients.
COUNTS = 30.0
# The largest matrix that a Newton step forms, and the most cells that count where the rows are more.
FORMED, COUNTED = 4096, 2048
# Entries of one block of columns, of which the matrix is made.
ENTRIES_OF_BLOCK = 1 << 20
# Conjugate gradients stop at this residual, relatively, or after so many steps.
RESIDUAL = 1e-8
MOST_STEPS = 100
NEWTON_RIDGE = 1e-13  # on the unit diagonal of the matrix that is inverted


@dataclass(frozen=True)
class Kronecker:
    """Rows of factors[0] ⊗ factors[1] ⊗ …, the last varying fastest; factors (kᵢ, nᵢ) are dense.

    rows : which of the product's rows, ascending; None for all of them.
    """

    factors: tuple[Array, ...]
    rows: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        k = math.prod(f.shape[0] for f in self.factors) if self.rows is None else self.rows.shape[0]
        return k, math.prod(f.shape[1] for f in self.factors)

    def load(self, u: Array) -> Array:
        return _apply([f.T for f in self.factors], self._spread(u))

    def price(self, mu: Array) -> Array:
        return self._kept(_apply(self.factors, mu))

    def kept(self, rows: Array) -> Kronecker:
        own = rows if self.rows is None else rows.__array_namespace__().take(self.rows, rows)
        return Kronecker(self.factors, own)

    def newton(self, h: Array, d: Array, right: Array) -> Array:
        """Exactly, or by conjugate gradients where few cells count; a column at a time."""
        xp = right.__array_namespace__()
        k = self.shape[0]
        squares = [f * f for f in self.factors]
        size = d * _apply([f.T for f in squares], self._spread(1.0 / h))
        (cells,) = xp.nonzero(size > COUNTS)
        if 2 * cells.shape[0] > k and k <= FORMED:
            return self._exact(h, d, right)
        if cells.shape[0] > COUNTED:
            cells = xp.sort(xp.argsort(size)[-COUNTED:])
        rest = xp.where(_is_among(cells, d), xp.zeros_like(d), d)
        diagonal = h + self._kept(_apply(squares, rest))
        inverse = self._inverse(diagonal, d, cells)

        def product(x: Array) -> Array:
            return h * x + self.price(d * self.load(x))

        columns = [_conjugate_gradients(product, inverse, right[:, j]) for j in range(right.shape[1])]
        return xp.stack(columns, axis=1)

    def _exact(self, h: Array, d: Array, right: Array) -> Array:
        xp = right.__array_namespace__()
        rows = xp.arange(self.shape[0]) if self.rows is None else self.rows
        return solve_scaled(lambda: _gram(self.factors, d, rows), h, right)

    def _inverse(self, diagonal: Array, d: Array, cells: Array) -> Callable[[Array], Array]:
        """x ↦ (diag(diagonal) + M_A diag(d_A) M_Aᵀ)⁻¹ x for the cells A."""
        if cells.shape[0] == 0:
            return lambda x: x / diagonal
        xp = d.__array_namespace__()
        inner = _gram([f.T for f in self.factors], self._spread(1.0 / diagonal), cells)
        own = 1.0 / xp.take(d, cells)
        scale = 1.0 / xp.sqrt(own + xp.linalg.diagonal(inner))
        inner *= scale[:, None]
        inner *= scale[None, :]
        add_diagonal(inner, own * scale * scale + NEWTON_RIDGE)
        root = _inverse_root(inner)
        del inner
        place = _places(cells, d.shape[0])

        def inverse(x: Array) -> Array:
            y = x / diagonal
            seen = scale * xp.take(self.load(y), cells)
            seen = scale * (root.T @ (root @ seen))
            return y - self.price(_scattered(seen, place)) / diagonal

        return inverse

    def _spread(self, u: Array) -> Array:
        """u on all rows of the product, zero on those that are left out."""
        if self.rows is None:
            return u
        return _scattered(u, self._place)

    @cached_property
    def _place(self) -> Array:
        return _places(self.rows, math.prod(f.shape[0] for f in self.factors))

    def _kept(self, b: Array) -> Array:
        return b if self.rows is None else b.__array_namespace__().take(b, self.rows)


def _places(chosen: Array, size: int) -> Array:
    """For each of 0..size-1 its place among the chosen (ascending), or their number if it is not one."""
    xp = chosen.__array_namespace__()
    here = xp.arange(size)
    place = xp.searchsorted(chosen, here)
    found = xp.take(chosen, xp.minimum(place, xp.full_like(place, chosen.shape[0] - 1)))
    return xp.where(found == here, place, xp.full_like(place, chosen.shape[0]))


def _is_among(chosen: Array, like: Array) -> Array:
    xp = like.__array_namespace__()
    if chosen.shape[0] == 0:
        return xp.zeros(like.shape, dtype=xp.bool)
    return _places(chosen, like.shape[0]) < chosen.shape[0]


def _scattered(values: Array, place: Array) -> Array:
    xp = values.__array_namespace__()
    return xp.take(xp.concat([values, xp.zeros_like(values[:1])]), place)


def _apply(factors: Sequence[Array], x: Array) -> Array:
    """(⊗ factors) x, a factor at a time; for the columns of a matrix, as the rows of the result, flat."""
    xp = x.__array_namespace__()
    for f in factors:
        # The first index of x is this factor's; its result becomes the last.
        x = xp.reshape(x, (f.shape[1], -1))
        x = xp.reshape((f @ x).T, (-1,))
    return x


def _gram(factors: Sequence[Array], weights: Array, at: Array) -> Array:
    """Entries (at, at) of F diag(weights) Fᵀ, F = ⊗ factors, a block of columns at a time."""
    xp = weights.__array_namespace__()
    size, rows = at.shape[0], math.prod(f.shape[0] for f in factors)
    out = xp.empty((size, size), dtype=weights.dtype)
    step = max(1, ENTRIES_OF_BLOCK // max(rows, weights.shape[0]))
    for start in range(0, size, step):
        block = at[start : start + step]
        columns = xp.ones((1, block.shape[0]), dtype=weights.dtype)
        left = rows
        for f in factors:
            left //= f.shape[0]
            own = xp.take(f, (block // left) % f.shape[0], axis=0).T
            columns = xp.reshape(columns[:, None, :] * own[None, :, :], (-1, block.shape[0]))
        seen = xp.reshape(_apply(factors, columns * weights[:, None]), (block.shape[0], rows))
        out[start : start + step, :] = xp.take(seen, at, axis=1)
    return out


def _inverse_root(matrix: Array) -> Array:
    """Y with YᵀY the inverse of a positive definite matrix, which may be singular but for its ridge.

    The factor Lᵀ is inverted and not the matrix: Y L = I up to rounding, so that YᵀY is off by a factor next
    to one, and not by something next to its largest entries.
    """
    xp = matrix.__array_namespace__()
    try:
        return xp.linalg.inv(xp.linalg.cholesky(matrix).T).T
    except np.linalg.LinAlgError:  # the ridge is lost in rounding
        values, vectors = xp.linalg.eigh(matrix)
        return (
            vectors.T
            / xp.sqrt(xp.where(values > NEWTON_RIDGE, values, xp.full_like(values, NEWTON_RIDGE)))[:, None]
        )


def _conjugate_gradients(
    product: Callable[[Array], Array], inverse: Callable[[Array], Array], right: Array
) -> Array:
    """The solution of product(x) = right; inverse is nearly that of the product."""
    xp = right.__array_namespace__()
    x = scaled = inverse(right)
    goal = RESIDUAL**2 * float(xp.sum(right * scaled))
    rest = right - product(x)
    direction = scaled = inverse(rest)
    energy = float(xp.sum(rest * scaled))
    for _ in range(MOST_STEPS):
        if energy <= goal:
            break
        image = product(direction)
        step = energy / float(xp.sum(direction * image))
        x = x + step * direction
        rest = rest - step * image
        scaled = inverse(rest)
        before, energy = energy, float(xp.sum(rest * scaled))
        direction = scaled + (energy / before) * direction
    return x
