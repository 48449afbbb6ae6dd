"""Strategies rounded to integers, so that answers and sensitivity are exact; no noise, no scale of noise.

Each form of ``mmopt.strategies`` has a row in ``table_of_forms.py``: the function that rounds it.

- ``table_of_forms.py``: the table: how each form is rounded
- ``measured_strategy_and_counts.py``: the base classes of integers to measure, and the tables of counts that
  they read
- ``integer_dense.py``: a dense strategy rounded to an integer matrix
- ``integer_components.py``: strategies that split by symmetry, component by component
- ``integer_sectors.py``: strategies on the row space of queries of few attributes, sector by sector
- ``integer_factors.py``: products, unions of products, sets of attributes and marginals, factor by factor
- ``integer_norms_and_sensitivity.py``: integer arithmetic without overflow
"""
