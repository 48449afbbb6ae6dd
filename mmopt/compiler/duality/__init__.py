"""A proved bound on any convex program from its own tree, without a certificate: ``lagrangian.py`` proves it.

- ``lagrangian.py``: the lines of a program as nodes, and a bound read off them from multipliers and slopes
- ``ranges.py``: ranges of variables and expressions, forward and backward through the lines, and by cuts
- ``problem_for_multipliers.py``: a second lowering, perturbed, whose duals are multipliers and slopes; these
  moved until next to nothing is left of the slopes of variables
"""
