"""Query matrices kept implicit: on one attribute, and over the whole domain. No targets, no files.

- ``implicit_matrix.py``: ``Implicit``: the operations of every block
- ``range_blocks.py``: blocks of ranges: cells, prefixes, all ranges, hierarchies
- ``query_matrices.py``: queries given as a matrix, dense or sparse, and weights and targets of queries
- ``combined_blocks.py``: blocks made of others: scaled, weighted, on other cells; Kronecker products, stacks
"""
