"""Strategies in use without optimising: baselines by name, each with its source. No programs.

- ``baseline_catalogue.py``: baselines by name, in the order in which they are listed
- ``attribute_baselines.py``: what a baseline is; noise on every cell, and on every answer; trees of ranges,
  and noise filters for streams
- ``orthogonal_rows.py``: the orthogonal mechanism
- ``few_attribute_baselines.py``: baselines for marginals, and for queries of few attributes sector by sector
"""

from mmopt.strategies.baselines.attribute_baselines import Baseline, Parameter
from mmopt.strategies.baselines.baseline_catalogue import (
    ALIASES,
    CATALOGUE,
    NOISE_NAMES,
    Cost,
    Evaluated,
    baseline,
    baseline_call,
    baseline_names,
    baseline_strategy,
    baseline_words,
    design_rows,
    evaluate,
    is_baseline,
)

__all__ = [
    "ALIASES",
    "CATALOGUE",
    "NOISE_NAMES",
    "Baseline",
    "Cost",
    "Evaluated",
    "Parameter",
    "baseline",
    "baseline_call",
    "baseline_names",
    "baseline_strategy",
    "baseline_words",
    "design_rows",
    "evaluate",
    "is_baseline",
]
