"""Lower bounds of the total error of every strategy, from the moments of a measure of the cells.

- ``moment_roots.py``: roots of its moments, by which programs prove one
- ``root_trace.py``: at a product of measures, for queries of few attributes, proved
- ``measure_bound.py``: the same, at the measures of a strategy
"""
