"""Expressions with numbers: plainly or with proved error bounds, dense or split into components.

- ``evaluator.py``: ``evaluate``: one walk through the tree, whatever it is computed with
- ``number_systems.py``: the two ways to compute: plainly, or with error bounds
- ``split_values.py``: the algebra of values that split into components
- ``evaluate_constraint.py``: by how much a point misses a line
- ``sizes_of_terms.py``: the terms that an entry of a line is made of, which a miss is measured in
- ``undefined_parts.py``: atoms without a value, in entries that a line may not use
- ``differentiate.py``: the gradient of an expression
"""
