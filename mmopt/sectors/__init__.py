"""Queries that look at few of many attributes: the space that they span, and measures and strategies on it.

The row space of such queries is a sum of *sectors*: for a set S of attributes the products of one contrast
(a function of mean zero) of each attribute of S. It has as many dimensions as the queries have, whatever the
number of cells. Let b(x) be the values of an orthonormal basis of it at cell x, B the matrix of these columns
and W = L B the queries.

- A strategy is X = Bᵀ N B with N psd on this space; the squared length of its column at x,
  f(x) = b(x)ᵀ N b(x), is a polynomial in the cell's values. Its total error is max f · tr(L N⁻¹ Lᵀ).
- Multipliers of the cells, d ≥ 0, enter a bound by their moments Q = B diag(d) Bᵀ alone: ‖L Q^½‖∗² / Σd.
  Products of measures of the attributes, mixtures of these and single cells have moments in closed form.

- ``attribute_bases.py``: the functions of one attribute, and what a factor asks in them
- ``best_design.py``: better and better measures and strategies
- ``functions_of_few.py``: those of several: sectors, components, and what is too large
- ``high_cells.py``: cells where f is large
- ``largest_length.py``: the largest f over all cells, proved, from f as a sum of tables
- ``level_strategies.py``: strategies whose f is nearly the same at all cells
- ``local_search.py``: cells where such a sum is large, found by changing one value at a time
- ``measure_columns.py``: slopes and curvature of the bound in the weights of a mixture
- ``measures.py``: mixtures of products of measures
- ``mixed_steps.py``: fixed points in fewer steps
- ``moments_rounding.py``: what computed moments of products are off by
- ``plain_space.py``: the row space of attributes that differ
- ``profile_functions.py``: f in orthonormal coordinates; moments of what has such a density
- ``profile_tables.py``: f as a sum of tables over few attributes
- ``proved_bound.py``: a lower bound of every strategy's total error, from a measure's moments, proved
- ``row_space.py``: what is asked of a row space, whatever its symmetries
- ``sector_roots.py``: the queries on a component, by QR from one sector to the next
- ``shifted_tables.py``: tables of the same sum with smaller maxima
- ``simplex_program.py``: the best point of a quadratic function on a simplex
- ``spectrum.py``: what a measure is worth, and the strategy of it
- ``table_elimination.py``: the largest value of a sum of tables by dynamic programming
- ``table_sums.py``: sums of tables of few attributes, with the rounding of all that is done to them
"""
