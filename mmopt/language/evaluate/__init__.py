"""Expressions with numbers: plainly or with proved error bounds, dense or split into components.

- ``evaluator.py``: expressions evaluated and differentiated: one walk each, in any number system
- ``number_systems.py``: the number systems: plain or with error bounds, dense or by component
- ``constraint_misses.py``: the violation of a constraint at a point: its size, place and unit
"""
