"""Queries of at most two of k equal attributes on the components of ``pair_coordinates``, each by itself.

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

from mmopt.numerics.arrays import Array, require_memory
from mmopt.sectors.equal.pair_coordinates import PairCoordinates

__all__ = ["rows_of"]


def rows_of(
    coordinates: PairCoordinates, factors: Sequence[Array], symmetric: bool
) -> Iterator[tuple[int, Array]]:
    """Numbers of components, and a row (d) for each query of a kind, unweighted; two in the standard one.

    ``factors``: matrices (rows, size) of at most two attributes. The squares of a query's projections on the
    component, summed over all choices of attributes, are those of its rows. With ``symmetric`` factors, both
    the same, a query stands once at every two attributes.
    """
    known = {own.name: at for at, own in enumerate(coordinates.components)}
    for name, parts in _rows(coordinates, factors, symmetric):
        if name in known:
            order = coordinates.components[known[name]].parts
            count = len(next(iter(parts.values())))
            empty = {part: np.zeros((count, len(coordinates.functions[part]))) for part in order}
            yield known[name], np.hstack([parts.get(part, empty[part]) for part in order])


def _rows(
    coordinates: PairCoordinates, factors: Sequence[Array], symmetric: bool
) -> Iterator[tuple[str, dict[str, Array]]]:
    """Names of components, and rows by parts."""
    k, c = coordinates.attributes, coordinates.size - 1
    matrices = [factor / coordinates.size for factor in factors]
    means = [matrix.sum(axis=1) for matrix in matrices]
    slopes = [matrix @ coordinates.contrasts.T for matrix in matrices]
    if not matrices:
        yield "trivial", {"constant": np.ones((1, 1))}
        return
    if len(matrices) == 1:
        yield "trivial", {"constant": math.sqrt(k) * means[0][:, None], "one": slopes[0]}
        yield "standard", {"one": slopes[0]}
        return
    (phi, psi), count = slopes, len(means[0]) * len(means[1])
    require_memory((count, c * c), "queries of two attributes")
    half = math.sqrt(0.5) if symmetric else 1.0  # below are both orders
    constant = half * np.outer(*means).reshape(count, 1)
    alpha = half * (phi[:, None, :] * means[1][None, :, None]).reshape(count, c)
    beta = half * (means[0][:, None, None] * psi[None, :, :]).reshape(count, c)
    pair = half * (phi[:, None, :, None] * psi[None, :, None, :]).reshape(count, c * c)
    parts = {name: math.sqrt(2.0) * pair @ own.T for name, own in coordinates.halves.items()}
    even, odd = parts["symmetric"], parts["antisymmetric"]
    total = math.sqrt(k - 1) * (alpha + beta)
    yield "trivial", {"constant": math.sqrt(k * (k - 1)) * constant, "one": total, "symmetric": even}
    yield "standard", {"one": math.sqrt((k - 2) / 2) * (alpha + beta), "symmetric": even}
    yield "standard", {"one": math.sqrt(k / 2) * (alpha - beta), "antisymmetric": odd}
    yield "(k-2, 2)", {"symmetric": even}
    yield "(k-2, 1, 1)", {"antisymmetric": odd}
