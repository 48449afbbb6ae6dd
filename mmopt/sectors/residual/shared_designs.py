"""Residual spaces with one strategy for each attribute, the same in all sectors.

Sectors that are solved one by one may have different strategies of an attribute that several products ask
different queries of. What is measured by the same rows everywhere can be rounded to integers without a bias.
With E_S = Σ w Π tr(Gᵢ Xᵢ⁻) over the products in sector S, the total (Σ √E_S)² has the derivative
Σ_S (Σ √E / √E_S) w Π of the others in tr(Gᵢ Xᵢ⁻): so Xᵢ is the best strategy of a sum of Gram matrices, one
attribute after the other. Of an attribute that is asked the same everywhere it is at once the best of all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.limits import time_left
from mmopt.numerics.arrays import Array
from mmopt.sectors.residual.attribute_design import AttributeDesign, attribute_design, contrast_gram
from mmopt.sectors.residual.products_of_few import FewProduct, Key, Terms, terms_by_sector

__all__ = ["SharedDesigns", "shared_designs"]

ROUNDS = 20
ROUND_GAIN = 1e-6  # that a further round is worth
LEAST_SHARE = 1e-9  # of a sector: one whose error is nothing beside the others is measured too


@dataclass(frozen=True, eq=False)
class SharedDesigns:
    """X = Σ_S a_S ⊗ Xᵢ, other attributes summed over.

    designs : Xᵢ by attribute, of those that a product looks at. shares : a_S by sector, of sum 1.
    error : total squared error at squared sensitivity 1.
    """

    designs: Mapping[int, AttributeDesign]
    shares: Mapping[tuple[int, ...], float]
    error: float


def shared_designs(products: Sequence[FewProduct], bases: Sequence[Array]) -> SharedDesigns:
    """The best strategy found of that kind, with these bases (dᵢ,), of sum 1; over a time limit the last one.

    Raises
    ------
    TooLargeError : a factor beyond the memory limit.
    """
    sectors = terms_by_sector(products, bases)
    grams: dict[Key, Array] = {}
    for product in products:
        for i, gram in zip(product.attributes, product.grams, strict=True):
            if (i, id(gram)) not in grams:
                grams[i, id(gram)] = contrast_gram(gram, bases[i])
    keys: dict[int, list[Key]] = {}
    for key in grams:
        keys.setdefault(key[0], []).append(key)
    designs = {i: attribute_design(_sum(grams, dict.fromkeys(own, 1.0))) for i, own in keys.items()}
    costs = {key: _cost(gram, designs[key[0]]) for key, gram in grams.items()}
    several = {i: own for i, own in keys.items() if len(own) > 1}
    error = _error(sectors, costs)
    for _ in range(ROUNDS if several else 0):
        for i, own in several.items():
            designs[i] = attribute_design(_sum(grams, _slopes(sectors, costs, own)))
            costs |= {key: _cost(grams[key], designs[i]) for key in own}
        last, error = error, _error(sectors, costs)
        if error >= last * (1 - ROUND_GAIN) or time_left() <= 0:
            break
    roots = {one: math.sqrt(_error_in(terms, costs)) for one, terms in sectors.items()}
    total = math.fsum(roots.values())
    roots = {one: max(root, LEAST_SHARE * total) for one, root in roots.items()}
    whole = math.fsum(roots.values())
    return SharedDesigns(designs, {one: root / whole for one, root in roots.items()}, error)


def _error_in(terms: Terms, costs: Mapping[Key, float]) -> float:
    return math.fsum(weight * math.prod(costs[key] for key in own) for own, weight in terms.items())


def _error(sectors: Mapping[tuple[int, ...], Terms], costs: Mapping[Key, float]) -> float:
    return math.fsum(math.sqrt(_error_in(terms, costs)) for terms in sectors.values()) ** 2


def _slopes(
    sectors: Mapping[tuple[int, ...], Terms], costs: Mapping[Key, float], keys: Sequence[Key]
) -> dict[Key, float]:
    """The derivative of the error in the costs of these keys, over Σ √E."""
    found = dict.fromkeys(keys, 0.0)
    for terms in sectors.values():
        root = math.sqrt(_error_in(terms, costs))
        for own, weight in terms.items() if root else ():
            for key in own:
                if key in found:
                    found[key] += weight * math.prod(costs[k] for k in own if k != key) / root
    return found


def _sum(grams: Mapping[Key, Array], weights: Mapping[Key, float]) -> Array:
    return np.asarray(sum(weight * grams[key] for key, weight in weights.items()))


def _cost(gram: Array, design: AttributeDesign) -> float:
    """tr(G X⁻)."""
    return float(np.vdot(gram, design.inverse))
