"""Strategies that are kept in factors, by attribute: nothing of them has the size of the cells."""

from mmopt.strategies.marginals import MarginalStrategy
from mmopt.strategies.product import ProductStrategy
from mmopt.strategies.union import UnionStrategy

__all__ = ["FactoredStrategy"]

FactoredStrategy = ProductStrategy | UnionStrategy | MarginalStrategy
