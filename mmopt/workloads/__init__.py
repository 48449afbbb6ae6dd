"""What is asked: domain, blocks of queries kept implicit, Workload. Never strategies, never privacy.

- ``domain.py``: attributes, their cells, and the one order of cells
- ``encodings.py``: how table values become the cells of one attribute
- ``calendar_periods.py``: days as numbers, and names of months and other periods
- ``blocks/``: blocks of queries, kept implicit
- ``workload.py``: ``Workload``: the queries, their weights and targets
- ``query_group.py``: groups of queries, and those given as a matrix
- ``query_product.py``: queries that are a Kronecker product of blocks
- ``root_of_merged_cells.py``: roots, ranks and bases, on merged cells
- ``workload_sum.py``: what ``+`` makes of two workloads
- ``python_forms.py``: domains and workloads written in Python as in a workload file
- ``frame_labels.py``: labels and entries of data frames, series and arrays
- ``workload_variants.py``: workloads made from another one: sub-workloads, other weights, other bases
- ``attribute_uses.py``: which attributes no query tells apart
- ``queries_of_tables.py``: answers from tables over the attributes that a product looks at
- ``query_labels.py``: readable texts for queries
- ``tidy_columns.py``: what queries say of each attribute, as columns
- ``matrix_files.py``: arrays in .npy and .csv files
"""

from mmopt.workloads.attribute_uses import Use, attribute_uses
from mmopt.workloads.blocks.factor_blocks import Factor
from mmopt.workloads.blocks.implicit_matrix import Implicit
from mmopt.workloads.blocks.kronecker_products import Kron, Stack
from mmopt.workloads.blocks.matrix_blocks import Dense, Sparse
from mmopt.workloads.blocks.modified_blocks import Scaled
from mmopt.workloads.domain import Attribute, Domain
from mmopt.workloads.encodings import Bins, Categories, Values
from mmopt.workloads.query_product import Product, Wish
from mmopt.workloads.workload import Workload
from mmopt.workloads.workload_variants import with_bases

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
    "Use",
    "Values",
    "Wish",
    "Workload",
    "attribute_uses",
    "with_bases",
]
