"""Workloads that every permutation of their attributes leaves alone: told exactly, product by product.

A product of such a workload stands at every choice of attributes alike. It is then known by the factors that
are not totals, whatever the attributes that they stand at: a *kind*, of which there are few.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from mmopt.symmetry.attribute_queries import terms_of
from mmopt.symmetry.value_swaps import interchangeable
from mmopt.workloads import Factor, Workload
from mmopt.workloads.blocks.implicit_matrix import refine

__all__ = ["MOST_FACTORS", "Kind", "kinds_of_products"]

MOST_FACTORS = 2  # of a product that are no totals


@dataclass(frozen=True)
class Kind:
    """Products with these factors at any attributes, all others total; rows weighed, each ``weight`` times.

    Two factors that are equal stand once at every two attributes, others once in each order.
    """

    factors: tuple[Factor, ...]
    weight: float

    @property
    def is_symmetric(self) -> bool:
        return len(self.factors) == 2 and self.factors[0] == self.factors[1]


def kinds_of_products(workload: Workload) -> tuple[Kind, ...] | None:
    """The kinds, if every permutation of the attributes maps the products to each other; else None.

    None also of less than two attributes, of unequal sizes or of one value, of more than two factors that are
    no totals, and where two values can be swapped: this space knows no components for these.
    """
    products, sizes = workload.weighed.products, set(workload.domain.shape)
    count = len(workload.domain.shape)
    if products is None or count < 2 or len(sizes) > 1 or sizes == {1}:
        return None
    number: dict[Factor, int] = {}  # equal factors are one
    known = {id(f): number.setdefault(f, len(number)) for p in products for f in p.factors}
    factors = list(number)
    places: dict[tuple[tuple[int, ...], float], Counter[tuple[int, ...]]] = {}
    for product in products:
        own = [(known[id(f)], at) for at, f in enumerate(product.factors) if f.kind != "total"]
        if len(own) > MOST_FACTORS:
            return None
        own.sort()
        which = tuple(f for f, _ in own)
        places.setdefault((which, product.weight), Counter())[tuple(at for _, at in own)] += 1
    kinds = []
    for (which, weight), found in places.items():
        often = _times_everywhere(found, _choices(count, which))
        if not often:
            return None
        kinds.append(Kind(tuple(factors[f] for f in which), weight * often))
    return None if _some_swap(workload) else tuple(kinds)


def _choices(count: int, which: tuple[int, ...]) -> int:
    """Number of ways to choose attributes for these factors, equal ones in ascending order."""
    if len(which) < MOST_FACTORS:
        return count if which else 1
    return count * (count - 1) // (2 if which[0] == which[1] else 1)


def _times_everywhere(found: Counter[tuple[int, ...]], choices: int) -> int:
    """How often a product stands at every choice of attributes; 0 if not everywhere alike."""
    often = next(iter(found.values()))
    return often if len(found) == choices and set(found.values()) == {often} else 0


def _some_swap(workload: Workload) -> bool:
    """Whether two values can be swapped in every factor; the factors are those of each attribute."""
    _, terms = terms_of(workload, False)
    pieces = {id(piece): piece for term in terms for piece in term.pieces}
    classes = refine([interchangeable(piece) for piece in pieces.values()])
    return len(np.unique(classes)) < len(classes)
