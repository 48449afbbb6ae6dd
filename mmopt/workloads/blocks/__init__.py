"""Query matrices kept implicit: on one attribute, and over the whole domain. No targets, no files.

- ``implicit_matrix.py``: ``Implicit``: what every block can do
- ``factor_blocks.py``: the blocks on one attribute by name, and how they are made
- ``range_blocks.py``: cells, the total, prefixes, windows
- ``all_ranges.py``: all ranges of cells
- ``hierarchies.py``: hierarchies and the Haar wavelet
- ``matrix_blocks.py``: queries given as a matrix, dense or sparse
- ``modified_blocks.py``: rows scaled or weighted
- ``placed_blocks.py``: cells in another order, or further cells behind them
- ``kronecker_products.py``: Kronecker products, stacks and unions of blocks
"""
