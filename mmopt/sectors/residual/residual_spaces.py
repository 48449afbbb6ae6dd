"""Residual spaces, solved one by one: the best strategy whose matrix N is block-diagonal by sectors.

Each attribute has a base, numbers β of sum 1 over its values. A query less its mean under β is in the sectors
with that attribute, its mean in those without; so with P = I - β 1ᵀ the queries' part in sector S has

    H_S = Σ over products p that look at all of S  w_p Π_{k in p not in S} γ_k ⊗_{i in S} Pᵀ Gᵢ P,  γ = βᵀ G β

as its Gram matrix. Mostly that is one Kronecker product; then the product of the optima of its attributes is
the sector's optimum, of error E_S, and its squared lengths are products of theirs. At shares a_S,
Σ a_S = 1, the errors E_S / a_S are least together at a_S ∝ √E_S: (Σ √E_S)². The largest squared length is at
most the sum of the sectors' largest, and this where one value of each attribute is longest in all of them.

Errors add up: in coordinates of the contrasts of mean zero under β, which need not be orthogonal, X = ⊗ over
the sectors is block-diagonal, and so is its inverse.

With uniform bases this is QuerySmasher (He et al., arXiv 2604.00868), on marginals ResidualPlanner (Xiao et
al., arXiv 2305.08175), optimal there. For other queries other bases are far better (``residual_bases.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.numerics.outward import plus_up, times_up
from mmopt.sectors.residual.attribute_design import AttributeDesign, attribute_design, contrast_gram
from mmopt.sectors.residual.products_of_few import FewProduct, Key, Terms, products_of_few, terms_by_sector
from mmopt.workloads import Workload

__all__ = ["ResidualSpace", "ResidualStrategy", "residual_strategy", "strategy_at"]

ROUNDS = 20
"""Of taking turns between attributes, where a sector is no Kronecker product."""
ROUND_GAIN = 1e-9  # that a further round is worth
ROUGH: Mapping[str, Any] = MappingProxyType({"gap": 1e-6, "steps": 10})
ROUGH_ROUNDS = 2


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
    """X = ⊕ over sectors at ``bases``; ``error``: total squared error at squared sensitivity 1."""

    bases: tuple[Array, ...]
    spaces: tuple[ResidualSpace, ...]
    error: float

    @property
    def is_optimal(self) -> bool:
        """Whether each sector's strategy is the best.

        No block-diagonal one has then less error at these bases, its largest length taken as ``largest`` is.
        """
        return all(space.is_optimal for space in self.spaces)

    @property
    def measures(self) -> tuple[Array, ...]:
        """(dᵢ,) an attribute: the multipliers of its largest sector's design, uniform where it has none.

        At the best bases their product is next to the product measure whose bound is best.
        """
        found = [np.full(len(base), 1 / len(base)) for base in self.bases]
        for space in sorted(self.spaces, key=lambda space: len(space.attributes)):
            for i, design in zip(space.attributes, space.designs, strict=True):
                found[i] = design.measure / design.measure.sum()
        return tuple(found)

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
        """At least f at every cell: Σ a_S Π of the attributes' largest, rounded up."""
        total = np.zeros(())
        for space in self.spaces:
            product = np.asarray(space.share)
            for design in space.designs:
                product = times_up(product, design.strategy.diagonal().max())
            total = plus_up(total, product)
        return float(total)


def residual_strategy(workload: Workload) -> ResidualStrategy:
    """The best strategy with uniform bases. Raises as ``products_of_few``.

    TooLargeError also for a factor beyond the memory limit.
    """
    uniform = tuple(np.full(attribute.size, 1 / attribute.size) for attribute in workload.domain.attributes)
    return strategy_at(products_of_few(workload), uniform)


def strategy_at(
    products: Sequence[FewProduct],
    bases: tuple[Array, ...],
    last: ResidualStrategy | None = None,
    is_rough: bool = False,
) -> ResidualStrategy:
    """The best strategy with these bases, (dᵢ,) an attribute, of sum 1.

    last : the strategy at bases nearby, whose measures are good to start from. is_rough : for a search of
    bases, less near the best.
    """
    contrasts: dict[Key, Array] = {}
    shared: dict[tuple[int, bytes], Array] = {}
    for product in products:
        for i, gram in zip(product.attributes, product.grams, strict=True):
            if (i, id(gram)) not in contrasts:  # attributes of one base share designs
                base = bases[i].tobytes()
                if (id(gram), base) not in shared:
                    shared[id(gram), base] = contrast_gram(gram, bases[i])
                contrasts[i, id(gram)] = shared[id(gram), base]
    starts = {
        (space.attributes, i): design.measure
        for space in (last.spaces if last else ())
        for i, design in zip(space.attributes, space.designs, strict=True)
    }
    design: Callable[..., AttributeDesign] = partial(attribute_design, **(ROUGH if is_rough else {}))
    designs: dict[int, AttributeDesign] = {}
    found = []
    for attributes, terms in terms_by_sector(products, bases).items():
        if len(terms) == 1:
            [(keys, weight)] = terms.items()
            for key in keys:
                gram = contrasts[key]
                if id(gram) not in designs:
                    designs[id(gram)] = design(gram, start=starts.get((attributes, key[0])))
            own = tuple(designs[id(contrasts[key])] for key in keys)
            error = weight * math.prod(design.error for design in own)
        else:
            first = [starts.get((attributes, i)) for i in attributes]
            own, error = _product_strategy(
                terms, contrasts, first, design, ROUGH_ROUNDS if is_rough else ROUNDS
            )
        if error > 0:
            found.append((attributes, own, error, len(terms) == 1 or len(attributes) == 1))
    total = math.fsum(math.sqrt(error) for _, _, error, _ in found)
    spaces = tuple(
        ResidualSpace(attributes, own, error, math.sqrt(error) / total, is_optimal)
        for attributes, own, error, is_optimal in found
    )
    return ResidualStrategy(bases, spaces, total**2)


def _product_strategy(
    terms: Terms,
    grams: Mapping[Key, Array],
    starts: Sequence[Array | None],
    design: Callable[..., AttributeDesign],
    rounds: int,
) -> tuple[tuple[AttributeDesign, ...], float]:
    """⊗ Xᵢ of low error Σ w Π tr(Gᵢ Xᵢ⁻), one attribute after the other, and the error."""
    weights = np.array(list(terms.values()))
    own = [np.array([grams[keys[i]] for keys in terms]) for i in range(len(next(iter(terms))))]
    designs = [design(_sum(weights, each), start=start) for each, start in zip(own, starts, strict=True)]
    costs = np.array(list(map(_costs, own, designs)))
    error = math.inf
    for _ in range(rounds):
        for i, each in enumerate(own):
            others = weights * np.delete(costs, i, axis=0).prod(axis=0)
            designs[i] = design(_sum(others, each), start=designs[i].measure)
            costs[i] = _costs(each, designs[i])
        last, error = error, float(weights @ costs.prod(axis=0))
        if error >= last * (1 - ROUND_GAIN):
            break
    return tuple(designs), error


def _sum(weights: Array, grams: Array) -> Array:
    return np.asarray(np.einsum("t,txy->xy", weights, grams))


def _costs(grams: Array, design: AttributeDesign) -> Array:
    """tr(G X⁻) of each Gram matrix, (t, d, d), whose range is in that of X."""
    return np.asarray(np.einsum("txy,xy->t", grams, design.inverse))
