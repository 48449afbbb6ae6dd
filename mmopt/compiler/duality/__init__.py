"""A proved bound on any convex program from its own tree, without a certificate: ``lagrangian.py`` proves it.

- ``nodes.py``: the lines of a program as nodes, and the sizes of their values at a point
- ``lagrangian.py``: a lower bound on any convex program from multipliers and slopes, and the ranges that it
  needs
- ``ranges.py``: ranges of variables and expressions, forward and backward through the lines
- ``intervals.py``: their arithmetic
- ``lower_apart.py``: the problem whose duals are multipliers and slopes
"""
