"""A proved bound on any convex program from its own tree, without a certificate: ``lagrangian.py`` proves it.

- ``nodes.py``: the parts of objective and lines, each once
- ``lagrangian.py``: from multipliers and slopes to an affine function below the Lagrangian
- ``ranges.py``: between which numbers what is chosen must lie
- ``curved_ranges.py``: the same backwards through an atom that bends
- ``level_cuts.py``: the same of variables that no line limits, by how the Lagrangian grows
- ``intervals.py``: their arithmetic
- ``sizes.py``: by which numbers are divided so that they are near one
- ``lower_apart.py``: the problem whose duals are multipliers and slopes
"""
