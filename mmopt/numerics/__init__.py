"""Floating point that is proved: directed rounding, balls, inverses, spectra; linear algebra. No programs.

- ``arrays.py``: types of arrays, read-only arrays, arrays from callers, slices of rows; QR, singular values
  and eigenvectors, rank and pseudo-inverse by them; their threads; sums, products, roots and column norms
  rounded outward
- ``participation.py``: sums over the steps of a stream in which one person may be
- ``float_functions.py``: functions of matrices that numpy lacks, and products without matrices that need not
  be formed
- ``component_arrays.py``: matrices and vectors by component, by orbit or by Kronecker factors; vectors over
  cells too many to list, in a span of functions of them
- ``balls.py``: numbers with a proved error bound: midpoint and radius
- ``ball_functions.py``: exponentials, eigenvalues, roots and nuclear norms with proved error bounds
- ``ball_inverse.py``: inverses of matrices, and products, with proved error bounds
"""
