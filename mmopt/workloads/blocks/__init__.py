"""Query matrices kept implicit: on one attribute, and over the whole domain. No targets, no files.

- ``query_matrices.py``: ``Implicit``: the operations of every block; queries given as a matrix, dense or
  sparse; weights and targets of queries
- ``range_blocks.py``: blocks of ranges: cells, prefixes, all ranges, hierarchies
- ``combined_blocks.py``: blocks made of others: scaled, weighted, on other cells; Kronecker products, stacks
"""
