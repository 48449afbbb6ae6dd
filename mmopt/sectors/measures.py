"""Measures on the cells of a domain: mixtures of products of one measure an attribute, and cut densities."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mmopt.numerics.arrays import Array, Ints

__all__ = ["CutDensity", "Mixture"]


@dataclass(frozen=True, eq=False)
class CutDensity:
    """max(h, 0) times the product of one measure on every attribute, of attributes that may be swapped.

    h is the mean of ``function`` (o, …), of a few attributes, over all choices of them. measure : (o,),
    positive, over the values of each attribute.
    """

    function: Array
    measure: Array


@dataclass(frozen=True, eq=False)
class Mixture:
    """Σⱼ weightsⱼ ⊗ᵢ factorsᵢ[j]: J products; a cell is a product of indicators.

    weights : (J,), nonnegative. factors : one (J, oᵢ) an attribute, rows nonnegative with sum 1, over the
    orbits of its values; within an orbit the measure is uniform. On attributes that may be swapped the
    measure stands for its mean over all their orders. density, share : share >= 0 times a cut density beside
    them, of mass about 1.
    """

    weights: Array
    factors: tuple[Array, ...]
    density: CutDensity | None = None
    share: float = 0.0

    @property
    def count(self) -> int:
        """Number of products, J."""
        return len(self.weights)

    @property
    def total(self) -> float:
        """Its mass, as the weights say; of a cut density ``RowSpace.mass`` knows it."""
        return math.fsum(self.weights) + self.share

    def times(self, weights: Array) -> Mixture:
        """The same products with other weights; those of weight 0 left out."""
        kept = weights > 0
        return replace(self, weights=weights[kept], factors=tuple(f[kept] for f in self.factors))

    def scaled(self, by: float) -> Mixture:
        """Everything times a positive number."""
        return replace(self.times(by * self.weights), share=by * self.share)

    def joined(self, other: Mixture) -> Mixture:
        """With the products of another one, which has no cut density."""
        factors = tuple(np.vstack(pair) for pair in zip(self.factors, other.factors, strict=True))
        return replace(self, weights=np.concatenate([self.weights, other.weights]), factors=factors)

    def with_cells(self, cells: Ints) -> Mixture:
        """With single cells (c, k) of orbit numbers added, of weight 0."""
        added = tuple(np.eye(f.shape[1])[own] for f, own in zip(self.factors, cells.T, strict=True))
        return self.joined(Mixture(np.zeros(len(cells)), added))
