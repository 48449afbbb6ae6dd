"""Every function and operator of the language: a row of a table for each, and what the rows name. No trees.

- ``table_of_atoms.py``: the table of atoms: operators, functions, and the atoms of data and results
- ``atom.py``: a row of the table of atoms
- ``function_atoms.py``: the atoms written as functions
- ``expression_types.py``: the type of an expression: dimensions, shape, sign, curvature
- ``rules.py``: rules of shape, sign and curvature: entry by entry, and of matrices; the cones of powers
- ``atom_gradients.py``: derivatives, backwards
- ``minorants.py``: affine functions below the atoms, with proof
- ``component_forms.py``: the atoms on values that split into components, and on cells that are not listed
"""
