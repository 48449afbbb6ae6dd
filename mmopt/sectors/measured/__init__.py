"""What is measured of a row space: variances and answers of queries, from operators on it.

- ``sector_layout.py``: where functions stand in a vector
- ``queries_on_sectors.py``: variances and answers, product by product; ``rest_components.py``: what is asked
  of single values that are alike
- ``sector_operators.py``: square matrices on it; ``equal_operators.py``, ``equal_blocks.py``: those of equal
  attributes
- ``asked_queries.py``: queries with targets
"""
