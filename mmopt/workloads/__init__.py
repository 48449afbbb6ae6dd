"""What is asked: domain, blocks of queries kept implicit, Workload. Never strategies, never privacy."""

from mmopt.workloads.blocks.factor import Factor
from mmopt.workloads.blocks.kronecker_products import Kron, Stack
from mmopt.workloads.blocks.linear import Implicit
from mmopt.workloads.blocks.matrices import Dense, Sparse
from mmopt.workloads.blocks.modified import Scaled
from mmopt.workloads.domain import Attribute, Bins, Categories, Domain, Values
from mmopt.workloads.product import Product
from mmopt.workloads.variants import with_bases
from mmopt.workloads.workload import Workload

__all__ = [
    "Attribute",
    "Bins",
    "Categories",
    "Dense",
    "Domain",
    "Factor",
    "Implicit",
    "Kron",
    "Product",
    "Scaled",
    "Sparse",
    "Stack",
    "Values",
    "Workload",
    "with_bases",
]
