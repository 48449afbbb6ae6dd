"""Residual strategies as matrices N on a row space: a start that is within a few thousandths of the optimum.

X = Σ_S a_S ⊗_{i in S} Xᵢ, other attributes summed over, is what products of queries with the Gram matrices
Xᵢ would have: N is to it what the queries' own Gram matrix is to their products. Blocks of sectors that no S
holds together are zero.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from mmopt.numerics.arrays import Array
from mmopt.sectors.equal.equal_attributes import EqualAttributes
from mmopt.sectors.equal.pair_roots import roots_of_products
from mmopt.sectors.plain.functions_of_few import SectorComponent
from mmopt.sectors.plain.plain_space import PlainSpace
from mmopt.sectors.residual.residual_spaces import ResidualSpace, ResidualStrategy
from mmopt.sectors.row_space import RowSpace

__all__ = ["residual_parts"]


def residual_parts(rows: RowSpace, strategy: ResidualStrategy) -> tuple[Array, ...] | None:
    """N (d, d) of each component; None on a row space of another kind."""
    match rows:
        case EqualAttributes():
            return _of_equal(rows, strategy)
        case PlainSpace():
            return tuple(_of_component(rows, own, strategy.spaces) for own in rows.components)
        case _:
            return None


def _of_equal(rows: EqualAttributes, strategy: ResidualStrategy) -> tuple[Array, ...]:
    """From one sector of each size, which stands for all: attributes are alike."""
    alike = {len(space.attributes): space for space in strategy.spaces}
    products = [
        ([_root(space.designs[0].strategy)] * size if size else [], size == 2, space.share)
        for size, space in alike.items()
    ]
    return tuple(root.T @ root for root in roots_of_products(rows.coordinates, products))


def _root(matrix: Array) -> Array:
    """A (d, d) with AᵀA = ``matrix``."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def _of_component(rows: PlainSpace, component: SectorComponent, spaces: Sequence[ResidualSpace]) -> Array:
    """Blocks ⊗ of the strategies' coefficients on contrasts and constants, and their numbers on rests."""
    found = np.zeros((component.dim, component.dim))
    for space in spaces:
        own = {i: design.strategy for i, design in zip(space.attributes, space.designs, strict=True)}
        if not all(i in own for i, _ in component.rests):
            continue
        weight = space.share * math.prod(_on_rest(rows, i, orbit, own[i]) for i, orbit in component.rests)
        free = {i: _on_flat(rows, i, x) for i, x in own.items() if i not in dict(component.rests)}
        inside = [sector for sector in component.sectors if set(sector) <= set(free)]
        for one in inside:
            for other in inside:
                blocks = (matrix[_part(i in one), _part(i in other)] for i, matrix in sorted(free.items()))
                block = functools.reduce(np.kron, blocks, np.full((1, 1), weight))
                found[component.places[one], component.places[other]] += block
    return found


def _part(has_contrast: bool) -> slice:
    return slice(1, None) if has_contrast else slice(0, 1)


def _on_flat(rows: PlainSpace, i: int, strategy: Array) -> Array:
    """(o, o) B X Bᵀ / d² with the rows of B the constant and the contrasts at each value."""
    basis = rows.bases[i]
    functions = rows.functions[i][basis.symmetry.orbit_of]
    return np.asarray(functions.T @ strategy @ functions / basis.size**2)


def _on_rest(rows: PlainSpace, i: int, orbit: int, strategy: Array) -> float:
    """What X is times on functions of the orbit's values with sum zero, over d."""
    values = np.flatnonzero(rows.bases[i].symmetry.orbit_of == orbit)
    v, w = values[:2]
    return float(strategy[v, v] - strategy[v, w]) / rows.bases[i].size
