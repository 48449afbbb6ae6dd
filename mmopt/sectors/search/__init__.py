"""The search for measures and strategies: from one product of measures to the optimum.

- ``best_design.py``: better and better, until the time is over
- ``spectrum.py``: what a measure is worth, and its slope
- ``level_strategies.py``: strategies whose columns are nearly all of one length
- ``mixtures.py``: mixtures of a few products of measures
- ``measure_columns.py``, ``simplex_program.py``, ``high_cells.py``: columns added to a mixture
- ``asked_shares.py``, ``target_designs.py``: weights of queries with targets, searched for besides
- ``mixed_steps.py``: fixed points in fewer steps
"""
