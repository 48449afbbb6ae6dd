"""Lower bounds of the total error of every strategy, from the moments of a measure of the cells.

- ``moment_roots.py``: roots of its moments, by which programs prove one
- ``bound_of_large.py``: at a product measure, of row spaces too large for one matrix (``pair_gram.py``,
  ``pair_resolvents.py``, ``rational_root.py``)
- ``pinched_bound.py``: the same in closed form, for queries of any order
"""
