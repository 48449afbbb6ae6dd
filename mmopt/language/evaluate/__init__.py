"""Expressions with numbers: plainly or with proved error bounds, dense or split into components.

- ``evaluate_and_differentiate.py``: expressions evaluated in any number system, and
  differentiated: one walk each
- ``number_systems.py``: the number systems: plain or with error bounds, dense or by component
- ``constraint_misses.py``: the violation of a constraint at a point: its size, place and unit
"""
