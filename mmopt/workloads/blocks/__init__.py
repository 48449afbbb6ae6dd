"""Query matrices kept implicit: on one attribute, and over the whole domain. No targets, no files.

- ``implicit_matrix.py``: ``Implicit``: the operations of every block
- ``range_blocks.py``: blocks of ranges: cells, prefixes, all ranges, hierarchies
- ``matrix_blocks.py``: queries given as a matrix, dense or sparse
- ``modified_blocks.py``: blocks around another one: scaled, weighted, or on other cells
- ``kronecker_products.py``: Kronecker products, stacks and unions of blocks
"""
