"""The queries of a kind of product, on the components of ``pair_coordinates``: roots of their Gram matrix.

A query with the factors φ at attribute i and ψ at j has the coefficients φ₀ψ₀ of the constant, α = φ₁ψ₀ of
e(x_i), β = φ₀ψ₁ of e(x_j) and V = φ₁ψ₁ᵀ of their products, with φ₀ the mean of φ and φ₁ the means of φ e. The
sum over all ordered pairs of attributes of the squares of its projections on a component is that of the rows

- trivial: (√(k(k-1)) φ₀ψ₀, √(k-1) (α + β), √2 s)
- standard: (√((k-2)/2) (α + β), √2 s, 0) and (√(k/2) (α - β), 0, √2 a)
- (k-2, 2): √2 s; (k-2, 1, 1): √2 a,

s and a the symmetric and the antisymmetric part of V. A query of one attribute has the rows (√k φ₀, φ₁, 0)
and (φ₁, 0, 0).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from mmopt.numerics.arrays import EPS, Array, require_memory, rounding_of_root, stacked_root, svd
from mmopt.sectors.kinds_of_products import Kind
from mmopt.sectors.pair_coordinates import PairCoordinates

__all__ = ["root_rounding_of", "roots_of"]


def roots_of(coordinates: PairCoordinates, kinds: Sequence[Kind]) -> tuple[Array, ...]:
    """R (r, d) of each component, r its rank, with RᵀR the Gram matrix of the queries there.

    Raises
    ------
    TooLargeError : queries of two attributes that do not fit in memory.
    """
    stacks: dict[str, list[Array]] = {own.name: [] for own in coordinates.components}
    for kind in kinds:
        for name, parts in _rows(coordinates, kind):
            for component in coordinates.components:
                if component.name == name:
                    stacks[name].append(_in_order(coordinates, component.parts, parts, kind.weight))
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


def _in_order(
    coordinates: PairCoordinates, order: Sequence[str], parts: dict[str, Array], weight: float
) -> Array:
    """Rows of a component, times the root of the weight; zero on the parts that are not named."""
    count = len(next(iter(parts.values())))
    empty = {part: np.zeros((count, len(coordinates.functions[part]))) for part in order}
    return math.sqrt(weight) * np.hstack([parts.get(part, empty[part]) for part in order])


def _rows(coordinates: PairCoordinates, kind: Kind) -> Iterator[tuple[str, dict[str, Array]]]:
    """Names of components, and rows by parts."""
    k, c = coordinates.attributes, coordinates.size - 1
    roots = [factor.root() / coordinates.size for factor in kind.factors]
    means = [root.sum(axis=1) for root in roots]
    slopes = [root @ coordinates.contrasts.T for root in roots]
    if not roots:
        yield "trivial", {"constant": np.ones((1, 1))}
    elif len(roots) == 1:
        yield "trivial", {"constant": math.sqrt(k) * means[0][:, None], "one": slopes[0]}
        yield "standard", {"one": slopes[0]}
    else:
        (phi, psi), rows = slopes, len(means[0]) * len(means[1])
        require_memory((rows, c * c), "queries of two attributes")
        # Equal factors stand once at every two attributes; below are both orders.
        half = math.sqrt(0.5) if kind.factors[0] == kind.factors[1] else 1.0
        constant = half * np.outer(*means).reshape(rows, 1)
        alpha = half * (phi[:, None, :] * means[1][None, :, None]).reshape(rows, c)
        beta = half * (means[0][:, None, None] * psi[None, :, :]).reshape(rows, c)
        pair = half * (phi[:, None, :, None] * psi[None, :, None, :]).reshape(rows, c * c)
        parts = {name: math.sqrt(2.0) * pair @ own.T for name, own in coordinates.halves.items()}
        even, odd = parts["symmetric"], parts["antisymmetric"]
        total = math.sqrt(k - 1) * (alpha + beta)
        yield "trivial", {"constant": math.sqrt(k * (k - 1)) * constant, "one": total, "symmetric": even}
        yield "standard", {"one": math.sqrt((k - 2) / 2) * (alpha + beta), "symmetric": even}
        yield "standard", {"one": math.sqrt(k / 2) * (alpha - beta), "antisymmetric": odd}
        yield "(k-2, 2)", {"symmetric": even}
        yield "(k-2, 1, 1)", {"antisymmetric": odd}


def _independent(stack: Sequence[Array], dim: int) -> Array:
    """A root (r, dim) of the sum of the Gram matrices, of full row rank."""
    rows = stacked_root(stack, dim) if stack else np.zeros((0, dim))
    values, directions = svd(rows) if len(rows) else (np.zeros(0), rows)
    kept = values > max(rows.shape) * EPS * values.max(initial=0.0)
    return rows if kept.all() and len(rows) <= dim else values[kept, None] * directions[kept]
