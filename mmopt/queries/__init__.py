"""What is asked and what is measured: domain, implicit query matrices, Workload, Strategy."""

from mmopt.queries.bases import with_bases
from mmopt.queries.component_strategy import AnyStrategy, ComponentStrategy, as_dense
from mmopt.queries.domain import Attribute, Bins, Categories, Domain, Values
from mmopt.queries.factor import Factor
from mmopt.queries.implicit import Dense, Scaled, Sparse
from mmopt.queries.kron import Kron, Stack
from mmopt.queries.linear import Implicit
from mmopt.queries.privacy_cost import largest_ratio, privacy_cost
from mmopt.queries.product import Product
from mmopt.queries.strategy import Strategy, normalise
from mmopt.queries.workload import Workload

__all__ = [
    "AnyStrategy",
    "Attribute",
    "Bins",
    "Categories",
    "ComponentStrategy",
    "Dense",
    "Domain",
    "Factor",
    "Implicit",
    "Kron",
    "Product",
    "Scaled",
    "Sparse",
    "Stack",
    "Strategy",
    "Values",
    "Workload",
    "as_dense",
    "largest_ratio",
    "normalise",
    "privacy_cost",
    "with_bases",
]
