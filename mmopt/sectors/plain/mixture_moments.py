"""Moments of a mixture of products of measures, all products at once: matrix products of pairs of sectors.

Entry (s, t) of the moments of one product is Πᵢ over the attributes of both sectors: the mean of two
contrasts where both have the attribute, of one contrast where one has. Summed over products these are
matrix products with as many inner terms as there are products.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from mmopt.numerics.arrays import Array
from mmopt.sectors.plain.functions_of_few import Sector, SectorComponent

__all__ = ["mixture_moments"]


def mixture_moments(component: SectorComponent, seconds: Mapping[int, Array], scales: Array) -> Array:
    """(dim, dim) Σ_j scales_j times the means of the products of two of the component's functions.

    seconds : (J, o, o) of each attribute of the component: means of products of two of the constant and the
    contrasts. scales : (J,).
    """
    means = {i: own[:, 0, 1:] for i, own in seconds.items()}
    found = np.empty((component.dim,) * 2)
    for one, other in itertools.combinations_with_replacement(component.sectors, 2):
        block = _block(one, other, seconds, means, scales)
        rows, columns = component.places[one], component.places[other]
        found[rows, columns] = block
        found[columns, rows] = block.T
    return found


def _block(
    one: Sector, other: Sector, seconds: Mapping[int, Array], means: Mapping[int, Array], scales: Array
) -> Array:
    """The moments of the functions of a sector with those of another."""
    both = [i for i in one if i in other]
    arrays = [seconds[i][:, 1:, 1:] for i in both]
    arrays += [means[i] for sector in (one, other) for i in sector if i not in both]
    axes = [axis for i in both for axis in ((0, i), (1, i))]
    axes += [(side, i) for side, sector in enumerate((one, other)) for i in sector if i not in both]
    sizes = [math.prod(own.shape[1:]) for own in arrays]
    halves = [max(math.prod(sizes[:at]), math.prod(sizes[at:])) for at in range(len(sizes) + 1)]
    at = halves.index(min(halves))
    left, right = _joined(arrays[:at], len(scales)), _joined(arrays[at:], len(scales))
    block = (left * scales[:, None]).T @ right
    shape = [size for own in arrays for size in own.shape[1:]]
    wanted = [(side, i) for side, sector in enumerate((one, other)) for i in sector]
    turned = block.reshape(shape).transpose([axes.index(axis) for axis in wanted])
    return turned.reshape(math.prod(seconds[i].shape[1] - 1 for i in one), -1)


def _joined(arrays: Sequence[Array], count: int) -> Array:
    """(J, ·) the products of an entry of each array (J, …), product by product."""
    found = np.ones((count, 1))
    for own in arrays:
        found = np.einsum("ja,jb->jab", found, own.reshape(count, -1)).reshape(count, -1)
    return found
