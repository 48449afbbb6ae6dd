"""The queries of a kind of product, on the components of ``pair_coordinates``: roots of their Gram matrix.

The rows of queries there are those of ``pair_queries``, of roots of their factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mmopt.numerics.arrays import EPS, Array, rounding_of_root, stacked_root, svd
from mmopt.sectors.equal.kinds_of_products import Kind
from mmopt.sectors.equal.pair_coordinates import PairCoordinates
from mmopt.sectors.equal.pair_queries import rows_of

__all__ = ["root_rounding_of", "roots_of", "roots_of_products"]


def roots_of(coordinates: PairCoordinates, kinds: Sequence[Kind]) -> tuple[Array, ...]:
    """R (r, d) of each component, r its rank, with RᵀR the Gram matrix of the queries there.

    Raises
    ------
    TooLargeError : queries of two attributes that do not fit in memory.
    """
    products = [([factor.root() for factor in own.factors], own.is_symmetric, own.weight) for own in kinds]
    return roots_of_products(coordinates, products)


def roots_of_products(
    coordinates: PairCoordinates, products: Sequence[tuple[Sequence[Array], bool, float]]
) -> tuple[Array, ...]:
    """The same of products: factors and ``symmetric`` as ``rows_of`` takes them, and weights."""
    stacks: dict[str, list[Array]] = {own.name: [] for own in coordinates.components}
    for factors, symmetric, weight in products:
        for at, rows in rows_of(coordinates, factors, symmetric):
            stacks[coordinates.components[at].name].append(math.sqrt(weight) * rows)
    return tuple(_independent(stacks[own.name], coordinates.dim(own)) for own in coordinates.components)


def root_rounding_of(coordinates: PairCoordinates, kinds: Sequence[Kind]) -> float:
    """At least ‖root - an exact one‖ / ‖root‖ (Frobenius, of all components as often as they stand there).

    Means and contrasts of a factor's root are sums of d products with numbers of three roundings, off by
    (d + 8) u Σ|root| |e| / d each, and by √d times as much of their own length all together (Cauchy and
    Schwarz).
    A query's coefficients are products of those of its factors; the way from there to the components is
    orthonormal.
    """
    d = coordinates.size
    of_kinds = (
        sum(f.root_rounding + (d + 8) * math.sqrt(d) * EPS for f in kind.factors) + 16 * EPS for kind in kinds
    )
    rows = sum(2 * math.prod(min(f.rows, d) for f in kind.factors) for kind in kinds)
    largest = max(map(coordinates.dim, coordinates.components))
    # Of the rows' triangle, and once as much for its singular directions where they are not independent.
    of_triangle = 2 * rounding_of_root(max(rows, largest + 1), largest)
    return 1.01 * (max(of_kinds) + of_triangle)


def _independent(stack: Sequence[Array], dim: int) -> Array:
    """A root (r, dim) of the sum of the Gram matrices, of full row rank."""
    rows = stacked_root(stack, dim) if stack else np.zeros((0, dim))
    values, directions = svd(rows) if len(rows) else (np.zeros(0), rows)
    kept = values > max(rows.shape) * EPS * values.max(initial=0.0)
    return rows if kept.all() and len(rows) <= dim else values[kept, None] * directions[kept]
