"""Queries that look at few of many attributes: the space that they span, and measures and strategies on it.

The row space of such queries is a sum of *sectors*: for a set S of attributes the products of one contrast
(a function of mean zero) of each attribute of S. It has as many dimensions as the queries have, whatever the
number of cells. Let b(x) be the values of an orthonormal basis of it at cell x, B the matrix of these columns
and W = L B the queries.

- A strategy is X = Bᵀ N B with N psd on this space; the squared length of its column at x,
  f(x) = b(x)ᵀ N b(x), is a polynomial in the cell's values. Its total error is max f · tr(L N⁻¹ Lᵀ).
- Multipliers of the cells, d ≥ 0, enter a bound by their moments Q = B diag(d) Bᵀ alone: ‖L Q^½‖∗² / Σd.
  Products of measures of the attributes, mixtures of these and single cells have moments in closed form.

- ``row_space.py``: this space, values of an attribute swapped where they can be; the queries in it
- ``functions_of_few.py``: what it is made of: functions of attributes, products of them by component;
  measures on the cells, their moments, and squared lengths of columns
- ``largest_of_tables.py``: the largest squared length, proved
- ``error_bounds_of_measures.py``: bounds and strategies of mixtures of products of measures
- ``design_search.py``: the search for measures and strategies, better and better
- ``total_error_bounds.py``: lower bounds on the total error of every strategy
- ``residual_strategies.py``: strategies by sets of attributes, also where one matrix would be too large
- ``row_space_cells_and_targets.py``: the cells of a row space, on which programs are evaluated without a list
  of them; queries with targets there; functions of sectors in one vector, variances and answers
"""
