"""What people use without optimising: baselines as strategies, by name, each with its source. No programs.

- ``baseline_catalogue.py``: ``CATALOGUE`` lists them
- ``catalogue_row.py``: what a row of the catalogue says and makes
- ``baselines_by_name.py``: ``baseline("hierarchical(branching=16)", workload, 1)`` is one as a strategy,
  ``evaluate(name, workload)`` tells what one costs
- ``plain_baselines.py``: noise on every cell, and on every answer
- ``tree_baselines.py``: hierarchies, wavelets, quadtrees
- ``stream_baselines.py``: noise filters for the steps of a stream
- ``marginal_baselines.py``: the Fourier basis and the data cube method
- ``sector_baselines.py``: queries of few attributes, sector by sector
"""

from mmopt.strategies.baselines.baseline_catalogue import ALIASES, CATALOGUE
from mmopt.strategies.baselines.baselines_by_name import (
    NOISES,
    Cost,
    Evaluated,
    baseline,
    baseline_names,
    baseline_strategy,
    baseline_words,
    design_rows,
    evaluate,
    is_baseline,
    read,
)
from mmopt.strategies.baselines.catalogue_row import Baseline, Parameter

__all__ = [
    "ALIASES",
    "CATALOGUE",
    "NOISES",
    "Baseline",
    "Cost",
    "Evaluated",
    "Parameter",
    "baseline",
    "baseline_names",
    "baseline_strategy",
    "baseline_words",
    "design_rows",
    "evaluate",
    "is_baseline",
    "read",
]
