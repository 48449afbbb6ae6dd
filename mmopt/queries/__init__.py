"""What is asked and what is measured: domain, implicit query matrices, Workload, Strategy."""

from mmopt.queries.bases import with_bases
from mmopt.queries.component_strategy import AnyStrategy, ComponentStrategy, as_dense
from mmopt.queries.domain import Attribute, Bins, Categories, Domain, Values
from mmopt.queries.factor import Factor
from mmopt.queries.marginals_strategy import MarginalsStrategy
from mmopt.queries.product import Product
from mmopt.queries.product_strategy import ProductStrategy
from mmopt.queries.strategy import Strategy, normalise
from mmopt.queries.union_strategy import UnionStrategy
from mmopt.queries.workload import Workload

__all__ = [
    "AnyStrategy",
    "Attribute",
    "Bins",
    "Categories",
    "ComponentStrategy",
    "Domain",
    "Factor",
    "MarginalsStrategy",
    "Product",
    "ProductStrategy",
    "Strategy",
    "UnionStrategy",
    "Values",
    "Workload",
    "as_dense",
    "normalise",
    "with_bases",
]
