"""Queries of at most two of k equal attributes on the components of ``pair_coordinates``, each by itself.

The formulas are those of ``pair_roots``, which takes roots of the factors for their rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mmopt.numerics.arrays import Array, require_memory
from mmopt.sectors.kinds_of_products import Kind
from mmopt.sectors.pair_coordinates import PairCoordinates

__all__ = ["query_rows"]


def query_rows(coordinates: PairCoordinates, kind: Kind) -> Iterator[tuple[int, Array]]:
    """Numbers of components, and a row (d) for each query of the kind, unweighted; two in the standard one.

    The squares of its projections on the component, summed over all choices of attributes, are those of the
    rows of a query; equal factors stand once at every two attributes.
    """
    known = {own.name: at for at, own in enumerate(coordinates.components)}
    for name, parts in _rows(coordinates, kind):
        if name in known:
            order = coordinates.components[known[name]].parts
            count = len(next(iter(parts.values())))
            empty = {part: np.zeros((count, len(coordinates.functions[part]))) for part in order}
            yield known[name], np.hstack([parts.get(part, empty[part]) for part in order])


def _rows(coordinates: PairCoordinates, kind: Kind) -> Iterator[tuple[str, dict[str, Array]]]:
    k, c = coordinates.attributes, coordinates.size - 1
    matrices = [factor.matrix() / coordinates.size for factor in kind.factors]
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
    half = math.sqrt(0.5) if kind.factors[0] == kind.factors[1] else 1.0  # both orders are below
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
