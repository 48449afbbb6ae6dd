"""A union of products as numbers: for each attribute the Gram matrices that occur, for each product which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.split_arrays import Array, Ints
from mmopt.strategies.product_strategy import products_of
from mmopt.workloads import Factor, Workload
from mmopt.workloads.blocks.implicit_matrix import refine

__all__ = ["Side", "Terms"]


@dataclass(frozen=True, eq=False)
class Side:
    """One attribute, its values merged where no product tells them apart.

    classes : (size,) the merged value of each value; -1 for a value that nothing asks for.
    grams : the Gram matrices that occur, each (r, r) over the r merged values.
    queries : the rows that occur, distinct, (q, r).
    used : (products,) which Gram matrix each product has.
    """

    classes: Ints
    grams: tuple[Array, ...]
    queries: Array
    used: Ints

    @staticmethod
    def of(factors: Sequence[Factor]) -> Side:
        """The side of an attribute, from the factors that all products have on it."""
        different = list(dict.fromkeys(factors))
        classes = refine([factor.classes() for factor in different])
        first = np.array([int(np.argmax(classes == c)) for c in range(int(classes.max()) + 1)])
        grams = tuple(factor.gram()[np.ix_(first, first)] for factor in different)
        rows = [factor.root()[:, first] for factor in different]
        places = {factor: i for i, factor in enumerate(different)}
        used = np.array([places[factor] for factor in factors])
        return Side(classes, grams, np.unique(np.vstack(rows), axis=0), used)

    @property
    def size(self) -> int:
        """The number of merged values."""
        return len(self.grams[0])

    def gram(self, weights: Array) -> Array:
        """Σ weightⱼ Gⱼ over the products, (r, r)."""
        shares = np.bincount(self.used, weights, minlength=len(self.grams))
        return np.asarray(np.tensordot(shares, np.array(self.grams), axes=1))

    def spread(self, rows: Array) -> Array:
        """Rows (k, r) over the merged values as rows (k, size) over all; zero where nothing is asked."""
        return np.asarray(np.where(self.classes >= 0, rows[:, self.classes], 0.0))


@dataclass(frozen=True, eq=False)
class Terms:
    """All attributes, and the weight of each product."""

    sides: tuple[Side, ...]
    weights: Array

    @staticmethod
    def of(workload: Workload) -> Terms:
        """The terms of a workload.

        Raises
        ------
        UnsuitableError : a workload that is no union of products.
        """
        products = products_of(workload.weighed)
        sides = [Side.of(factors) for factors in zip(*(p.factors for p in products), strict=True)]
        return Terms(tuple(sides), np.array([p.weight for p in products]))

    def surrogate(self, errors: Sequence[Array], at: int) -> Array:
        """The Gram matrix that attribute ``at`` faces while the errors of the others stay.

        errors : for each attribute tr(Gⱼ (AᵀA)⁻¹) of every product, (products,).
        """
        others = [e for i, e in enumerate(errors) if i != at]
        return self.sides[at].gram(self.weights * np.prod(others, axis=0))
