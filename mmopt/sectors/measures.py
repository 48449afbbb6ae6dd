"""Measures on the cells of a domain: mixtures of products of one measure an attribute."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import Array, Ints

__all__ = ["Mixture"]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Σⱼ weightsⱼ ⊗ᵢ factorsᵢ[j]: J products; a cell is a product of indicators.

    weights : (J,), nonnegative. factors : one (J, oᵢ) an attribute, rows nonnegative with sum 1, over the
    orbits of its values; within an orbit the measure is uniform.
    """

    weights: Array
    factors: tuple[Array, ...]

    @property
    def count(self) -> int:
        """Number of products, J."""
        return len(self.weights)

    @property
    def total(self) -> float:
        """Its mass, as the weights say."""
        return math.fsum(self.weights)

    def times(self, weights: Array) -> Mixture:
        """The same products with other weights; those of weight 0 left out."""
        kept = weights > 0
        return Mixture(weights[kept], tuple(f[kept] for f in self.factors))

    def scaled(self, by: float) -> Mixture:
        """Everything times a positive number."""
        return self.times(by * self.weights)

    def joined(self, other: Mixture) -> Mixture:
        """With the products of another one."""
        factors = tuple(np.vstack(pair) for pair in zip(self.factors, other.factors, strict=True))
        return Mixture(np.concatenate([self.weights, other.weights]), factors)

    def with_cells(self, cells: Ints) -> Mixture:
        """With single cells (c, k) of orbit numbers added, of weight 0."""
        added = tuple(np.eye(f.shape[1])[own] for f, own in zip(self.factors, cells.T, strict=True))
        return self.joined(Mixture(np.zeros(len(cells)), added))
