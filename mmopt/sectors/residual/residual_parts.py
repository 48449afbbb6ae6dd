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
from mmopt.sectors.plain.functions_of_few import SectorComponent
from mmopt.sectors.residual.residual_spaces import ResidualSpace, ResidualStrategy
from mmopt.sectors.row_space import RowSpace

__all__ = ["residual_parts"]


def residual_parts(rows: RowSpace, strategy: ResidualStrategy) -> tuple[Array, ...]:
    """N (d, d) of each component."""
    return tuple(_of_component(rows, own, strategy.spaces) for own in rows.components)


def _of_component(rows: RowSpace, component: SectorComponent, spaces: Sequence[ResidualSpace]) -> Array:
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


def _on_flat(rows: RowSpace, i: int, strategy: Array) -> Array:
    """(o, o) B X Bᵀ / d² with the rows of B the constant and the contrasts at each value."""
    basis = rows.bases[i]
    functions = rows.functions[i][basis.symmetry.orbit_of]
    return np.asarray(functions.T @ strategy @ functions / basis.size**2)


def _on_rest(rows: RowSpace, i: int, orbit: int, strategy: Array) -> float:
    """What X is times on functions of the orbit's values with sum zero, over d."""
    values = np.flatnonzero(rows.bases[i].symmetry.orbit_of == orbit)
    v, w = values[:2]
    return float(strategy[v, v] - strategy[v, w]) / rows.bases[i].size
