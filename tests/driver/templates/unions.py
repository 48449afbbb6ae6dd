"""Small unions of products for the tests of this folder."""

from mmopt import Attribute, Domain, Workload
from mmopt.workloads import Product
from mmopt.workloads.blocks import factor_blocks as f

__all__ = ["SMALL", "union"]


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
