"""What is asked: domain, blocks of queries kept implicit, Workload. Never strategies, never privacy.

- ``domain.py``: attributes, their cells, and the one order of cells
- ``blocks/``: blocks of queries, kept implicit
- ``workload.py``: ``Workload``: the queries, their weights and targets
- ``group.py``: groups of queries, and those given as a matrix
- ``product.py``: queries that are a Kronecker product of blocks
- ``merged_roots.py``: roots, ranks and bases, on merged cells
- ``variants.py``: workloads made from another one: sub-workloads, other weights, other bases
- ``labels.py``: readable texts for queries
- ``files.py``: arrays in .npy and .csv files
"""

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
