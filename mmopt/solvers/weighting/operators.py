"""What a unit of each weight adds to the sensitivity of each cell: a matrix that the kernel only applies.

M (k, n) with entries >= 0 has a row per weight and a column per cell. Two implementations: dense, and a
Kronecker product of factors that is never formed. Written on the array-API standard: the namespace is taken
from the arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Dense", "Kronecker", "Operator", "entrywise"]

Array = Any
# Added to the unit diagonal of the scaled Newton matrix, far below what matters: no pivot is then zero.
RIDGE = 1e-15
# Conjugate gradients stop at this residual, relatively, or after so many steps.
RESIDUAL = 1e-10
STEPS = 400


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

    def newton(self, h: Array, d: Array, right: Array) -> Array:
        xp = right.__array_namespace__()
        root = xp.sqrt(d)
        scaled = self.matrix * root[None, :]
        system = scaled @ scaled.T
        del scaled
        here = xp.arange(system.shape[0])
        identity = here[:, None] == here[None, :]
        size = xp.sqrt(h + xp.linalg.diagonal(system))
        system /= size[:, None]
        system /= size[None, :]
        # One entry a row: the diagonal of diag(h) in the scaled system, and the ridge.
        system += xp.where(identity, (h / (size * size) + RIDGE)[:, None], xp.zeros_like(right[:1, :1]))
        return xp.linalg.solve(system, right / size[:, None]) / size[:, None]


@dataclass(frozen=True)
class Kronecker:
    """factors[0] ⊗ factors[1] ⊗ …, the last varying fastest; factors (kᵢ, nᵢ) are dense."""

    factors: tuple[Array, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return math.prod(f.shape[0] for f in self.factors), math.prod(f.shape[1] for f in self.factors)

    def load(self, u: Array) -> Array:
        return _apply([f.T for f in self.factors], u)

    def price(self, mu: Array) -> Array:
        return _apply(self.factors, mu)

    def newton(self, h: Array, d: Array, right: Array) -> Array:
        """By conjugate gradients, preconditioned with the diagonal h + (M∘M) d; a column at a time."""
        xp = right.__array_namespace__()
        diagonal = h + _apply([f * f for f in self.factors], d)

        def product(x: Array) -> Array:
            return h * x + self.price(d * self.load(x))

        columns = [_conjugate_gradients(product, diagonal, right[:, j]) for j in range(right.shape[1])]
        return xp.stack(columns, axis=1)


def _apply(factors: Sequence[Array], x: Array) -> Array:
    """(⊗ factors) x, a factor at a time."""
    xp = x.__array_namespace__()
    for f in factors:
        # The first index of x is this factor's; its result becomes the last.
        x = xp.reshape(x, (f.shape[1], -1))
        x = xp.reshape((f @ x).T, (-1,))
    return x


def _conjugate_gradients(product: Any, diagonal: Array, right: Array) -> Array:
    xp = right.__array_namespace__()
    x = xp.zeros_like(right)
    rest = right
    scaled = rest / diagonal
    direction = scaled
    energy = float(xp.sum(rest * scaled))
    goal = RESIDUAL**2 * energy
    for _ in range(STEPS):
        if energy <= goal:
            break
        image = product(direction)
        step = energy / float(xp.sum(direction * image))
        x = x + step * direction
        rest = rest - step * image
        scaled = rest / diagonal
        before, energy = energy, float(xp.sum(rest * scaled))
        direction = scaled + (energy / before) * direction
    return x
