"""Strategies that are kept in factors, by attribute: nothing of them has the size of the cells."""

from mmopt.queries.marginal_strategy import MarginalStrategy
from mmopt.queries.product_strategy import ProductStrategy
from mmopt.queries.union_strategy import UnionStrategy

__all__ = ["FactoredStrategy"]

FactoredStrategy = ProductStrategy | UnionStrategy | MarginalStrategy
