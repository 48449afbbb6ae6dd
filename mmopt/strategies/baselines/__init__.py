"""Strategies in use without optimising: baselines by name, each with its source. No programs.

- ``baseline_catalogue.py``: baselines by name, in the order in which they are listed
- ``catalogue_row.py``: a row of the catalogue of baselines, and the baselines without a design
- ``tree_baselines.py``: trees of ranges, and noise filters for streams
- ``marginal_baselines.py``: baselines for marginals and for queries of few attributes
"""

from mmopt.strategies.baselines.baseline_catalogue import (
    ALIASES,
    CATALOGUE,
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
