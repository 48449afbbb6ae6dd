"""Queries that look at few of many attributes: the space that they span, and measures and strategies on it.

The row space of such queries is a sum of *sectors*: for a set S of attributes the products of one contrast
(a function of mean zero) of each attribute of S. It has as many dimensions as the queries have, whatever the
number of cells. Let b(x) be the values of an orthonormal basis of it at cell x, B the matrix of these columns
and W = L B the queries.

- A strategy is X = Bᵀ N B with N psd on this space; the squared length of its column at x,
  f(x) = b(x)ᵀ N b(x), is a polynomial in the cell's values. Its total error is max f · tr(L N⁻¹ Lᵀ).
- Multipliers of the cells, d ≥ 0, enter a bound by their moments Q = B diag(d) Bᵀ alone: ‖L Q^½‖∗² / Σd.
  Products of measures of the attributes, mixtures of these and single cells have moments in closed form.

- ``measures.py``: mixtures of products of measures
- ``row_space.py``: what is asked of a row space, whatever its symmetries

Row spaces too large for one matrix, from the products' Gram matrices alone:

- ``products_of_few.py``: products as what they ask of the attributes that they look at, and of each sector
- ``attribute_design.py``: the best strategy for one attribute, from a Gram matrix
- ``residual_spaces.py``: sectors solved one by one (QuerySmasher; on marginals ResidualPlanner)
- ``residual_bases.py``: the same at the best bases, next to the optimum
- ``weighted_fourier.py``: the error of weighted Fourier factorisations
- ``rational_root.py``: the square root from below by resolvents, with proof
- ``pair_gram.py``, ``pair_resolvents.py``: queries of two attributes under a product measure, and resolvents
- ``bound_of_large.py``: a lower bound at a product measure, and the best such measure
- ``pinched_bound.py``: a lower bound in closed form, for any number of attributes at a time
"""
