"""Residual spaces, solved one by one: the best strategy whose matrix N is block-diagonal by sectors.

A query less its means over the values of an attribute is in the sectors with that attribute, its mean in
those without. The queries' part in sector S has the Gram matrix

    H_S = Σ over products p that look at all of S  w_p Π_{k in p but not S} γ_k ⊗_{i in S} P Gᵢ P

(γ = 1ᵀ G 1 / d²; P takes the mean away). Mostly that is one Kronecker product; then the product of the optima
of its attributes is the sector's optimum, of error E_S, and its squared lengths are products of theirs. At
squared sensitivities a_S with Σ a_S = 1 the errors E_S / a_S are least together at a_S ∝ √E_S: (Σ √E_S)². The
largest squared length is known exactly: each attribute's largest is at one of its values, whatever S is.

This is QuerySmasher (He et al., arXiv 2604.00868); on marginals it is ResidualPlanner (Xiao et al., arXiv
2305.08175), which is optimal there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.numerics.outward import plus_up, times_up
from mmopt.sectors.attribute_design import AttributeDesign, attribute_design, contrast_gram
from mmopt.sectors.products_of_few import Terms, products_of_few, terms_by_sector
from mmopt.workloads import Workload

__all__ = ["ResidualSpace", "ResidualStrategy", "residual_strategy"]

ROUNDS = 20
"""Of taking turns between attributes, where a sector is no Kronecker product."""
ROUND_GAIN = 1e-9  # that a further round is worth


@dataclass(frozen=True, eq=False)
class ResidualSpace:
    """One sector with its strategy ``share`` · ⊗ designs.

    attributes : the sector. error : E_S, at squared sensitivity 1. share : a_S. is_optimal : whether no
    strategy in this sector has less error; else it is the best product of strategies that was found.
    """

    attributes: tuple[int, ...]
    designs: tuple[AttributeDesign, ...]
    error: float
    share: float
    is_optimal: bool


@dataclass(frozen=True, eq=False)
class ResidualStrategy:
    """X = ⊕ over sectors; ``error``: total squared error at squared sensitivity 1."""

    spaces: tuple[ResidualSpace, ...]
    error: float

    @property
    def is_optimal(self) -> bool:
        """Whether it is the best of all block-diagonal strategies."""
        return all(space.is_optimal for space in self.spaces)

    def lengths(self, cells: Ints) -> Array:
        """(c,) f at cells (c, k) of value numbers: Σ a_S Π of the attributes' diagonals."""
        total = np.zeros(len(cells))
        for space in self.spaces:
            product = np.full(len(cells), space.share)
            for i, design in zip(space.attributes, space.designs, strict=True):
                product *= design.strategy.diagonal()[cells[:, i]]
            total += product
        return total

    @property
    def largest(self) -> float:
        """The largest f over all cells, rounded up: Σ a_S Π of the attributes' largest."""
        total = np.zeros(())
        for space in self.spaces:
            product = np.asarray(space.share)
            for design in space.designs:
                product = times_up(product, design.strategy.diagonal().max())
            total = plus_up(total, product)
        return float(total)


def residual_strategy(workload: Workload) -> ResidualStrategy:
    """The block-diagonal strategy of least total error, sector by sector. Raises as ``products_of_few``.

    TooLargeError also for a factor beyond the memory limit.
    """
    products = products_of_few(workload)
    contrasts: dict[int, Array] = {}
    for product in products:
        contrasts |= {id(gram): contrast_gram(gram) for gram in product.grams if id(gram) not in contrasts}
    designs: dict[int, AttributeDesign] = {}
    found = []
    for attributes, terms in terms_by_sector(products).items():
        if len(terms) == 1:
            [(keys, weight)] = terms.items()
            designs |= {key: attribute_design(contrasts[key]) for key in keys if key not in designs}
            own = tuple(designs[key] for key in keys)
            error = weight * math.prod(design.error for design in own)
        else:
            own, error = _product_strategy(terms, contrasts)
        if error > 0:
            found.append((attributes, own, error, len(terms) == 1 or len(attributes) == 1))
    total = math.fsum(math.sqrt(error) for _, _, error, _ in found)
    spaces = tuple(
        ResidualSpace(attributes, own, error, math.sqrt(error) / total, is_optimal)
        for attributes, own, error, is_optimal in found
    )
    return ResidualStrategy(spaces, total**2)


def _product_strategy(terms: Terms, grams: dict[int, Array]) -> tuple[tuple[AttributeDesign, ...], float]:
    """⊗ Xᵢ of low error Σ w Π tr(Gᵢ Xᵢ⁺), one attribute after the other, and the error."""
    weights = np.array(list(terms.values()))
    own = [np.array([grams[keys[i]] for keys in terms]) for i in range(len(next(iter(terms))))]
    designs = [attribute_design(_sum(weights, each)) for each in own]
    costs = np.array([_costs(each, design) for each, design in zip(own, designs, strict=True)])
    error = math.inf
    for _ in range(ROUNDS):
        for i, each in enumerate(own):
            designs[i] = attribute_design(_sum(weights * np.delete(costs, i, axis=0).prod(axis=0), each))
            costs[i] = _costs(each, designs[i])
        last, error = error, float(weights @ costs.prod(axis=0))
        if error >= last * (1 - ROUND_GAIN):
            break
    return tuple(designs), error


def _sum(weights: Array, grams: Array) -> Array:
    return np.asarray(np.einsum("t,txy->xy", weights, grams))


def _costs(grams: Sequence[Array] | Array, design: AttributeDesign) -> Array:
    """tr(G X⁺) of each Gram matrix, whose range is in that of X."""
    inverse = np.linalg.pinv(design.strategy, hermitian=True)
    return np.array([float(np.vdot(gram, inverse)) for gram in grams])
