"""Floating point that is proved: directed rounding, balls, inverses, spectra; arrays, threads. No programs.

- ``arrays.py``: helpers for arrays: read-only results, stacked QR, threads
- ``outward.py``: sums, products, roots and column norms rounded outward
- ``participation.py``: sums over the steps of a stream in which one person may be
- ``pseudoinverse.py``: pseudo-inverse, rank and singular vectors
- ``matrix_functions.py``: functions of matrices that numpy lacks, and products without matrices that need not
  be formed
- ``split_arrays.py``: arrays that split into components, and arrays over cells too many to list
- ``balls.py``: numbers with a proved error bound: midpoint and radius
- ``ball_functions.py``: exponentials, eigenvalues, roots and nuclear norms with proved error bounds
- ``ball_inverse.py``: inverses, products and spectra of matrices with proved error bounds
"""
