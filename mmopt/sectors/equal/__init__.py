"""The row space of attributes that can be swapped: at most four components, whatever their number.

- ``equal_attributes.py``: the row space; ``kinds_of_products.py``: whether a workload has it
- ``pair_coordinates.py``: its components; ``pair_queries.py``, ``pair_roots.py``: the queries on them, and
  roots of their Gram matrix
- ``sampled_values.py``: the law of the values of a few attributes drawn without replacement
- ``count_form.py``: squared lengths as polynomials in the counts of values; ``count_halves.py``: their values
  at all counts; ``largest_by_counts.py``: the largest, proved
- ``count_profiles.py``, ``cut_densities.py``: densities of that kind, and laws of their positive parts
"""
