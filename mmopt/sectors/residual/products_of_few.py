"""Products of a workload as what they ask of the few attributes that they look at: Gram matrices of these."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.numerics.arrays import Array
from mmopt.workloads import Implicit, Workload

__all__ = ["FewProduct", "Key", "Terms", "products_of_few", "terms_by_sector"]

MOST_ATTRIBUTES = 8
"""Attributes that one product may look at here: it lies in 2^this many sectors."""

Key = tuple[int, int]
"""An attribute and the identity (``id``) of a factor's Gram matrix on it."""
Terms = dict[tuple[Key, ...], float]
"""Weights of Kronecker products, by their factors."""


@dataclass(frozen=True, eq=False)
class FewProduct:
    """weight · ⊗ grams over ``attributes``, all others summed over: WᵀW of some queries.

    attributes : ascending numbers. grams : one (dᵢ, dᵢ) an attribute; equal factors share one array.
    """

    attributes: tuple[int, ...]
    grams: tuple[Array, ...]
    weight: float


def products_of_few(workload: Workload) -> tuple[FewProduct, ...]:
    """The workload's products, weights of rows in their Gram matrices; equal products as one.

    Raises
    ------
    WorkloadError : queries given as a matrix.
    TooLargeError : a product looks at more than ``MOST_ATTRIBUTES`` attributes.
    """
    known: dict[Implicit, Array] = {}
    weights: dict[tuple[tuple[int, ...], tuple[Implicit, ...]], float] = defaultdict(float)
    for attributes, factors, weight in _looks(workload):
        weights[attributes, factors] += weight
    for _, factors in weights:
        known |= {factor: factor.gram() for factor in factors if factor not in known}
    return tuple(
        FewProduct(attributes, tuple(known[f] for f in factors), weight)
        for (attributes, factors), weight in weights.items()
    )


def _looks(workload: Workload) -> Iterator[tuple[tuple[int, ...], tuple[Implicit, ...], float]]:
    if workload.products is None:
        raise WorkloadError(
            "some queries are given as a matrix, expected products alone",
            hint="queries are taken apart by the attributes that they look at; write them as products",
        )
    for product in workload.products:
        factors = product.weighed().factors
        attributes = tuple(i for i, factor in enumerate(factors) if factor.kind != "total")
        if len(attributes) > MOST_ATTRIBUTES:
            raise TooLargeError(
                f"product '{product.title(workload.domain)}' looks at {len(attributes)} attributes, "
                f"expected {MOST_ATTRIBUTES} at most",
                hint="queries are taken apart by the sets of their attributes; ask for fewer at a time",
            )
        yield attributes, tuple(factors[i] for i in attributes), product.weight


def terms_by_sector(products: Sequence[FewProduct], bases: Sequence[Array]) -> dict[tuple[int, ...], Terms]:
    """Of each sector the weights of the Kronecker products of contrasts in it: w Π of the others' means.

    bases : (dᵢ,) an attribute, of sum 1. The mean of a Gram matrix G is baseᵀ G base, the squared length of
    the queries' means.
    """
    found: dict[tuple[int, ...], Terms] = defaultdict(lambda: defaultdict(float))
    means: dict[tuple[int, int], float] = {}
    for product in products:
        for i, gram in zip(product.attributes, product.grams, strict=True):
            if (i, id(gram)) not in means:
                means[i, id(gram)] = max(float(bases[i] @ gram @ bases[i]), 0.0)
    for product in products:
        keyed = list(zip(product.attributes, map(id, product.grams), strict=True))
        for size in range(len(keyed) + 1):
            for chosen in itertools.combinations(keyed, size):
                others = math.prod(means[key] for key in keyed if key not in chosen)
                found[tuple(i for i, _ in chosen)][chosen] += product.weight * others
    return found
