"""Queries that look at few of many attributes: the space that they span, and measures and strategies on it.

The row space of such queries is a sum of *sectors*: for a set S of attributes the products of one contrast
(a function of mean zero) of each attribute of S. It has as many dimensions as the queries have, whatever the
number of cells. Let b(x) be the values of an orthonormal basis of it at cell x, B the matrix of these columns
and W = L B the queries.

- A strategy is X = Bᵀ N B with N psd on this space; the squared length of its column at x,
  f(x) = b(x)ᵀ N b(x), is a polynomial in the cell's values. Its total error is max f · tr(L N⁻¹ Lᵀ).
- Multipliers of the cells, d ≥ 0, enter a bound by their moments Q = B diag(d) Bᵀ alone: ‖L Q^½‖∗² / Σd.
  Products of measures of the attributes, mixtures of these and single cells have moments in closed form.

What is asked of it, whatever its symmetries: ``row_space.py``; ``choose_space.py``: which one a workload has.

- ``measures.py``: mixtures of products of measures
- ``sector_cells.py``: the cells of a row space, as a space that programs are evaluated on
- ``asked_queries.py``: queries with targets on it; ``pair_queries.py``: those of equal attributes

Attributes that differ:

- ``plain_space.py``: their row space; ``attribute_bases.py``: the functions of one attribute, and what a
  factor asks in them; ``functions_of_few.py``: those of several; ``sector_roots.py``: the queries on a
  component
- ``profile_tables.py``: f as a sum of tables over few attributes; ``profile_functions.py``: in orthonormal
  coordinates
- ``largest_length.py``: the largest f, proved, from tables (``table_sums.py``, ``shifted_tables.py``,
  ``table_elimination.py``, ``local_search.py``)

Attributes that can be swapped:

- ``equal_attributes.py``: their row space; ``kinds_of_products.py``: whether they can be;
  ``pair_coordinates.py``: its four components; ``pair_roots.py``: the queries on them
- ``sampled_values.py``: the law of the values of a few attributes drawn without replacement
- ``count_form.py``: f as a polynomial in the counts of values; ``count_halves.py``: its values at all counts;
  ``largest_by_counts.py``: the largest, proved
- ``count_profiles.py``, ``cut_densities.py``: densities of that kind, and laws of their positive parts

The search for measures and strategies:

- ``best_design.py``, with ``spectrum.py``: what a measure is worth; ``level_strategies.py``: strategies whose
  f is nearly the same at all cells; ``measure_columns.py``, ``simplex_program.py``, ``high_cells.py``:
  columns added; ``mixed_steps.py``: fixed points in fewer steps
- ``proved_bound.py``: a lower bound from a measure's moments (``moment_roots.py``, ``moments_rounding.py``)

What is measured: ``sector_layout.py``: where functions stand in a vector; ``queries_on_sectors.py``:
variances and answers; ``sector_operators.py``, ``equal_operators.py``, ``equal_blocks.py``: matrices on them;
``rest_components.py``: what is asked of single values that are alike.

Row spaces too large for one matrix, from the products' Gram matrices alone:

- ``products_of_few.py``: products as what they ask of the attributes that they look at
- ``residual_spaces.py``: sectors solved one by one (QuerySmasher; on marginals ResidualPlanner);
  ``residual_bases.py``: the same at the best bases, next to the optimum; ``residual_parts.py``: as matrices
  on a row space; ``attribute_design.py``: one attribute; ``weighted_fourier.py``: the error of weighted
  Fourier factorisations
- ``bound_of_large.py``: a lower bound at a product measure (``pair_gram.py``, ``pair_resolvents.py``,
  ``rational_root.py``); ``pinched_bound.py``: one in closed form
"""
