"""Strategies by sectors, from the products' Gram matrices alone, of row spaces of any size.

- ``products_of_few.py``: products as what they ask of the attributes that they look at
- ``residual_spaces.py``: sectors solved one by one (QuerySmasher; on marginals ResidualPlanner);
  ``attribute_design.py``: one attribute
- ``residual_bases.py``: the same at the best bases, next to the optimum
- ``shared_designs.py``: one strategy of each attribute in all sectors, to be measured
- ``residual_parts.py``: as matrices on a row space
- ``weighted_fourier.py``: the error of weighted Fourier factorisations
"""
