"""Queries that look at few of many attributes: the space that they span, and measures and strategies on it.

The row space of such queries is a sum of *sectors*: for a set S of attributes the products of one contrast
(a function of mean zero) of each attribute of S. It has as many dimensions as the queries have, whatever the
number of cells. Let b(x) be the values of an orthonormal basis of it at cell x, B the matrix of these columns
and W = L B the queries.

- A strategy is X = Bᵀ N B with N psd on this space; the squared length of its column at x,
  f(x) = b(x)ᵀ N b(x), is a polynomial in the cell's values. Its total error is max f · tr(L N⁻¹ Lᵀ).
- Multipliers of the cells, d ≥ 0, enter a bound by their moments Q = B diag(d) Bᵀ alone: ‖L Q^½‖∗² / Σd.
  Products of measures of the attributes, mixtures of these and single cells have moments in closed form.

- ``largest_length.py``: the largest f over all cells, proved, from f as a sum of tables
- ``local_search.py``: cells where such a sum is large, found by changing one value at a time
- ``measures.py``: mixtures of products of measures
- ``moments_rounding.py``: what computed moments of products are off by
- ``proved_bound.py``: a lower bound of every strategy's total error, from a measure's moments, proved
- ``row_space.py``: what is asked of a row space, whatever its symmetries
- ``shifted_tables.py``: tables of the same sum with smaller maxima
- ``table_elimination.py``: the largest value of a sum of tables by dynamic programming
- ``table_sums.py``: sums of tables of few attributes, with the rounding of all that is done to them
- ``equal_attributes.py``: that of attributes which may be swapped, each query of two of them at most
- ``kinds_of_products.py``: whether they may be swapped, and the products up to that
- ``pair_coordinates.py``: its four components; ``pair_roots.py``: the queries on them
- ``sampled_values.py``: the law of the values of a few attributes drawn without replacement
- ``count_form.py``: f as a polynomial in the counts of values; ``count_halves.py``: its values at all counts;
  ``largest_by_counts.py``: the largest; ``cut_densities.py``: laws of measures that are its positive part
- ``count_profiles.py``: f, and densities of the same kind, in orthonormal coordinates
- ``sector_layout.py``: where the functions of sectors stand in a vector, queries as combinations of them
- ``queries_on_sectors.py``: their variances and answers
- ``rest_components.py``: what is asked of single values that are alike
- ``sector_operators.py``: matrices on them; ``equal_operators.py``, ``equal_blocks.py``: of
  equal attributes

Row spaces too large for one matrix, from the products' Gram matrices alone:

- ``products_of_few.py``: products as what they ask of the attributes that they look at, and of each sector
- ``attribute_design.py``: the best strategy for one attribute, from a Gram matrix
- ``residual_spaces.py``: sectors solved one by one (QuerySmasher; on marginals ResidualPlanner)
- ``residual_bases.py``: the same at the best bases, next to the optimum
- ``weighted_fourier.py``: the error of weighted Fourier factorisations
- ``rational_root.py``: the square root from below by resolvents, with proof
- ``pair_gram.py``, ``pair_resolvents.py``: queries of two attributes under a product measure, and resolvents
- ``bound_of_large.py``: a lower bound at a product measure, and the best such measure
- ``moment_roots.py``: roots of the moments of a measure, with what is proved of them
- ``choose_space.py``: which row space a workload has
- ``asked_queries.py``: queries with targets on it; ``pair_queries.py``: those of equal attributes
- ``sector_cells.py``: the cells of a row space, as a space that programs are evaluated on
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
- ``pinched_bound.py``: a lower bound in closed form, for any number of attributes at a time
"""
