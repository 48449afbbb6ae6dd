"""What is measured of a row space: variances and answers of queries, from matrices on it.

- ``sector_layout.py``: where functions stand in a vector, and change
- ``queries_on_sectors.py``: variances and answers, product by product; ``rest_components.py``: what is asked
  of single values that are alike
- ``asked_queries.py``: queries with targets
"""
