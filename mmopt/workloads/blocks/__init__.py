"""Query matrices kept implicit: on one attribute, and over the whole domain. No targets, no files.

- ``linear.py``: ``Implicit``: what every block can do
- ``factor.py``: the blocks on one attribute by name, and how they are made
- ``ranges.py``: cells, the total, prefixes, windows
- ``all_ranges.py``: all ranges of cells
- ``hierarchies.py``: hierarchies and the Haar wavelet
- ``matrices.py``: queries given as a matrix, dense or sparse
- ``modified.py``: rows scaled or weighted, or cells in another order
- ``kronecker_products.py``: Kronecker products, stacks and unions of blocks
"""
