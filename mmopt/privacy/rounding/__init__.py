"""Strategies rounded to integers, so that answers and sensitivity are exact; no noise, no scale of noise.

Each form of ``mmopt.strategies`` has a row in ``table_of_forms.py``: the function that rounds it.

- ``table_of_forms.py``: the table: how each form is rounded
- ``norms_and_measured_integers.py``: integer arithmetic without overflow; the base classes of integers to
  measure, and the tables of counts that they read
- ``integer_dense.py``: a dense strategy rounded to an integer matrix
- ``integer_components_and_sectors.py``: strategies that split by symmetry, component by component, and those
  on the row space of queries of few attributes, sector by sector
- ``integer_factors.py``: products, unions of products, sets of attributes and marginals, factor by factor
"""
