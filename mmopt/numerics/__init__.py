"""Floating point that is proved: directed rounding, balls, inverses, spectra; arrays, threads. No programs.

- ``arrays.py``: read-only arrays, singular values, stacked QR
- ``outward.py``: sums, products, roots and printed figures rounded to one side
- ``participation.py``: the largest sums over the steps of a stream that one person may be in
- ``pseudoinverse.py``: pseudo-inverse, rank and singular vectors
- ``matrix_functions.py``: functions of matrices that numpy lacks; atoms are evaluated by them
- ``unformed_products.py``: matrix products without the matrices that need not be formed
- ``split_arrays.py``: matrices and vectors that a symmetry splits into components
- ``spanned_cells.py``: the same over cells that are too many to list, known by functions of them
- ``balls.py``: numbers with a proved error bound: midpoint and radius
- ``ball_functions.py``: exponentials, eigenvalues, roots, polar factors with error bounds
- ``ball_inverse.py``: inverses with error bounds
- ``ball_nuclear.py``: the nuclear norm with error bounds
- ``ball_products.py``: matrix products with error bounds
- ``ball_spectra.py``: largest eigenvalues, singular values, log-determinants with error bounds
- ``blas_threads.py``: how many threads the linear algebra takes
"""
