"""Strategies rounded to integers, so that answers and sensitivity are exact; no noise, no scale of noise.

Each form of ``mmopt.strategies`` has a row in ``table_of_forms.py``: the function that rounds it.

- ``table_of_forms.py``: the table: how each form is rounded
- ``integer_strategy.py``: what an integer strategy gives, and what follows from it
- ``counted_tables.py``: counts by few attributes, where there is no data vector
- ``integer_dense.py``: a matrix
- ``integer_by_component.py``: a strategy by component
- ``integer_component.py``: one component of it
- ``integer_product.py``: the factors of a product
- ``integer_union.py``: products side by side, and one product as a union of one
- ``integer_marginals.py``: marginals as counts
- ``integer_sectors.py``: a strategy on a row space
- ``integer_sectorwise.py``: sets of attributes one by one
- ``integer_cores.py``: its integers, as matrices
- ``sums_on_sectors.py``: what they are multiplied by, from tables of counts
- ``integer_arithmetic.py``: integer arithmetic without overflow
- ``rounded_rows.py``: how real rows become integers, and what must not be lost by it
"""
