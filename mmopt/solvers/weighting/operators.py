"""What a unit of each weight adds to the sensitivity of each cell: a matrix that the kernel only applies.

M (k, n) with entries >= 0 has a row per weight and a column per cell. It is dense here; ``kronecker`` has the
products that are never formed. Written on the array-API standard: the namespace is taken
from the arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Dense", "Operator", "add_diagonal", "entrywise", "solve_scaled"]

Array = Any
# Added to the unit diagonal of the scaled Newton matrix, far below what matters: no pivot is then zero.
RIDGE = 1e-15


class Operator(Protocol):
    """A matrix M (k, n) with entries >= 0, by its products."""

    @property
    def shape(self) -> tuple[int, int]:
        """(k, n)."""
        ...

    def load(self, u: Array) -> Array:
        """Mᵀ u (n,): the sensitivity of each cell at weights u (k,)."""
        ...

    def price(self, mu: Array) -> Array:
        """M mu (k,): what a unit of each weight costs at prices mu (n,)."""
        ...

    def kept(self, rows: Array) -> Operator:
        """The same with these rows alone, ascending."""
        ...

    def newton(self, h: Array, d: Array, right: Array) -> Array:
        """The solution X (k, q) of (diag(h) + M diag(d) Mᵀ) X = right, for h > 0, d >= 0."""
        ...


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
        xp = right.__array_namespace__()
        root = xp.sqrt(d)
        scaled = self.matrix * root[None, :]
        system = scaled @ scaled.T
        del scaled
        return solve_scaled(system, h, right)


def solve_scaled(system: Array, h: Array, right: Array) -> Array:
    """The solution of (system + diag(h)) X = right, scaled to a unit diagonal; system is overwritten."""
    xp = right.__array_namespace__()
    size = xp.sqrt(h + xp.linalg.diagonal(system))
    system /= size[:, None]
    system /= size[None, :]
    add_diagonal(system, h / (size * size) + RIDGE)
    return xp.linalg.solve(system, right / size[:, None]) / size[:, None]


def add_diagonal(system: Array, values: Array) -> None:
    """system += diag(values), in place."""
    xp = values.__array_namespace__()
    here = xp.arange(values.shape[0])
    system += xp.where(here[:, None] == here[None, :], values[:, None], xp.zeros_like(values[:1, None]))
