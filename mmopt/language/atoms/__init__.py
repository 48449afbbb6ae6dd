"""Every function and operator of the language: a row of a table each, and what rows name. No trees.

- ``table_of_atoms.py``: the table
- ``atom.py``: what a row says: its fields explained
- ``function_atoms.py``: rows of functions that may be optimised
- ``norm_atoms.py``: rows of norms, eigenvalues and entropies, and of the larger of two
- ``operator_atoms.py``: rows of operators
- ``data_atoms.py``: rows of functions for data and results only
- ``argument_types.py``: what is known of an expression: dimensions, shape, sign, curvature
- ``entry_rules.py``: shape, sign and curvature of operators and of entry-by-entry atoms
- ``matrix_rules.py``: the same of atoms on matrices
- ``atom_gradients.py``: derivatives, backwards
- ``minorants.py``: affine functions below the atoms, with proof
- ``matrix_minorants.py``: those of inverses, roots and the nuclear norm
- ``norm_minorants.py``: the same of norms, eigenvalues and entropies
- ``atom_cones.py``: powers as cones
- ``component_forms.py``: what the atoms do to values that split into components
- ``spanned_forms.py``: what they do to values over cells that are not listed
"""
