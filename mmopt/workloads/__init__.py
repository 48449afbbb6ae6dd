"""The queries: domain, blocks of queries kept implicit, Workload. Never strategies, never privacy.

- ``domain.py``: attributes, their cells, the one order of cells, and readable texts for queries; the cell of
  a table value: by values, or by bins of numbers, days and periods
- ``blocks/``: blocks of queries, kept implicit
- ``workload.py``: ``Workload``: queries, weights, targets; sums and variants of workloads
- ``factors_and_products.py``: groups of queries: a matrix, or products of blocks on one attribute each;
  answers from small tables; roots, ranks and bases of queries, computed on merged cells
- ``arrays_and_frames.py``: labels and entries of data frames, series and arrays, also of arrays in files
- ``agreeing_tables.py``: tables of counts that answer the queries and agree where they overlap
- ``tidy_columns.py``: the meaning of each query for each attribute, as columns
"""

from mmopt.workloads.blocks.combined_blocks import Kron, Scaled, Stack
from mmopt.workloads.blocks.query_matrices import Dense, Implicit, Implicit as Factor, Sparse
from mmopt.workloads.domain import Attribute, Bins, Categories, Domain, Values
from mmopt.workloads.factors_and_products import Product, Wish, no_targets, undetermined
from mmopt.workloads.workload import (
    Use,
    Workload,
    attribute_uses,
    only,
    rest_of,
    subworkloads,
    weighted,
    with_bases,
)

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
    "no_targets",
    "only",
    "rest_of",
    "subworkloads",
    "undetermined",
    "weighted",
    "with_bases",
]
