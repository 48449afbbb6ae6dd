"""What a unit of each weight adds to the sensitivity of each cell: a matrix that the kernel only applies.

M (k, n) with entries >= 0 has a row per weight and a column per cell. It is dense here; ``kronecker`` has the
products that are never formed. Written on the array-API standard: the namespace is taken
from the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg

__all__ = ["Array", "Dense", "Operator", "add_diagonal", "entrywise", "solve_scaled"]

Array = Any
# Added to the unit diagonal of the scaled Newton matrix, far below what matters: no pivot is then zero.
RIDGE = 1e-15
ROWS = 128  # of a matrix that are worked on at a time


class Operator(Protocol):
    """A matrix M (k, n) with entries >= 0, by its products."""

    @property
    def shape(self) -> tuple[int, int]:
        """(k, n)."""

    def load(self, u: Array) -> Array:
        """Mᵀ u (n,): the sensitivity of each cell at weights u (k,)."""

    def price(self, mu: Array) -> Array:
        """M mu (k,): what a unit of each weight costs at prices mu (n,)."""

    def kept(self, rows: Array) -> Operator:
        """The same with these rows alone, ascending."""

    def newton(self, h: Array, d: Array, right: Array) -> Array:
        """The solution X (k, q) of (diag(h) + M diag(d) Mᵀ) X = right, for h > 0, d >= 0; or NaN."""


def entrywise(design: Array, power: int) -> Array:
    """M of design queries: their entries squared for norm 2 (power 1), absolute for norm 1 (power 2)."""
    return design * design if power == 1 else design.__array_namespace__().abs(design)


@dataclass(frozen=True)
class Dense:
    """A matrix that is there."""

    matrix: Array

    @property
    def shape(self) -> tuple[int, int]:
        k, n = self.matrix.shape
        return k, n

    def load(self, u: Array) -> Array:
        return self.matrix.T @ u

    def price(self, mu: Array) -> Array:
        return self.matrix @ mu

    def kept(self, rows: Array) -> Dense:
        return Dense(rows.__array_namespace__().take(self.matrix, rows, axis=0))

    def newton(self, h: Array, d: Array, right: Array) -> Array:
        return solve_scaled(lambda: self._gram(d), h, right)

    def _gram(self, d: Array) -> Array:
        """M diag(d) Mᵀ, a block of rows up to the diagonal at a time; above stands what mirrors them."""
        k = self.matrix.shape[0]
        system = d.__array_namespace__().empty((k, k), dtype=d.dtype)
        for start in range(0, k, ROWS):
            own = self.matrix[start : start + ROWS, :]
            end = start + own.shape[0]
            system[start:end, :end] = (own * d[None, :]) @ self.matrix[:end, :].T
            system[:start, start:end] = system[start:end, :start].T
        return system


def solve_scaled(gram: Callable[[], Array], h: Array, right: Array) -> Array:
    """The solution of (gram() + diag(h)) X = right, NaN where rounding leaves none.

    The matrix is overwritten, and made again if need be.
    """
    xp = right.__array_namespace__()
    system, size = _scaled(gram(), h)
    right = right / size[:, None]
    if not isinstance(system, np.ndarray):
        return xp.linalg.solve(system, right) / size[:, None]
    try:
        # The transpose is in the order of columns, so that it is factored in place.
        factor = scipy.linalg.cho_factor(system.T, overwrite_a=True, check_finite=False)
        found = scipy.linalg.cho_solve(factor, right)
    except np.linalg.LinAlgError:  # singular but for rounding: elimination goes on where Cholesky may not
        try:
            found = np.linalg.solve(_scaled(gram(), h)[0], right)
        except np.linalg.LinAlgError:  # a pivot is zero
            return np.full_like(right, np.nan)
    return found / size[:, None]


def _scaled(system: Array, h: Array) -> tuple[Array, Array]:
    """system + diag(h) in place, scaled to a unit diagonal; and the roots of that diagonal."""
    xp = h.__array_namespace__()
    size = xp.sqrt(h + xp.linalg.diagonal(system))
    system /= size[:, None]
    system /= size[None, :]
    add_diagonal(system, h / (size * size) + RIDGE)
    return system, size


def add_diagonal(system: Array, values: Array) -> None:
    """system += diag(values), in place and without another matrix."""
    xp = values.__array_namespace__()
    for start in range(0, values.shape[0], ROWS):
        own = values[start : start + ROWS]
        here = xp.arange(own.shape[0])
        block = xp.where(here[:, None] == here[None, :], own[:, None], xp.zeros_like(own)[:, None])
        system[start : start + ROWS, start : start + ROWS] += block
