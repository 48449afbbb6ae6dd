"""Small unions of products for the tests of this folder."""

from __future__ import annotations

import itertools

from mmopt import Attribute, Domain, Workload
from mmopt.queries import Product
from mmopt.queries import factor as f

__all__ = ["SMALL", "marginal_workload", "union"]


def union(*products: tuple[float, list[f.Factor]]) -> Workload:
    """Products with their weights, over attributes a, b, …"""
    sizes = [factor.size for factor in products[0][1]]
    attributes = [Attribute("abcdefgh"[i], tuple(map(str, range(size)))) for i, size in enumerate(sizes)]
    rows = [Product(tuple(factors), weight=weight) for weight, factors in products]
    return Workload.from_products(Domain(tuple(attributes)), rows)


SMALL = union(
    (1.0, [f.prefix(6), f.total(3)]),
    (4.0, [f.identity(6), f.identity(3)]),
    (0.5, [f.total(6), f.predicates([[1, 1, 0], [0, 0, 1]])]),
)


def marginal_workload(sizes: tuple[int, ...], ways: tuple[int, ...]) -> Workload:
    """All marginals that keep so many attributes."""
    kept = [set(s) for k in ways for s in itertools.combinations(range(len(sizes)), k)]
    return union(
        *((1.0, [(f.identity if i in s else f.total)(n) for i, n in enumerate(sizes)]) for s in kept)
    )
